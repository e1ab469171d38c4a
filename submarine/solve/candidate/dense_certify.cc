#include "submarine/solve/candidate/dense_certify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/bound/constant_labeling.h"
#include "submarine/bound/verify/cliques/clique_verifier.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/bound/verify/dense/operator_verifier.h"
#include "submarine/solve/candidate/dense_candidates.h"
#include "submarine/solve/candidate/dense_flows.h"
#include "submarine/solve/candidate/dense_pairs.h"
#include "submarine/solve/method/policy.h"
#include "submarine/solve/method/times.h"

namespace submarine::internal {
namespace {

// Groups of pairs as large as they come: far too much, but in a fraction of a second.
constexpr double kCoarse = 1e9;

using P = DensePolicy;

void KeepLarger(const Bound& bound, std::optional<Bound>* kept) {
  if (!*kept || bound > **kept) *kept = bound;
}
void KeepSmaller(const Bound& bound, std::optional<Bound>* kept) {
  if (!*kept || bound < **kept) *kept = bound;
}

// Of potentials whose bounds are close to each other, as the chain combines them; not of Frank-Wolfe's steps.
bool IsHull(const FlowProof& proof) {
  return proof.size() > 1 && proof.front().shape == FlowShape::kClip;
}

// As a proof of its own.
FlowTerm LargestTerm(const FlowProof& proof) {
  FlowTerm term = *std::max_element(
      proof.begin(), proof.end(),
      [](const FlowTerm& one, const FlowTerm& other) { return one.share < other.share; });
  term.share = 1.0;
  return term;
}

double AllPairsSeconds(const DenseCrf& model) {
  const auto n = static_cast<double>(model.num_variables());
  const auto kernels = static_cast<double>(model.kernels().size());
  return CertificateSeconds({n, static_cast<double>(model.num_labels()),
                             static_cast<double>(model.num_cuts()), 0.5 * n * n * kernels});
}

class Certifier {
 public:
  Certifier(const DenseCrf& model, const OperatorUsed& pairs, const DenseEvidence& evidence,
            const DenseCertifyOptions& options, Budget* budget)
      : model_(model),
        pairs_(pairs),
        evidence_(evidence),
        options_(options),
        budget_(*budget),
        has_upper_(std::isfinite(evidence.bound.upper)),
        coarse_seconds_(options.machine_time_factor * CoarseCertificateSeconds(SizeOf(model, 0.0))),
        reserve_(budget->stopped() || !options.exact || options.verified_before != nullptr
                     ? options.machine_time_factor * UnaryCertificateSeconds(SizeOf(model, 0.0))
                     : coarse_seconds_),
        cheap_(AllPairsSeconds(model) <= P::kCheapSeconds) {}

  DenseCertificate Run() {
    Certificate& certificate = result_.certificate;
    certificate.temperature = options_.temperature;
    if (has_upper_) certificate.extension = "optimal";
    result_.labels =
        options_.given_labels != nullptr ? *options_.given_labels : LabelsOf(evidence_);
    if (options_.exact) {
      certificate.model = model_.Description() + ", exact Gaussians";
      CertifyExactModel();
    } else {
      certificate.model = fmt::format("{}, pair weights as applied by {}", model_.Description(),
                                      pairs_.description);
      CertifyOperatorModel();
    }
    FallBackOnUnaries();
    // Every lower bound on log Z lies below all upper bounds.
    if (has_upper_) KeepLarger(*certificate.lower, &certificate.dual);
    return std::move(result_);
  }

 private:
  // Runs the verification, which takes at least so long, unless its time is up, before or while it runs.
  bool Attempt(const char* what, const std::function<void()>& verify, double seconds = 0.0) {
    if (budget_.SecondsLeft() <= reserve_ + seconds && !cheap_) {
      Missed(what);
      return false;
    }
    try {
      verify();
      return true;
    } catch (const Interrupted&) {
      Missed(what);
      return false;
    }
  }
  // From that of the model to that of the cliques which it bounds, at mean field's marginals.
  Bound LowerAt(const Bound& of_pairs) const {
    if (options_.cliques == nullptr) return of_pairs;
    return LowerFrom(*options_.cliques, model_, of_pairs, evidence_.mean_field);
  }
  TiltedPlace tilted() { return options_.expectations ? &result_.tilted : nullptr; }
  void Missed(const char* what) {
    if (!missed_.empty()) missed_ += ", ";
    missed_ += what;
  }

