#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/freed_memory.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/bound/verify/dense/normalisation.h"
#include "submarine/extension/dense_extension.h"
#include "submarine/solve/dense_certify.h"
#include "submarine/solve/dense_chain.h"
#include "submarine/solve/dense_plan.h"
#include "submarine/solve/dense_routed.h"
#include "submarine/solve/limits.h"
#include "submarine/solve/method/dense_memory.h"
#include "submarine/solve/method/times.h"
#include "submarine/solve/registry.h"
#include "submarine/solve/strategy.h"
#include "submarine/solver/common/dense_result.h"
#include "submarine/solver/mean_field/dense_mean_field.h"

namespace submarine::internal {
namespace {

// For the certificate of a lattice: a share of the time that is left, and with an upper bound as long as so many first
// bounds take.
constexpr double kShareForLattice = 0.2;
constexpr double kBoundsForLattice = 3.0;
constexpr double kShareForMeanField = 0.2;  // of the time left, for its certificate
// Before routing: of the time left, for the energy of mean field's labels. Verifying its marginals takes so many
// times as long, as a rule and at least.
constexpr double kShareForLabels = 0.3;
constexpr double kMarginalsByLabels = 8.0;
constexpr double kMarginalsAtLeast = 5.0;
constexpr double kShareForNormalisation = 0.2;  // of the time limit
// Time to leave for routing of listed pairs, its verifier and the lower bound's, in units of a plain certificate.
constexpr double kListedCertificates = 4.0;
// Mean field after it: at most this many iterations, which gain this share of what they must gain otherwise.
constexpr int kFewUpdates = 5;
// Of the time: what routing must fit into where it may follow the plain bound, and what must be left for it then.
constexpr double kShareAfterPlain = 0.75;
constexpr double kLeastAfterPlain = 0.5;
constexpr int kFewCuts = 5;
constexpr int kQuickUpdates = 10;  // of mean field, to know about where the lower bound will be
constexpr double kShareForQuickLower = 0.05;
constexpr double kRoutedGain = 0.1;

// Where exact row sums would take longer than what they are for, the operator's have to do.
NormalisationOptions NormalisationFor(const SolveOptions& options) {
  NormalisationOptions normalisation;
  normalisation.pairs = options.pairs;
  if (options.certify == Certify::kExact) {
    normalisation.source = RowSumSource::kExact;
  } else if (options.certify != Certify::kAuto || options.method == Method::kMeanField) {
    normalisation.max_seconds = 0.0;
  } else {
    normalisation.max_seconds =
        std::min(normalisation.max_seconds, kShareForNormalisation * options.time_limit_seconds);
  }
  return normalisation;
}

// What is about the operator's pair weights whatever they are.
bool OfOperator(Certify certify) {
  return certify == Certify::kOperator || certify == Certify::kLower;
}

class DenseRun {
 public:
  struct Kind {
    DenseRun* plain = nullptr;  // has given way to this one, which routes
    bool may_route = true;      // if the method is `auto`
  };

  DenseRun(const SolveTask<DenseCrf>& task, bool normalised, Kind kind, Alarm* alarm)
      : model_(task.model),
        options_(task.options),
        normalised_(normalised),
        kind_(kind),
        gap_(options_.relative_gap.value_or(DefaultGap(options_.method, ModelKind::kDense))),
        clock_(task.clock),
        alarm_(*alarm),
        routed_(kind.may_route && (kind.plain != nullptr || Routes(model_, options_, strategy_))),
        method_(EntryOf(routed_ ? Method::kMeanField : options_.method)) {
    if (options_.marginals == DenseMarginals::kRouted && !routed_) {
      throw InvalidInput(
          "the marginals of the routed bound are asked for, but this solve does not route; use "
          "--method routed, or --marginals-of upper-bound");
    }
  }

