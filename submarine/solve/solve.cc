#include "submarine/solve/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/machine.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/bound/verify/dense/normalisation.h"
#include "submarine/model/recognise.h"
#include "submarine/solve/dense_plan.h"
#include "submarine/solve/dense_solve.h"
#include "submarine/solve/sparse_solve.h"
#include "submarine/solve/strategy.h"
#include "submarine/solve/times.h"
#include "submarine/solver/common/dense_result.h"
#include "submarine/solver/common/progress.h"
#include "submarine/solver/exact/elimination_order.h"

namespace submarine {
namespace {

using internal::CheckDenseTemperature;
using internal::ChooseSparse;
using internal::Describe;
using internal::EliminationSeconds;
using internal::ExactPlan;
using internal::LeastSeconds;
using internal::NeedsNormalisation;
using internal::PhysicalMemoryBytes;
using internal::PlanDense;
using internal::PlanExact;
using internal::RecognisedCrf;
using internal::RecogniseSparseCrf;
using internal::RequirePositiveTemperature;
using internal::RequireTime;
using internal::RowSumSource;
using internal::SecondsToTouch;
using internal::SizeOf;
using internal::SolveTablesByTrw;
using internal::SparseSize;
using internal::Stopwatch;
using internal::ThreadLimit;
using internal::TouchSeconds;
using internal::WithNormalisation;

constexpr double kShareOfMachine = 0.75;
constexpr std::size_t kMemoryWhereUnknown = std::size_t{4} << 30;

// Exact inference is cheap up to this many table entries (a few seconds), bytes of memory, and entries of
// the given tables.
constexpr double kCheapEntries = 6e8;
constexpr double kCheapBytes = 2e9;
constexpr double kCheapTables = 2e7;

// What every solve does around its pipeline.
class Call {
 public:
  explicit Call(const SolveOptions& options) : options_(options) {
    if (!(options.time_limit_seconds >= 0.0))
      throw InvalidInput(
          fmt::format("the time limit is {} s, expected 0 or more", options.time_limit_seconds));
    if (!(options.temperature >= 0.0) || !std::isfinite(options.temperature))
      throw InvalidInput(
          fmt::format("the temperature is {}, expected a finite number >= 0", options.temperature));
    if (options.threads < 0)
      throw InvalidInput(
          fmt::format("the number of threads is {}, expected 0 or more", options.threads));
    if (options.threads > 0) threads_.emplace(options.threads);
    if (options_.max_bytes == 0) options_.max_bytes = DefaultMemory();
  }

  void CheckExtension() const {
    if (options_.extension == ExtensionKind::kOptimal) return;
    if (options_.method == Method::kFrankWolfe || options_.method == Method::kBlockFrankWolfe)
      return;
    throw InvalidInput(
        fmt::format("the alternate extension goes with the methods fw and bcfw, not with {}",
                    ToString(options_.method)));
  }

  // Refuses a method whose first bound does not fit the time limit; `auto` becomes one that does, or stays
  // where none does.
  void FitMethodTo(const SparseCrf& model) {
    const SparseSize size = MeasuredSize(model);
    const double left = options_.time_limit_seconds - clock_.Seconds();
    if (options_.method == Method::kAuto) {
      options_.method = ChooseSparse(size, options_.temperature, left);
    } else {
      RequireTime(options_.method, size, options_.temperature, left);
    }
  }

  SolveOptions& options() { return options_; }
  const Stopwatch& clock() const { return clock_; }

  SolveResult Finish(SolveResult result) const {
    result.certificate.temperature = options_.temperature;
    result.certificate.Check();
    result.seconds = clock_.Seconds();
    return result;
  }

 private:
  // Models of a size that matters take gigabytes, and what those take depends on the machine's state.
  SparseSize MeasuredSize(const SparseCrf& model) const {
    constexpr double kMatters = 0.25;  // seconds
    constexpr std::size_t kSample = std::size_t{64} << 20;
    constexpr double kMost = 10.0;
    SparseSize size = SizeOf(model, options_.temperature);
    if (std::isfinite(options_.time_limit_seconds) && !options_.deterministic &&
        LeastSeconds(Method::kBlockFrankWolfe, size) > kMatters) {
      const double usual = TouchSeconds(static_cast<double>(kSample));
      size.touch = std::clamp(SecondsToTouch(kSample) / usual, 1.0, kMost);
    }
    return size;
  }