  std::function<bool(double)> Reporter(std::string_view phase) {
    return [this, phase](double done) { return budget_.Progress(phase, done, reserve_) || cheap_; };
  }

  PairOptions Verification(std::string_view phase) {
    PairOptions pairs;
    pairs.temperature = options_.temperature;
    pairs.on_progress = Reporter(phase);
    return pairs;
  }
  // For bounds, not for the energy of the labels, which others may be compared with.
  PairOptions BoundVerification(std::string_view phase) {
    PairOptions pairs = Verification(phase);
    pairs.far_tolerance = std::clamp(P::kShareForGroups * options_.relative_gap,
                                     pairs.far_tolerance, P::kMostForGroups);
    return pairs;
  }

  void CertifyExactModel() {
    if (has_upper_) CertifyExactUpper();
    CertifyLabels();
    CertifyBetterLabels([&](const std::vector<int>& labels) {
      return VerifiedAt(model_, labels, Verification("certify lower bound")).lower;
    });
    if (result_.energy) CertifyMarginals();
  }

  void Take(const VerifiedPoint& point) {
    result_.energy = Negated(point.lower);
    KeepLarger(point.lower, &result_.certificate.lower);
    if (has_upper_) KeepLarger(point.dual, &result_.certificate.dual);
  }

  // The lower bound of labels is minus their energy, and their entropy is 0 at every temperature.
  void CertifyLabels() {
    if (options_.verified_before != nullptr) {
      CertifyLabelsAfter(*options_.verified_before);
      return;
    }
    const auto verify = [&](const PairOptions& options) {
      Take(VerifiedAt(model_, result_.labels, options));
    };
    if (Attempt("the energy", [&] { verify(Verification("certify energy")); })) return;
    if (reserve_ != coarse_seconds_ && budget_.SecondsLeft() <= reserve_ + coarse_seconds_) return;
    PairOptions coarse = Verification("certify energy");
    coarse.far_tolerance = kCoarse;
    coarse.on_progress = {};
    verify(coarse);
    energy_is_coarse_ = true;
  }

  // Where given labels are proven, those of less energy still bound log Z from below.
  void CertifyBetterLabels(const std::function<Bound(const std::vector<int>&)>& verify) {
    if (options_.given_labels == nullptr || !result_.energy) return;
    const std::vector<int> found = LabelsOf(evidence_);
    if (found == *options_.given_labels) return;
    Attempt("the least energy found",
            [&] { KeepLarger(verify(found), &result_.certificate.lower); });
  }

  // Those of the end, where there is time for them and they are better.
  void CertifyLabelsAfter(const VerifiedLabels& before) {
    Take(before.point);
    const std::vector<int> last = std::exchange(result_.labels, before.labels);
    if (options_.given_labels != nullptr) return;
    if (last == before.labels || budget_.SecondsLeft() < before.seconds + reserve_) return;
    try {
      const VerifiedPoint point = VerifiedAt(model_, last, Verification("certify energy"));
      if (!(point.lower > before.point.lower)) return;
      Take(point);
      result_.labels = last;
    } catch (const Interrupted&) {  // no time after all
    }
  }

  // Where all potentials of the proof and all pairs would take more time than is left: one potential, which
  // is almost as good, then fewer pairs.
  void CertifyExactUpper() {
    const double available =
        cheap_ ? std::numeric_limits<double>::infinity() : budget_.SecondsLeft() - reserve_;
    PairOptions options = Verification("certify upper bound");
    FlowProof one;
    const FlowProof* proof = &evidence_.bound.proof;
    const double share = P::kForUpper * available;
    const auto cutoff_within = [&](double seconds) {
      return VerifierCutoff(options_.census, model_, options_.relative_gap, seconds,
                            options_.machine_time_factor);
    };
    const double wanted = cutoff_within(kUnlimited);
    options.cutoff =
        cutoff_within(share / static_cast<double>(std::max<std::size_t>(1, proof->size())));
    if (options.cutoff > wanted && IsHull(*proof)) {
      one.push_back(LargestTerm(*proof));
      proof = &one;
      options.cutoff = cutoff_within(share);
    }
    if (options.cutoff > P::kMuchLeftOut * wanted) Missed("pairs of small weight");
    Attempt("the upper bound",
            [&] { result_.certificate.upper = VerifiedUpper(model_, *proof, options, tilted()); });
  }

