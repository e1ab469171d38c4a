// From what the dense solvers found to what is proven, within the time that is left.
//
// Each value is first verified in full; where that does not fit, coarser evidence is: fewer pairs for the
// upper bound (a pair left out is flow 0), larger groups of far pairs for the others, in the end the
// unaries alone. Whatever comes out is proven about the model that the certificate names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "submarine/bound/certificate.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/filter/operator_choice.h"
#include "submarine/model/clique.h"
#include "submarine/model/dense_crf.h"
#include "submarine/solve/candidate/budget.h"
#include "submarine/solve/candidate/dense_state.h"

namespace submarine::internal {

struct DenseCertifyOptions {
  bool exact = true;  // about the exact Gaussians, else about the operator's pair weights
  // The upper bound is another one than the evidence's: marginals are verified only where they say more than the
  // labels, as if it were there.
  bool upper_elsewhere = false;
  const std::vector<int>* given_labels = nullptr;  // to certify in place of the best ones found
  bool one_label_at_least =
      false;                  // lower bound and labels are those of one label for all, or better
  bool lower_only = false;    // of the operator's model: the bound of the marginals alone
  bool fluctuations = false;  // of the operator's model: bound those of mean field,
  double fluctuations_reserve = 0.0;  // and leave so many seconds
  std::optional<Bound> upper_before =
      {};                     // of the operator's model: flows are verified where they prove less
  bool expectations = false;  // make the upper bound's tilted one
  const CliqueCrf<DenseCrf>* cliques = nullptr;  // that the model bounds from above
  // Takes the place of better labels that there is no time to verify.
  const VerifiedLabels* verified_before = nullptr;
  double marginals_seconds = 0.0;  // that verifying marginals takes at least
  double temperature = 1.0;
  double relative_gap = 1e-2;
  PairCensus census = {};            // of the exact Gaussians
  OperatorOptions pairs = {};        // as the solver had them
  double machine_time_factor = 1.0;  // that estimates of time are multiplied by
};

// The operator, which need not exist any more.
struct OperatorUsed {
  std::span<const OperatorKind> kinds;  // of the model's kernels
  std::string description;
};

DenseCertificate CertifyDense(const DenseCrf& model, const OperatorUsed& pairs,
                              const DenseEvidence& evidence, const DenseCertifyOptions& options,
                              Budget* budget);

// The upper bound of the unaries alone.
Bound UnaryUpper(const DenseCrf& model, double temperature, TiltedPlace tilted = nullptr);
// Adds what was verified of routes to a certificate about the exact Gaussians.
void AddRoutes(const RoutedPart& routed, const DenseState& state, DenseCertificate* to);
// A lower bound about the exact Gaussians that was verified before the end.
void KeepLower(const Bound& lower, DenseState* state);

// What unaries alone prove, and one label for all; where there is no other, their labels and marginals. The bounds are
// about every model with these unaries whose pairs cost nothing or more.
DenseCertificate CertifyUnaries(const DenseCrf& model, const SolveOptions& options);

// Whether the certified gap is at most the one asked for, with some tolerance.
bool KeepsGap(const Certificate& certificate, double gap);

// The verifier's cutoff: it leaves out what is next to nothing beside the gap, and more where there is no time for the rest.
double VerifierCutoff(const PairCensus& census, const DenseCrf& model, double gap, double seconds,
                      double machine_time_factor);

}  // namespace submarine::internal