  static bool Routes(const DenseCrf& model, const SolveOptions& options,
                     const DenseStrategy& strategy) {
    if (options.method == Method::kRouted) {
      if (OfOperator(options.certify)) {
        throw InvalidInput(
            "the method routed proves bounds of the exact Gaussian model, and --certify operator "
            "or lower asks for others; use exact, auto or none");
      }
      return true;
    }
    return options.method == Method::kAuto && !OfOperator(options.certify) &&
           RoutingPays(model, options.temperature, RoutingPatience(options, strategy));
  }

  // A time limit says how long somebody is willing to wait.
  static double RoutingPatience(const SolveOptions& options, const DenseStrategy& strategy) {
    return std::isfinite(options.time_limit_seconds) ? options.time_limit_seconds
                                                     : strategy.routing_patience_seconds;
  }

  // Nothing if another run has more to say: one that routes, in the time that is left, or the plain one that has given way to
  // this.
  std::optional<SolveResult> Solve() {
    const bool stopped = !alarm_.Tell("preparing pairs", {.k = -1, .seconds = alarm_.Seconds()});
    if (stopped && kind_.plain != nullptr) return Unproven();
    pair_options_ = ChoosePairs();
    ChosenOperator pairs;
    const double begin = alarm_.Seconds();
    try {
      pairs =
          MakeOperator(model_.num_variables(), PairWeights(model_),
                       {static_cast<std::size_t>(model_.num_labels()), method_.dense.applies_flows},
                       pair_options_, std::move(kinds_));
    } catch (const Interrupted&) {
      return Unproven();
    }
    // A first bound takes seconds that nobody waits for after an interrupt.
    if (!alarm_.Tell("preparing pairs", {.k = -1, .seconds = alarm_.Seconds()})) return Unproven();
    MeasureSlowness(alarm_.Seconds() - begin);
    kinds_ = pairs.kinds;
    const bool few = HoldsAllPairs(Size(0.0));
    std::optional<DenseExtension> extension(std::in_place, model_, *pairs.op, [this, few] {
      return alarm_.Rings() && (alarm_.stopped() || !few);
    });
    exactly_ = routed_ || CertifiesExactly(pairs);
    if (MayGiveWay(pairs)) lower_estimate_ = QuickLower(*extension);
    evidence_ = RunChain(*extension, pairs);
    if (evidence_.empty()) return Unproven();
    solved_.pairs = pairs.op->Description();
    gives_way_ = gives_way_ && !alarm_.stopped();
    if (!gives_way_) part_ = Improve(*extension, pairs);
    // Room for the verifiers, which build pairs of their own, and for another run.
    extension.reset();
    pairs.op.reset();
    evidence_.bound.modular = {};
    evidence_.bound.state = {};
    ReturnFreedMemory();
    goes_on_without_routes_ = options_.method == Method::kAuto && part_.refused &&
                              options_.marginals != DenseMarginals::kRouted && !alarm_.stopped() &&
                              alarm_.SecondsLeft() > 0.0;
    if (gives_way_ || goes_on_without_routes_ || PlainSaysMore()) return std::nullopt;
    return Conclude();
  }

  // Whether Solve has left it to a plain run because there is too little memory for routes.
  bool goes_on_without_routes() const { return goes_on_without_routes_; }
  const std::vector<std::string>& notes_on_routing() const { return part_.notes; }

  // The plain bound, with the best lower bound of the run that it had given way to.
  SolveResult ConcludeWith(DenseRun* routed) {
    DenseEvidence& other = routed->evidence_;
    if (other.lower > evidence_.lower) {
      if (other.lower > -evidence_.bound.energy) evidence_.bound.labels = LabelsOf(other);
      evidence_.lower = other.lower;
      evidence_.mean_field = std::move(other.mean_field);
    }
    if (exactly_) verified_labels_ = std::move(routed->verified_labels_);
    evidence_.termination = alarm_.stopped() ? Termination::kInterrupted : Termination::kTimeLimit;
    solved_.notes.emplace_back("It ended before there was a tighter bound by routes.");
    solved_.estimated_bytes = BytesOfBoth();
    ReturnFreedMemory();
    return Conclude();
  }