  // Other points are verified where they say more than the labels, beyond what the gap asked for needs.
  void CertifyMarginals() {
    Certificate& certificate = result_.certificate;
    const double energy = -*certificate.lower;  // the least verified
    const auto reaches_gap = [&] {
      return !has_upper_ ||
             (certificate.upper &&
              RelativeGap(*certificate.upper, *certificate.dual) <= options_.relative_gap);
    };
    const DenseResult& bound = evidence_.bound;
    const bool own_dual =
        has_upper_ && bound.dual > std::max(evidence_.lower, -bound.energy) && !reaches_gap();
    const double gain = (evidence_.lower + energy) / std::max(1.0, std::abs(energy));
    const bool wanted = (!has_upper_ && !options_.upper_elsewhere) ||
                        gain > P::kWorthVerifying * options_.relative_gap ||
                        (has_upper_ && !(own_dual || reaches_gap()));
    if (wanted && evidence_.mean_field.size() > 0) {
      const auto verify = [&] {
        const VerifiedPoint soft =
            VerifiedAt(model_, evidence_.mean_field, BoundVerification("certify lower bound"),
                       own_dual || reaches_gap() ? VerifiedValues::kLower : VerifiedValues::kBoth);
        KeepLarger(LowerAt(soft.lower), &certificate.lower);
        if (has_upper_) KeepLarger(soft.dual, &certificate.dual);
      };
      Attempt("mean field", verify, options_.marginals_seconds);
    }
    if (own_dual) {
      Attempt("the dual value", [&] {
        KeepLarger(VerifiedAt(model_, bound.dual_point, BoundVerification("certify dual"),
                              VerifiedValues::kDual)
                       .dual,
                   &certificate.dual);
      });
    }
  }

  void CertifyOperatorModel() {
    Certificate& certificate = result_.certificate;
    const OperatorVerifier verifier(model_, pairs_.kinds, options_.pairs, options_.temperature);
    const bool lower_only = options_.lower_only && evidence_.mean_field.size() > 0;
    if (!lower_only)
      Attempt("the energy", [&] {
        result_.energy = verifier.Energy(result_.labels, Reporter("certify energy"));
        certificate.lower = Negated(*result_.energy);
      });
    if (!lower_only)
      CertifyBetterLabels([&](const std::vector<int>& labels) {
        return Negated(verifier.Energy(labels, Reporter("certify lower bound")));
      });
    if (evidence_.mean_field.size() > 0) {
      Attempt("mean field", [&] {
        KeepLarger(LowerAt(verifier.Lower(evidence_.mean_field, Reporter("certify lower bound"))),
                   &certificate.lower);
      });
    }
    if (lower_only) {
      result_.notes.emplace_back(
          "The lower bound is about the pair weights that were applied: a certificate about the "
          "exact "
          "Gaussians, or one with an upper bound, too, takes far longer and was not asked for.");
      return;
    }
    if (options_.fluctuations) {
      Attempt("fluctuations", [&] {
        const auto report = [this](double done) {
          return budget_.Progress("bound fluctuations", done,
                                  std::max(reserve_, options_.fluctuations_reserve)) ||
                 cheap_;
        };
        certificate.upper = verifier.FluctuationUpper(evidence_.mean_field, report, tilted());
      });
      if (!certificate.upper) return;
      certificate.extension = "fluctuations";
      certificate.dual = certificate.lower;
      return;
    }
    if (!has_upper_) return;
    // Looser bounds may yet prove more of a sum.
    if (!options_.expectations && options_.upper_before &&
        options_.upper_before->value() <= evidence_.bound.upper)
      return;
    Attempt("the upper bound", [&] {
      certificate.upper =
          verifier.Upper(evidence_.bound.proof, Reporter("certify upper bound"), tilted());
    });
    const bool own = evidence_.bound.dual > evidence_.lower || evidence_.mean_field.size() == 0;
    const Matrix<float>& point = own ? evidence_.bound.dual_point : evidence_.mean_field;
    if (point.size() == 0) return;  // interrupted before there was one
    Attempt("the dual value",
            [&] { certificate.dual = verifier.Dual(point, Reporter("certify dual")); });
  }

