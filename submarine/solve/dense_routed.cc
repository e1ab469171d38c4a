#include "submarine/solve/dense_routed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/bound/constant_labeling.h"
#include "submarine/bound/verify/dense/routed/routed_verifier.h"
#include "submarine/extension/plain_bound_floor.h"
#include "submarine/solve/method/times.h"
#include "submarine/solver/routed/listed_solver.h"
#include "submarine/solver/routed/routed_plan.h"
#include "submarine/solver/routed/routed_solver.h"
#include "submarine/solver/routed/routed_times.h"

namespace submarine::internal {
namespace {

// The plain bound lies between that of the unaries alone and that of a shared distribution. Where these are
// closer than this share of what there is to gain, down to the value of one label for all, it says next to nothing.
constexpr double kLittleToGain = 0.25;

// How much work to put into routing, from the most to the least. Thick paths and small kernel values matter once flows
// have converged; before that, plain paths and the largest kernel values prove nearly as much.
struct Effort {
  int thickness;  // 0: the thickest that sums allow
  double cutoff;  // see RoutedOptions; raised further where there is no time
  double passes;  // time of the whole, in units of RoutingPassSeconds
};
constexpr std::array<Effort, 3> kEfforts = {{{0, 0.05, 4.2}, {0, 0.2, 2.2}, {1, 0.5, 0.22}}};
constexpr double kPassesPerCut = 0.02;  // by which they grow with every cut beyond two
constexpr double kShareOfMemory = 0.4;
constexpr double kShareOfPathMemory = 0.1;
constexpr double kShareOfReserve = 0.3;
// Of RoutingIsQuick: at most this long, and at most this share of the time left.
constexpr double kQuickSeconds = 4.0;
constexpr double kShareOfQuick = 0.2;
constexpr double kWorthwhileGain = 1.0 / 25.0;  // of four iterations, relative to the gap asked for
// Where all pairs are soon looked at, next to none are left out.
constexpr double kFewPairs = 1e9;
constexpr double kCutoffOfFewPairs = 1e-3;
constexpr double kVerifiedOfFewPairs = 1e-6;
// From so many cuts on flows pair by pair take longer than all else. Of few pairs: so long for each of them and every cut.
constexpr int kManyCuts = 6;
constexpr double kFlowSeconds = 1.4e-9;

bool HasFewPairs(const DenseCrf& model) {
  const auto n = static_cast<double>(model.num_variables());
  return n * n <= kFewPairs;
}

bool FlowsBySquare(const DenseCrf& model, double seconds) {
  const auto n = static_cast<double>(model.num_variables());
  return model.num_cuts() >= kManyCuts &&
         (!HasFewPairs(model) || kFlowSeconds * n * n * model.num_cuts() > seconds);
}

double UnaryBound(const DenseCrf& model, double temperature) {
  double sum = 0.0;
  for (std::size_t a = 0; a < model.num_variables(); ++a) {
    const auto phi = model.unary().row(a);
    const double least = *std::min_element(phi.begin(), phi.end());
    double mass = 0.0;
    for (const float value : phi) mass += std::exp((least - value) / temperature);
    sum += temperature * std::log(mass) - least;
  }
  return sum - model.constant();
}

Termination TerminationOf(RoutedEnd end) {
  switch (end) {
    case RoutedEnd::kIterationLimit:
      return Termination::kIterationLimit;
    case RoutedEnd::kTimeLimit:
      return Termination::kTimeLimit;
    case RoutedEnd::kInterrupted:
      return Termination::kInterrupted;
    default:
      return Termination::kConverged;
  }
}

std::optional<double> Known(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// Tells the alarm of every iteration, and keeps what it was told.
std::function<bool(const RoutedRecord&)> Teller(double lower, Alarm* alarm, RoutedPart* part) {
  const double begin = alarm->Seconds();
  return [=](const RoutedRecord& record) {
    const SolveRecord shown{.k = record.k,
                            .seconds = begin + record.seconds,
                            .upper = Known(record.upper),
                            .dual = Known(lower),
                            .lower = Known(lower)};
    part->records.push_back(shown);
    return alarm->Tell("routed", shown);
  };
}

// Takes what was found, and verifies as much of it as leaves `reserve` seconds.
void Conclude(const DenseCrf& model, RoutedResult result, const SolveOptions& options,
              double cutoff, double reserve, Alarm* alarm, RoutedPart* part) {
  part->termination = TerminationOf(result.end);
  const RoutedPaths& paths = result.proof.routing.paths;
  part->description = fmt::format(
      "a path along {}, {} thick: {:.3g} on its edges per variable, {:.3g} left to flows, kernels "
      "below {:.2g} left out{}{}",
      ToString(result.order), paths.thickness, result.routed_weight, result.left_weight, cutoff,
      result.proof.routing.product_limit > 0.0
          ? fmt::format(" ({:.2g} where products bound those of two blocks)",
                        result.proof.routing.product_cutoff)
          : "",
      result.proof.routing.by_square ? ", routes and flows by squares of 32 x 32 pairs" : "");
  part->marginals = std::move(result.marginals);
  if (options.certify == Certify::kNone) return;
  PairOptions verification;
  verification.temperature = options.temperature;
  const bool raised = cutoff > kCutoffOfFewPairs;  // because of a time limit
  verification.cutoff =
      HasFewPairs(model) && !raised ? std::min(cutoff, kVerifiedOfFewPairs) : cutoff;
  RoutedTimes times(model, result.proof.routing.by_square, true);
  times.thickness = paths.thickness;
  const double at_end = times.VerifierPathSeconds(!result.proof.dual_point.empty());
  verification.on_progress = [&](double done) {
    return alarm->Progress("certify upper bound", done, at_end + reserve);
  };
  const RoutedBounds bounds = VerifiedRoutedBounds(model, result.proof, verification);
  part->upper = bounds.upper;
  part->dual = bounds.dual;
  part->complete = bounds.complete;
  if (!bounds.complete) {
    part->notes.emplace_back(
        "There was no time to certify all routes: the routed bound is looser for it.");
  }
}

RoutedOrder OrderOf(const std::optional<HybridForest>& forest) {
  switch (forest.value_or(HybridForest::kBest)) {
    case HybridForest::kSpanning:
      return RoutedOrder::kSpanning;
    case HybridForest::kRows:
      return RoutedOrder::kRows;
    case HybridForest::kColumns:
      return RoutedOrder::kColumns;
    case HybridForest::kLookAlikes:
      return RoutedOrder::kLookAlikes;
    case HybridForest::kBest:
    case HybridForest::kAverage:  // refused by Solve
      break;
  }
  return RoutedOrder::kBest;
}

double GrowthByCuts(const DenseCrf& model) {
  return 1.0 + kPassesPerCut * std::max(0, model.num_cuts() - 2);
}

double SecondsOf(const Effort& effort, const DenseCrf& model) {
  return effort.passes * GrowthByCuts(model) *
         RoutingPassSeconds(static_cast<double>(model.num_variables()));
}

// The most that there is time for, or the least.
const Effort& EffortFor(const DenseCrf& model, double seconds) {
  return *std::find_if(kEfforts.begin(), std::prev(kEfforts.end()),
                       [&](const Effort& effort) { return SecondsOf(effort, model) <= seconds; });
}

// Whether there is anything to route, and time for it.
bool CanRoute(const DenseCrf& model, double temperature, const Effort& effort, double seconds) {
  if (!(temperature > 0.0)) return false;
  double weight = 0.0;
  for (const GaussianKernel& kernel : model.kernels()) weight += kernel.weight;
  if (weight == 0.0) return false;
  return SecondsOf(effort, model) <= seconds;
}

}  // namespace

bool RoutingPays(const DenseCrf& model, double temperature, double seconds) {
  if (!CanRoute(model, temperature, kEfforts.back(), seconds)) return false;
  const double unaries = UnaryBound(model, temperature);
  const double one_label = -BestConstantLabeling(model).energy.value();
  return unaries - PlainBoundFloor(model, temperature) < kLittleToGain * (unaries - one_label);
}

bool RoutingFits(const DenseCrf& model, double temperature, double seconds) {
  return CanRoute(model, temperature, kEfforts.back(), seconds);
}

bool RoutingIsQuick(const DenseCrf& model, double temperature, double seconds_left) {
  return CanRoute(model, temperature, kEfforts.front(),
                  std::min(kQuickSeconds, kShareOfQuick * seconds_left));
}

double RoutedBytes(const DenseCrf& model, double max_bytes) {
  const auto n = static_cast<double>(model.num_variables());
  const double all_pairs = n * n;  // two bytes for each
  // The verifier has eight sums under way, in double, of every cut and edge of a position.
  const double sums = 64.0 * n * static_cast<double>(model.num_cuts() + kMaxThickness);
  return std::min(kShareOfMemory * max_bytes, all_pairs) +
         std::min(kShareOfPathMemory * max_bytes, MostPathBytes(model)) + sums;
}

std::string AsPublished(const DenseResult& bound) {
  return fmt::format(
      "Without routing, as published, the upper bound would be about {:.0f}; at best {:.0f}.",
      bound.upper, bound.dual);
}

RoutedPart SolveRoutedPart(const DenseCrf& model, const DenseEvidence& mean_field,
                           const SolveOptions& options, const RoutedPlan& plan, Alarm* alarm) {
  RoutedPart part;
  RoutedOptions solver;
  const Effort& effort = EffortFor(model, std::min(plan.patience, alarm->SecondsLeft()));
  solver.order = OrderOf(options.forest);
  solver.thickness = effort.thickness;
  solver.temperature = options.temperature;
  solver.marginals = mean_field.mean_field;
  solver.lower = mean_field.lower;
  solver.time_limit_seconds = std::max(0.0, alarm->SecondsLeft() - plan.reserve);
  solver.planned_seconds = std::max(0.0, plan.patience - plan.reserve);
  solver.finishes_first_bound = plan.finishes_first_bound;
  solver.leaves_time_to_verify = options.certify != Certify::kNone;
  solver.max_bytes =
      static_cast<std::size_t>(kShareOfMemory * static_cast<double>(options.max_bytes));
  solver.max_path_bytes =
      static_cast<std::size_t>(kShareOfPathMemory * static_cast<double>(options.max_bytes));
  solver.cutoff = HasFewPairs(model) ? kCutoffOfFewPairs : effort.cutoff;
  if (!HasFewPairs(model)) {
    solver.products = RoutedProducts::kWhereTimeIsShort;
  }
  solver.by_square = FlowsBySquare(model, std::min(plan.patience, alarm->SecondsLeft()));
  if (options.max_iterations) solver.max_iterations = *options.max_iterations;
  solver.on_iteration = Teller(mean_field.lower, alarm, &part);
  solver.on_routing = [&](double done) {
    alarm->Progress("routing pairs", done, 0.0);
    return !alarm->stopped();
  };
  RoutedResult result;
  try {
    result = SolveRouted(model, solver);
  } catch (const Interrupted&) {
    part.termination = Termination::kInterrupted;
    part.notes.emplace_back("It ended while pairs were routed: there is no upper bound from them.");
    return part;
  } catch (const TooLarge& error) {
    if (options.method == Method::kRouted) throw;
    part.termination = Termination::kStalled;
    part.refused = true;
    part.notes.push_back(fmt::format("There is no routed bound: {}.", error.what()));
    return part;
  }
  if (plan.is_worth_verifying && !plan.is_worth_verifying(result.upper)) {
    part.termination = TerminationOf(result.end);
    return part;
  }
  const double floor = PlainBoundFloor(model, options.temperature);
  if (options.certify != Certify::kNone && floor > result.upper) {
    part.notes.push_back(fmt::format(
        "Without routing, no flow whatever proves an upper bound below about {:.0f}: that "
        "is what the published extension could say at best.",
        std::round(floor) + 0.0));  // no -0
  }
  const double cutoff = result.cutoff;
  // Where verifying takes longer than expected, it may use most of the reserve.
  Conclude(model, std::move(result), options, cutoff, kShareOfReserve * plan.reserve, alarm, &part);
  return part;
}

RoutedPart RouteListedPart(const DenseExtension& extension, const NeighbourList& pairs,
                           const DenseEvidence& evidence, const SolveOptions& options, double gap,
                           double reserve, Alarm* alarm) {
  RoutedPart part;
  ListedOptions solver;
  solver.temperature = options.temperature;
  solver.time_limit_seconds = std::max(0.0, alarm->SecondsLeft() - reserve);
  solver.worthwhile_gain = kWorthwhileGain * gap;
  solver.on_iteration = Teller(evidence.lower, alarm, &part);
  RoutedResult result;
  try {
    result = RouteListed(extension, pairs, evidence.bound.state, solver);
  } catch (const Interrupted&) {
    return {};
  }
  if (!(result.upper < evidence.bound.upper)) return {};
  part.notes.push_back(AsPublished(evidence.bound));
  Conclude(extension.model(), std::move(result), options, pairs.cutoff(), reserve, alarm, &part);
  return part;
}

}  // namespace submarine::internal