  SolveOptions options_;
  std::optional<ThreadLimit> threads_;
  const Stopwatch clock_;
};

// Whether exact inference takes a second or so, and no more than a third of the time limit.
bool ExactIsCheap(const FactorGraph& graph, const SolveOptions& options, double seconds) {
  const double bytes = std::min(kCheapBytes, static_cast<double>(options.max_bytes));
  const ExactPlan plan = PlanExact(graph, bytes);
  return plan.complete && plan.table_entries <= kCheapEntries &&
         EliminationSeconds(plan.table_entries) <= (options.time_limit_seconds - seconds) / 3.0;
}

// Exact inference where it is cheap, unless it turns out not to be.
template <class Model>
std::optional<SolveResult> TryExactly(const Model& model, const FactorGraph& graph,
                                      std::string description, const SolveOptions& options,
                                      const Stopwatch& clock, const Watch& watch) {
  if (!ExactIsCheap(graph, options, clock.Seconds())) return std::nullopt;
  SolveOptions part = options;
  part.time_limit_seconds = 0.5 * (clock.Seconds() + options.time_limit_seconds);
  try {
    return SolveByElimination(model, std::move(description), part, clock, watch);
  } catch (const TimeLimit&) {
    return std::nullopt;
  }
}

double TableEntries(const SparseCrf& model) {
  const double labels = model.num_labels();
  return labels * labels * static_cast<double>(model.num_edges()) +
         labels * static_cast<double>(model.num_variables());
}

double TableEntries(const FactorGraph& graph) {
  double entries = 0.0;
  for (const Factor& factor : graph.factors) entries += static_cast<double>(factor.energy.size());
  return entries;
}

// Tables of a model's edges exist only once they are built, so what they take is checked before.
void CheckTableMemory(const SparseCrf& model, std::size_t max_bytes) {
  // As they are given, as they are solved, and messages of their size.
  const double bytes = 3.0 * 8.0 * TableEntries(model);
  if (bytes > static_cast<double>(max_bytes)) {
    throw TooLarge(fmt::format(
        "exact inference needs {:.3g} GB of memory for the pair tables alone, more than the limit "
        "of {:.3g} GB",
        bytes / 1e9, static_cast<double>(max_bytes) / 1e9));
  }
}

// Every pair is an edge, so that elimination meets one table over all variables. Beyond 64 of them it
// has more than 2^64 entries, so that building the pairs first would be wasted.
void CheckTableOfAll(const DenseCrf& model, std::size_t max_bytes) {
  constexpr std::size_t kMostVariables = 64;
  if (model.num_variables() <= kMostVariables) return;
  const double digits = std::log10(8.0) + static_cast<double>(model.num_variables()) *
                                              std::log10(static_cast<double>(model.num_labels()));
  throw TooLarge(fmt::format(
      "exact inference needs about 10^{:.0f} GB of memory for a table over all {} fully connected "
      "variables, more than the limit of {:.3g} GB",
      digits - 9.0, model.num_variables(), static_cast<double>(max_bytes) / 1e9));
}

bool HasPairs(const DenseCrf& model) {
  return std::any_of(model.kernels().begin(), model.kernels().end(),
                     [](const GaussianKernel& kernel) { return kernel.weight > 0.0; });
}

SparseCrf WithoutPairs(const DenseCrf& model) {
  Matrix<double> unary(model.unary().rows(), model.unary().cols());
  std::copy(model.unary().data(), model.unary().data() + unary.size(), unary.data());
  return {std::move(unary), {}, model.labels(), model.constant()};
}

SolveResult SolveDenseExactly(const DenseCrf& model, const SolveOptions& options,
                              const Stopwatch& clock, const Watch& watch) {
  const bool has_pairs = HasPairs(model);
  if (has_pairs) CheckTableOfAll(model, options.max_bytes);
  if (has_pairs && NeedsNormalisation(model)) {
    return SolveDenseExactly(WithNormalisation(model, {.source = RowSumSource::kExact}), options,
                             clock, watch);
  }
  const SparseCrf pairs = has_pairs ? ToSparseCrf(model) : WithoutPairs(model);
  SolveResult result = SolveByElimination(
      ToFactorGraph(pairs), model.Description() + ", exact Gaussians", options, clock, watch);
  // Pair weights are rounded on the way there.
  const double error = has_pairs ? EnergyError(model) : 0.0;
  result.certificate.lower = Lowered(*result.certificate.lower, error);
  result.certificate.upper = Raised(*result.certificate.upper, error);
  result.energy = Raised(*result.energy, error);
  const auto& y = std::get<Matrix<double>>(result.marginals);
  Matrix<float> rounded(y.rows(), y.cols());
  std::transform(y.data(), y.data() + y.size(), rounded.data(),
                 [](double p) { return static_cast<float>(p); });
  result.marginals = std::move(rounded);
  return result;
}

}  // namespace

std::string_view ToString(Certify certify) {
  switch (certify) {
    case Certify::kAuto:
      return "auto";
    case Certify::kExact:
      return "exact";
    case Certify::kOperator:
      return "operator";
    case Certify::kNone:
      return "none";
  }
  return "unknown";
}

std::string_view ToString(DenseMarginals marginals) {
  return marginals == DenseMarginals::kUpperBound ? "upper-bound" : "mean-field";
}

double DefaultGap(Method method, ModelKind kind) {
  if (kind == ModelKind::kDense) return 1e-2;
  return method == Method::kTrw ? 1e-7 : 1e-4;  // TRW: what a sweep must gain
}

int DefaultIterations(Method method, ModelKind kind) {
  if (kind != ModelKind::kDense) return 100000;
  return method == Method::kFrankWolfe ? 100
                                       : 1000;  // each step of Frank-Wolfe is part of its proof
}

std::size_t DefaultMemory() {
  const std::size_t physical = PhysicalMemoryBytes();
  return physical > 0 ? static_cast<std::size_t>(kShareOfMachine * static_cast<double>(physical))
                      : kMemoryWhereUnknown;
}

SolveResult Solve(const SparseCrf& model, const SolveOptions& given, const Watch& watch) {
  Call call(given);
  SolveOptions& options = call.options();
  RequireAccepted(options.method, ModelKind::kSparse);
  call.CheckExtension();
  if (options.method == Method::kAuto) {
    if (TableEntries(model) <= kCheapTables) {
      if (auto solved = TryExactly(model, ToFactorGraph(model), model.Description(), options,
                                   call.clock(), watch))
        return call.Finish(*std::move(solved));
    }
  }
  if (options.method == Method::kExact) {
    CheckTableMemory(model, options.max_bytes);
    return call.Finish(
        SolveByElimination(model, model.Description(), options, call.clock(), watch));
  }
  call.FitMethodTo(model);
  return call.Finish(SolveSparse(model, 0.0, options, call.clock(), watch));
}

SolveResult Solve(const FactorGraph& graph, const SolveOptions& given, const Watch& watch) {
  Call call(given);
  SolveOptions& options = call.options();
  const bool any = options.method == Method::kAuto;
  call.CheckExtension();
  if (options.method == Method::kExact)
    return call.Finish(SolveByElimination(graph, Describe(graph), options, call.clock(), watch));
  if (any && TableEntries(graph) <= kCheapTables) {
    if (auto solved = TryExactly(graph, graph, Describe(graph), options, call.clock(), watch))
      return call.Finish(*std::move(solved));
  }
  std::string why;
  try {
    const RecognisedCrf recognised = RecogniseSparseCrf(graph);
    RequireAccepted(options.method, ModelKind::kSparse);
    call.FitMethodTo(recognised.model);
    return call.Finish(
        SolveSparse(recognised.model, recognised.defect, options, call.clock(), watch));
  } catch (const NotExpressible& error) {
    if (!InfoOf(options.method).tables) throw;
    why = error.what();
  }
  SolveResult result = SolveTablesByTrw(graph, options, call.clock(), watch);
  if (any) {
    result.notes.push_back(
        fmt::format("The method is trw, which works on any tables of pairs: {}.", why));
  }
  return call.Finish(std::move(result));
}

SolveResult Solve(const DenseCrf& model, const SolveOptions& given, const Watch& watch) {
  Call call(given);
  RequireAccepted(call.options().method, ModelKind::kDense);
  if (call.options().extension != ExtensionKind::kOptimal)
    throw InvalidInput("the alternate extension is not for dense models");
  CheckDenseTemperature(call.options().temperature);
  if (call.options().method == Method::kFrankWolfe)
    RequirePositiveTemperature(call.options().temperature);
  return call.Finish(call.options().method == Method::kExact
                         ? SolveDenseExactly(model, call.options(), call.clock(), watch)
                         : SolveDense(model, call.options(), call.clock(), watch));
}

void RequireFits(std::span<const GaussianKernel> kernels, std::size_t num_variables,
                 const LabelSpace& labels, const SolveOptions& given) {
  Call call(given);
  if (call.options().method == Method::kExact) return;  // which knows its own limits
  std::vector<WeightedKernel> weighted;
  for (const GaussianKernel& kernel : kernels) weighted.push_back({&kernel, kernel.weight});
  PlanDense(SizeOf(num_variables, labels), weighted, call.options(),
            call.options().time_limit_seconds);
}

}  // namespace submarine