  // Adds what is known from a plain run that has given way. Its notes are about pairs that the result has not used.
  void TellOfPlainRun(SolveResult* routed) const {
    routed->notes.push_back(AsPublished(evidence_.bound));
    routed->records.insert(routed->records.begin(), evidence_.records.begin(),
                           evidence_.records.end());
    routed->estimated_bytes = std::max(routed->estimated_bytes, BytesOfBoth());
  }

 private:
  // Certifies what was found.
  SolveResult Conclude() {
    Certify();
    if (routed_ || part_.upper) TakeRouted();
    solved_.method = routed_ ? Method::kRouted : options_.method;
    solved_.termination = evidence_.termination;
    solved_.records = std::move(evidence_.records);
    solved_.marginals = ChosenMarginals();
    return std::move(solved_);
  }

  // Whether there is time for the certificate of a plain run, and it is worth more than what was found here.
  bool PlainSaysMore() {
    return kind_.plain != nullptr && !(part_.upper && *part_.upper < kind_.plain->upper()) &&
           kind_.plain->ConcludesWithin(alarm_.SecondsLeft());
  }
  double upper() const { return evidence_.bound.upper; }
  bool ConcludesWithin(double seconds) {
    return (exactly_ ? EstimatedCertificate() : LatticeCertificate()) <= seconds;
  }
  // What a plain run has found is kept while another one routes.
  double BytesOfBoth() const {
    return solved_.estimated_bytes + RoutedBytes(model_, static_cast<double>(options_.max_bytes));
  }

  // Mean field from other starts, and routes.
  RoutedPart Improve(const DenseExtension& extension, const ChosenOperator& pairs) {
    if (routed_) {
      if (!alarm_.stopped() && alarm_.SecondsLeft() > 0.0) {
        RestartFromFewerLabels(extension, Restart(), &alarm_, &evidence_);  // routes follow it
        VerifyLabels();
      }
      return RunRouted(extension);
    }
    if (options_.method == Method::kAuto && evidence_.termination != Termination::kGapReached &&
        HasTimeForRestart(exactly_ || pairs.exact))
      RestartFromFewerLabels(extension, Restart(), &alarm_, &evidence_);
    RoutedPart routed = RunListed(extension, pairs);
    if (exactly_ && routes_again_) RouteAgain(extension, &routed);
    return routed;
  }

  MeanFieldRestart Restart() const { return {.temperature = options_.temperature}; }

  bool MayGiveWay(const ChosenOperator& pairs) {
    return kind_.may_route && method_.method == Method::kAuto && !routed_ && !routes_again_ &&
           !(pairs.exact && ListedIsBetter()) && !OfOperator(options_.certify) &&
           options_.certify != Certify::kNone &&
           solved_.estimated_bytes + RoutedBytes(model_, static_cast<double>(options_.max_bytes)) <=
               static_cast<double>(options_.max_bytes) &&
           RoutingFits(model_, options_.temperature,
                       kShareAfterPlain * RoutingPatience(options_, strategy_));
  }

  // Listed pairs are routed after the plain bound, see RunListed. Where there will be no time for that, all routes of a model
  // with few cuts still take less.
  bool ListedIsBetter() {
    return model_.num_cuts() > kFewCuts || kListedCertificates * EstimatedCertificate() <=
                                               kLeastAfterPlain * options_.time_limit_seconds;
  }

  // About where the lower bound will be, after a few iterations.
  double QuickLower(const DenseExtension& extension) {
    DenseMeanFieldOptions mean_field;
    mean_field.temperature = options_.temperature;
    mean_field.max_iterations = kQuickUpdates;
    mean_field.time_limit_seconds = kShareForQuickLower * std::max(0.0, alarm_.SecondsLeft());
    mean_field.on_iteration = [&](int k, double, double) {
      alarm_.Progress("mean field", static_cast<double>(k) / kQuickUpdates, 0.0);
      return !alarm_.stopped();
    };
    return SolveMeanField(extension, mean_field).lower;
  }