  void FallBackOnUnaries() {
    Certificate& certificate = result_.certificate;
    if (!missed_.empty()) {
      result_.notes.push_back(fmt::format(
          "There was no time to certify {} in full: the interval is wider for it.", missed_));
    }
    if (has_upper_ && (!certificate.upper || !missed_.empty())) {
      KeepSmaller(UnaryUpper(model_, options_.temperature), &certificate.upper);
    }
    const ConstantLabeling one = BestConstantLabeling(model_);
    if (!certificate.lower || !missed_.empty() || options_.one_label_at_least)
      KeepLarger(Negated(one.energy), &certificate.lower);
    if (options_.one_label_at_least && result_.energy && one.energy < *result_.energy) {
      if (energy_is_coarse_) {  // the labels are better than what is known about them
        result_.energy.reset();
      } else if (options_.given_labels == nullptr) {
        result_.energy = one.energy;
        result_.labels.assign(result_.labels.size(), one.label);
      }
    }
  }

  const DenseCrf& model_;
  const OperatorUsed& pairs_;
  const DenseEvidence& evidence_;
  const DenseCertifyOptions& options_;
  Budget& budget_;
  const bool has_upper_;
  const double coarse_seconds_;
  // Kept for what is verified in any case: coarse bounds; after an interrupt, or about an operator's model,
  // those of the unaries.
  const double reserve_;
  const bool cheap_;  // whatever pairs it takes
  std::string missed_;
  bool energy_is_coarse_ = false;
  DenseCertificate result_;
};

}  // namespace

DenseCertificate CertifyDense(const DenseCrf& model, const OperatorUsed& pairs,
                              const DenseEvidence& evidence, const DenseCertifyOptions& options,
                              Budget* budget) {
  return Certifier(model, pairs, evidence, options, budget).Run();
}

double VerifierCutoff(const PairCensus& census, const DenseCrf& model, double gap, double seconds,
                      double machine_time_factor) {
  if (AllPairsSeconds(model) <= P::kCheapSeconds) return 0.0;
  double cutoff = 0.0;
  bool fits = false;
  for (const PairCensus::Row& row : census.rows) {
    if (fits && row.left_out > P::kNegligible * gap) break;
    cutoff = row.cutoff;
    fits = machine_time_factor * UpperCertificateSeconds(SizeOf(model, row.pairs)) <= seconds;
  }
  return cutoff;
}

Bound UnaryUpper(const DenseCrf& model, double temperature, TiltedPlace tilted) {
  return VerifiedUpper(model, {}, {.temperature = temperature}, tilted);
}

DenseCertificate CertifyUnaries(const DenseCrf& model, const SolveOptions& options) {
  DenseCertificate certified;
  Certificate& certificate = certified.certificate;
  certificate.model = model.Description();
  certificate.temperature = options.temperature;
  certificate.lower = Negated(BestConstantLabeling(model).energy);
  if (options.method != Method::kMeanField)
    certificate.upper = UnaryUpper(model, options.temperature);
  return certified;
}

bool KeepsGap(const Certificate& certificate, double gap) {
  return !certificate.upper || !certificate.dual ||
         RelativeGap(*certificate.upper, *certificate.dual) <=
             P::kToleranceOfGap * gap + P::kRoundingOfGap;
}

namespace {

void KeepSmaller(const std::optional<Bound>& bound, std::optional<Bound>* kept) {
  if (bound) KeepSmaller(*bound, kept);
}
void KeepLarger(const std::optional<Bound>& bound, std::optional<Bound>* kept) {
  if (bound) KeepLarger(*bound, kept);
}

// Every side keeps the best that was ever verified of this model.
void Keep(DenseCertificate found, std::optional<DenseCertificate>* kept) {
  if (!*kept) {
    *kept = std::move(found);
    return;
  }
  Certificate& certificate = (*kept)->certificate;
  // What no bound of one kind is below says nothing about one of another.
  if (certificate.extension == found.certificate.extension) {
    KeepLarger(found.certificate.dual, &certificate.dual);
  } else if (found.certificate.upper &&
             !(certificate.upper && *certificate.upper <= *found.certificate.upper)) {
    certificate.extension = found.certificate.extension;
    certificate.dual = found.certificate.dual;
  }
  KeepSmaller(found.certificate.upper, &certificate.upper);
  KeepLarger(found.certificate.lower, &certificate.lower);
  if (certificate.upper) KeepLarger(certificate.lower, &certificate.dual);
  KeepBoth(std::move(found.tilted), &(*kept)->tilted);
  (*kept)->notes = std::move(found.notes);
  if (found.energy && !((*kept)->energy && *(*kept)->energy <= *found.energy)) {
    (*kept)->energy = found.energy;
    (*kept)->labels = std::move(found.labels);
  }
}

DenseCertifyOptions OptionsFor(const DenseState& state) {
  DenseCertifyOptions certify;
  certify.given_labels = state.given_labels;
  certify.upper_elsewhere = state.has_flows && state.routed.upper.has_value();
  certify.expectations = state.options.expectations;
  certify.lower_only = state.options.dense.certify == Certify::kLower;
  certify.one_label_at_least =
      state.options.method != Method::kMeanField && state.options.temperature > 0.0;
  certify.temperature = state.options.temperature;
  certify.relative_gap = state.gap;
  certify.census = state.census;
  certify.cliques = state.cliques;
  certify.pairs = state.plan.pairs;
  certify.machine_time_factor = state.machine_time_factor;
  return certify;
}

// What the unaries prove, where nothing else proves an upper bound that was asked for.
void AddUnaries(const DenseState& state, Certificate* certificate) {
  if (state.options.method == Method::kMeanField || state.options.dense.certify == Certify::kLower)
    return;
  KeepSmaller(UnaryUpper(state.model, state.options.temperature), &certificate->upper);
  KeepLarger(certificate->lower, &certificate->dual);
}

}  // namespace

void AddRoutes(const RoutedPart& routed, const DenseState& state, DenseCertificate* to) {
  Certificate* const certificate = &to->certificate;
  KeepTighter(routed.tilted, &to->tilted);
  if (routed.upper && (!certificate->upper || *routed.upper < *certificate->upper)) {
    certificate->upper = routed.upper;
    certificate->extension = "routed";
    certificate->dual.reset();  // of flows alone
  }
  if (!certificate->upper || !routed.complete) AddUnaries(state, certificate);
  if (!routed.upper) return;
  // No upper bound is below log Z.
  KeepLarger(certificate->lower, &certificate->dual);
  if (certificate->extension == "routed") KeepLarger(routed.dual, &certificate->dual);
}

void KeepLower(const Bound& lower, DenseState* state) {
  if (!state->lower_before || *state->lower_before < lower) state->lower_before = lower;
}

void BoundFluctuations(DenseState* state) {
  state->fluctuations_sought = true;
  if (state->found.mean_field.size() == 0) return;
  DenseCertifyOptions options = OptionsFor(*state);
  options.exact = false;
  options.fluctuations = true;
  options.fluctuations_reserve =
      (1.0 - P::kForFluctuations) * std::max(0.0, state->budget.SecondsLeft());
  DenseCertificate found = CertifyDense(state->model, {state->plan.kinds, state->description},
                                        state->found, options, &state->budget);
  if (!found.certificate.upper || !found.certificate.lower) return;
  if (RelativeGap(*found.certificate.upper, *found.certificate.lower) <= state->gap)
    state->found.termination = Termination::kGapReached;
  found.notes.clear();
  Keep(std::move(found), &state->of_operator);
  state->changed_for_operator = false;
}

void CertifyOperator(DenseState* state) {
  state->changed_for_operator = false;
  FreePairs(state);
  if (state->found.empty()) return;
  DenseCertifyOptions options = OptionsFor(*state);
  options.exact = false;
  if (state->of_operator) options.upper_before = state->of_operator->certificate.upper;
  DenseCertificate found = CertifyDense(state->model, {state->plan.kinds, state->description},
                                        state->found, options, &state->budget);
  if (!found.certificate.upper) AddUnaries(*state, &found.certificate);
  Keep(std::move(found), &state->of_operator);
}

void CertifyExactGaussians(DenseState* state) {
  state->changed_for_exact = false;
  FreePairs(state);
  if (state->found.empty() && !state->routed.upper) return;
  DenseCertifyOptions options = OptionsFor(*state);
  if (state->verified_labels) {
    options.verified_before = &*state->verified_labels;
    options.marginals_seconds = P::kMarginalsAtLeast * state->verified_labels->seconds;
  }
  DenseCertificate found = CertifyDense(state->model, {state->plan.kinds, state->description},
                                        state->found, options, &state->budget);
  KeepLarger(state->lower_before, &found.certificate.lower);
  AddRoutes(state->routed, *state, &found);
  Keep(std::move(found), &state->exact);
}

}  // namespace submarine::internal