  bool GivesWay(const SolveRecord& record) const {
    if (!std::isfinite(lower_estimate_) || !record.upper || !record.dual) return false;
    const double lower = std::max(lower_estimate_, record.lower.value_or(lower_estimate_));
    return PlainLeavesTooMuch(strategy_, *record.upper, *record.dual, lower, gap_) &&
           !(alarm_.SecondsLeft() < kLeastAfterPlain * options_.time_limit_seconds);
  }

  Matrix<float> ChosenMarginals() {
    Matrix<float>& upper = evidence_.bound.marginals;
    Matrix<float>& mean_field = evidence_.mean_field;
    if (upper.size() == 0) return std::move(mean_field);
    if (mean_field.size() == 0) return std::move(upper);
    if (options_.marginals == DenseMarginals::kMean) {
      for (std::size_t n = 0; n < upper.size(); ++n)
        upper.data()[n] = 0.5F * (upper.data()[n] + mean_field.data()[n]);
    }
    return std::move(options_.marginals == DenseMarginals::kMeanField ? mean_field : upper);
  }

  // Of mean field, so that there is a lower bound whatever time routing leaves.
  void VerifyLabels() {
    if (options_.certify == Certify::kNone) return;
    const double begin = alarm_.Seconds();
    const double end = begin + kShareForLabels * alarm_.SecondsLeft();
    PairOptions verification;
    verification.temperature = options_.temperature;
    verification.on_progress = [&](double done) {
      return alarm_.Progress("certify energy", done, 0.0) && alarm_.Seconds() < end;
    };
    try {
      std::vector<int> labels = LabelsOf(evidence_);
      const VerifiedPoint point = VerifiedAt(model_, labels, verification);
      verified_labels_ = {std::move(labels), point, alarm_.Seconds() - begin};
    } catch (const Interrupted&) {  // there may be time at the end
    }
  }

  // For the lower bound, after routing.
  double LowerReserve() {
    const double left = std::max(0.0, alarm_.SecondsLeft());
    if (options_.certify == Certify::kNone || !std::isfinite(left)) return 0.0;
    const double most = kShareForMeanField * left;
    if (!verified_labels_) return std::min(EstimatedCertificate(), most);
    const double labels = verified_labels_->seconds;
    const bool marginals_may_fit = kMarginalsAtLeast * labels <= most;
    return std::min(marginals_may_fit ? kMarginalsByLabels * labels : labels, most);
  }

  // From mean field's marginals; leaves time to verify these.
  RoutedPart RunRouted(const DenseExtension& extension) {
    const double patience = options_.method == Method::kRouted
                                ? std::numeric_limits<double>::infinity()
                                : RoutingPatience(options_, strategy_);
    RoutedPlan plan{.patience = patience, .reserve = LowerReserve()};
    if (DenseRun* const plain = kind_.plain; plain != nullptr) {
      if (alarm_.stopped() && plain->ConcludesWithin(alarm_.SecondsLeft())) return {};
      plan.finishes_first_bound = !plain->ConcludesWithin(options_.interrupt_seconds);
      plan.is_worth_verifying = [this, plain](double upper) {
        return upper < plain->upper() || !plain->ConcludesWithin(alarm_.SecondsLeft());
      };
    }
    RoutedPart part = SolveRoutedPart(model_, evidence_, options_, plan, &alarm_);
    const auto may_go_on = [&] {
      return part.marginals.size() > 0 && !alarm_.stopped() && alarm_.SecondsLeft() > 0.0;
    };
    if (may_go_on()) RestartMeanField(extension, part.marginals, Restart(), &alarm_, &evidence_);
    if (may_go_on()) RestartFromFewerLabels(extension, Restart(), &alarm_, &evidence_);
    return part;
  }

  // Beside the certificate, which may enumerate pairs.
  bool HasTimeForRestart(bool enumerates) {
    const double left = (1.0 - kShareForRestart) * alarm_.SecondsLeft();
    return !alarm_.stopped() && options_.temperature > 0.0 &&
           left > (enumerates ? EstimatedCertificate() : 0.0);
  }

  bool MayRouteListed(const ChosenOperator& pairs) const {
    return method_.method == Method::kAuto && exactly_ && routes_listed_ &&
           options_.temperature > 0.0 && ListOf(*pairs.op) != nullptr;
  }

  // Where `auto` has a plain bound on listed pairs whose interval is wider than the gap asked for: routes some of
  // them, which costs less than half of what the plain bound has taken. The plain bound is dropped where
  // the routed one is verified.
  RoutedPart RunListed(const DenseExtension& extension, const ChosenOperator& pairs) {
    DenseResult& bound = evidence_.bound;
    if (!MayRouteListed(pairs) || alarm_.stopped() || !std::isfinite(bound.upper) ||
        RelativeGap(bound.upper, evidence_.lower) <= gap_)
      return {};
    const double certificate = EstimatedCertificate();
    if (alarm_.SecondsLeft() < kListedCertificates * certificate) return {};
    ReturnFreedMemory();  // of the chain
    RoutedPart part = RouteListedPart(extension, *ListOf(*pairs.op), evidence_, options_, gap_,
                                      certificate, &alarm_);
    // Cut short, it may prove less than the plain bound, for which there is still time then.
    if (!part.complete && !(*part.upper < bound.upper)) return {};
    if (!part.upper) return part;
    // Its own gap is what mean field was worth to the plain bound; the routed one leaves less to be gained.
    MeanFieldRestart restart = Restart();
    restart.max_iterations = kFewUpdates;
    restart.tolerance = strategy_.worthwhile_gain * kRoutedGain * gap_;
    RestartMeanField(extension, evidence_.mean_field, restart, &alarm_, &evidence_);
    bound.upper = std::numeric_limits<double>::infinity();
    return part;
  }

  // Small models have time for both: where the interval is still wider than the gap asked for, other paths,
  // and routes that take all pairs into account, may prove more than what the plain bound has led to.
  void RouteAgain(const DenseExtension& extension, RoutedPart* routed) {
    const double upper = routed->upper ? routed->upper->value() : evidence_.bound.upper;
    if (alarm_.stopped() || RelativeGap(upper, evidence_.lower) <= gap_) return;
    if (alarm_.SecondsLeft() < kListedCertificates * EstimatedCertificate()) return;
    RoutedPart again = RunRouted(extension);
    if (!again.upper || !(*again.upper < upper)) return;
    // What the published bound would be, measured, says more than what it could be at best.
    if (!routed->notes.empty()) again.notes = std::move(routed->notes);
    again.records.insert(again.records.begin(), routed->records.begin(), routed->records.end());
    *routed = std::move(again);
    evidence_.bound.upper = std::numeric_limits<double>::infinity();
  }

  void TakeRouted() {
    RoutedPart& routed = part_;
    evidence_.termination = routed.termination;
    for (const SolveRecord& record : routed.records) evidence_.records.push_back(record);
    for (std::string& note : routed.notes) solved_.notes.push_back(std::move(note));
    if (!routed.description.empty())
      solved_.notes.push_back(fmt::format("The upper bound is that of {}.", routed.description));
    evidence_.bound.marginals = std::move(routed.marginals);
    Certificate& certificate = solved_.certificate;
    if (options_.certify == Certify::kNone) return;
    PairOptions no_pairs;
    no_pairs.temperature = options_.temperature;
    certificate.upper = routed.upper;
    if (routed.upper) certificate.extension = "routed";
    if (!routed.upper || !routed.complete) {
      const Bound of_unaries = VerifiedUpper(model_, {}, no_pairs);
      if (!routed.upper || of_unaries < *routed.upper) certificate.upper = of_unaries;
    }
    // No upper bound is below log Z.
    certificate.dual = certificate.lower;
    if (routed.dual && !(*certificate.dual >= *routed.dual)) certificate.dual = routed.dual;
    if (!routed_ && KeepsGap(certificate, gap_)) evidence_.termination = Termination::kGapReached;
  }

  std::optional<SolveResult> Unproven() {
    if (kind_.plain != nullptr) return std::nullopt;
    solved_.termination = alarm_.stopped() ? Termination::kInterrupted : Termination::kTimeLimit;
    TakeUnaries(model_, options_, &solved_);
    return std::move(solved_);
  }

  DenseSize Size(double pairs) const { return SizeOf(model_, pairs); }

  // The least limit that there is room in, if the one given has none: routing takes a share of the limit.
  double NeededBytes(double without_routes) const {
    const auto limit = static_cast<double>(options_.max_bytes);
    if (!routed_ || solved_.estimated_bytes <= limit) return solved_.estimated_bytes;
    double needed = solved_.estimated_bytes;
    constexpr int kEnough = 40;  // every step halves the distance, or better
    for (int k = 0; k < kEnough; ++k) needed = without_routes + RoutedBytes(model_, needed);
    return needed;
  }

  // Refuses what the limits have no room for.
  OperatorOptions ChoosePairs() {
    DensePlan plan = PlanDense(Size(0.0), PairWeights(model_), options_,
                               {.method = &method_.dense,
                                .seconds_left = alarm_.SecondsLeft(),
                                .normalises = normalised_});
    const auto limit = static_cast<double>(options_.max_bytes);
    solved_.estimated_bytes = plan.estimated_bytes + (routed_ ? RoutedBytes(model_, limit) : 0.0);
    RequireMemory({.model = NeededBytes(plan.estimated_bytes)}, Size(0.0).variables, limit,
                  options_.shrink_option);
    routes_again_ = !routed_ && method_.method == Method::kAuto &&
                    options_.certify != Certify::kNone &&
                    RoutingIsQuick(model_, options_.temperature, alarm_.SecondsLeft()) &&
                    solved_.estimated_bytes + RoutedBytes(model_, limit) <= limit;
    if (routes_again_) solved_.estimated_bytes += RoutedBytes(model_, limit);
    solved_.notes = std::move(plan.notes);
    kinds_ = std::move(plan.kinds);
    routes_listed_ = plan.routes_listed;
    known_pairs_ = std::move(plan.known_pairs);
    const bool few = HoldsAllPairs(Size(0.0));
    plan.pairs.on_progress = [this, few](double done) {
      return alarm_.Progress("preparing pairs", done, 0.0) || few;
    };
    return std::move(plan.pairs);
  }

  // How much slower than the estimates the machine is, from the lists or lattices that it has just built:
  // others may be using it.
  void MeasureSlowness(double seconds) {
    constexpr double kLongEnough = 0.05;
    constexpr double kMost = 8.0;
    if (options_.deterministic) return;
    const double estimate = known_pairs_.empty() ? LatticeSeconds(Size(0.0))
                                                 : ListSeconds(Size(known_pairs_.front().second));
    if (estimate >= kLongEnough) slowness_ = std::clamp(seconds / estimate, 1.0, kMost);
  }

  bool CertifiesExactly(const ChosenOperator& pairs) {
    if (options_.certify == Certify::kNone) return false;
    if (options_.certify != Certify::kAuto) return options_.certify == Certify::kExact;
    // Where lattices took the place of lists because there is no time for all pairs, there is none to verify
    // them, either: a certificate that is cut short says less than the lattices'.
    const bool limited = std::isfinite(options_.time_limit_seconds);
    if (limited && !pairs.exact && options_.pairs.kind == OperatorKind::kAuto) return false;
    // Patience is not a matter of what else the machine does at the moment.
    const double seconds = EstimatedCertificate();
    if (seconds / slowness_ <= strategy_.patience_seconds &&
        seconds <= strategy_.certificate_share * std::max(0.0, alarm_.SecondsLeft()))
      return true;
    // Lists are the exact Gaussians but for the pairs left out, and verified in the same time.
    return pairs.exact && limited;
  }

  double CertificateReserve(bool enumerates) {
    const double left = std::max(0.0, alarm_.SecondsLeft());
    const double most = strategy_.certificate_share * left;
    if (enumerates) return std::min(EstimatedCertificate(), most);
    if (!method_.dense.applies_flows) return kShareForLattice * left;
    return std::min(LatticeCertificate(), most);
  }

  double LatticeCertificate() const {
    return slowness_ * kBoundsForLattice *
           LeastSecondsByLattice(Size(0.0), NumCorners(PairWeights(model_)),
                                 options_.pairs.lattice.levels);
  }

  double EstimatedCertificate() {
    if (!certificate_seconds_) {
      const double pairs =
          known_pairs_.empty()
              ? EstimatePairs(model_, VerifierCutoff(model_, options_.pairs.cutoff))
              : known_pairs_.front().second;
      certificate_seconds_ = slowness_ * CertificateSeconds(Size(pairs));
    }
    return *certificate_seconds_;
  }

  DenseEvidence RunChain(const DenseExtension& extension, const ChosenOperator& pairs) {
    DenseChainOptions chain;
    chain.temperature = options_.temperature;
    chain.harmonic_steps = options_.harmonic_steps;
    chain.classic_updates = options_.classic_updates && !routed_;
    // Only `auto` aims at the gap of the certificate; the others stop at their own.
    chain.relative_gap = SolverGap(strategy_, gap_, exactly_ && options_.method == Method::kAuto);
    chain.max_iterations = routed_ ? strategy_.mean_field_iterations
                                   : options_.max_iterations.value_or(method_.dense.iterations);
    chain.strategy = strategy_;
    chain.max_proof_bytes = options_.max_bytes / 2;
    if (std::isfinite(options_.time_limit_seconds)) {
      const double reserve =
          options_.certify == Certify::kNone ? 0.0 : CertificateReserve(exactly_ || pairs.exact);
      chain.deadline = alarm_.deadline() - reserve;
    }
    const DenseTell tell = [this](std::string_view phase, const SolveRecord& record) {
      if (!alarm_.Tell(phase, record)) return false;
      gives_way_ = GivesWay(record);
      return !gives_way_;
    };
    return method_.dense.chain({method_.name, extension, pairs.exact, chain, clock_, tell});
  }

  void Certify() {
    if (options_.certify == Certify::kNone) {
      solved_.labels = LabelsOf(evidence_);
      solved_.certificate.model = model_.Description();
      return;
    }
    DenseCertifyOptions certify;
    certify.exact = exactly_;
    certify.upper_elsewhere = !routed_ && part_.upper.has_value();
    certify.lower_only = options_.certify == Certify::kLower;
    if (verified_labels_) {
      certify.verified_before = &*verified_labels_;
      certify.marginals_seconds = kMarginalsAtLeast * verified_labels_->seconds;
    }
    certify.one_label_at_least =
        options_.method != Method::kMeanField && options_.temperature > 0.0;
    certify.temperature = options_.temperature;
    certify.relative_gap = gap_;
    certify.known_pairs = known_pairs_;
    certify.pairs = pair_options_;
    certify.slowness = slowness_;
    certify.strategy = strategy_;
    CertifiedDense certified =
        CertifyDense(model_, {kinds_, solved_.pairs}, evidence_, certify, &alarm_);
    solved_.certificate = std::move(certified.certificate);
    solved_.labels = std::move(certified.labels);
    solved_.energy = certified.energy;
    for (std::string& note : certified.notes) solved_.notes.push_back(std::move(note));
    CheckGap();
  }

  // The solver's gap is about the pairs that its operator has; the certificate counts all of them.
  void CheckGap() {
    const Certificate& certificate = solved_.certificate;
    if (evidence_.termination != Termination::kGapReached || KeepsGap(certificate, gap_)) return;
    const double certified = RelativeGap(*certificate.upper, *certificate.dual);
    evidence_.termination = Termination::kStalled;
    solved_.notes.push_back(
        fmt::format("The gap was reached on the pairs that the solver used; with all others it is "
                    "{:.2g}%: a smaller "
                    "--cutoff, or --certify operator, would show it.",
                    100.0 * certified));
  }

  const DenseCrf& model_;
  const SolveOptions& options_;
  const bool normalised_;  // the model is a copy, made for that
  const Kind kind_;
  const DenseStrategy strategy_ = {};
  const double gap_;
  const Stopwatch& clock_;
  Alarm& alarm_;
  const bool routed_;          // mean field first, then the routed bound
  const MethodEntry& method_;  // of the chain
  std::optional<double> certificate_seconds_;
  std::vector<std::pair<double, double>> known_pairs_;  // see DensePlan
  OperatorOptions pair_options_;
  std::vector<OperatorKind> kinds_;  // that the operator is made with
  bool exactly_ = false;             // the certificate is about the exact Gaussians
  bool routes_listed_ = false;       // see DensePlan
  bool routes_again_ = false;        // see RouteAgain
  double slowness_ = 1.0;
  double lower_estimate_ = -std::numeric_limits<double>::infinity();
  bool gives_way_ = false;  // to routing
  bool goes_on_without_routes_ = false;
  DenseEvidence evidence_;
  RoutedPart part_;                                // that is routed
  std::optional<VerifiedLabels> verified_labels_;  // before routing
  SolveResult solved_;
};

// Before kernels are normalised, which may take a minute: whether all the rest will fit. The time is planned when
// it is known what normalising has left.
void RequireMemoryFor(const DenseCrf& model, const SolveOptions& options) {
  const Method method = DenseRun::Routes(model, options, {}) ? Method::kMeanField : options.method;
  std::vector<GaussianKernel> kernels = model.kernels();
  std::vector<WeightedKernel> weighted;
  for (GaussianKernel& kernel : kernels) {
    kernel.normalisation = KernelNormalisation::kNone;
    weighted.push_back({&kernel, model.pair_factor() * kernel.weight});
  }
  PlanDense(SizeOf(model, 0.0), weighted, options,
            {.method = &EntryOf(method).dense, .normalises = true});
}

SolveResult SolveNormalised(const SolveTask<DenseCrf>& task, bool normalised) {
  const auto& [model, options, clock, watch] = task;
  Alarm alarm(clock, options.time_limit_seconds, options.interrupt_seconds, watch);
  std::optional<DenseRun> first(std::in_place, task, normalised, DenseRun::Kind{}, &alarm);
  if (std::optional<SolveResult> solved = first->Solve()) return *std::move(solved);
  std::vector<std::string> notes = first->notes_on_routing();
  if (!first->goes_on_without_routes()) {  // it is a plain one that has given way
    DenseRun routed(task, normalised, {.plain = &*first}, &alarm);
    if (std::optional<SolveResult> solved = routed.Solve()) {
      first->TellOfPlainRun(&*solved);
      return *std::move(solved);
    }
    if (!routed.goes_on_without_routes()) return first->ConcludeWith(&routed);
    notes = routed.notes_on_routing();
  }
  first.reset();
  ReturnFreedMemory();
  SolveResult plain = *DenseRun(task, normalised, {.may_route = false}, &alarm).Solve();
  plain.notes.insert(plain.notes.end(), notes.begin(), notes.end());
  return plain;
}

}  // namespace

SolveResult SolveDense(const SolveTask<DenseCrf>& task) {
  if (!NeedsNormalisation(task.model)) return SolveNormalised(task, false);
  const auto& [model, options, clock, watch] = task;
  RequireMemoryFor(model, options);
  NormalisationOptions normalisation = NormalisationFor(options);
  normalisation.on_progress = [&task](double done) {
    SolveRecord record{.k = -1, .seconds = task.clock.Seconds()};
    record.done = done;
    return record.seconds < kShareForNormalisation * task.options.time_limit_seconds &&
           (!task.watch || task.watch("normalising kernels", record));
  };
  const DenseCrf normalised = WithNormalisation(model, normalisation);
  ReturnFreedMemory();
  return SolveNormalised({normalised, options, clock, watch}, true);
}

}  // namespace submarine::internal
