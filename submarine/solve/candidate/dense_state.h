// What the candidates of a dense solve share: the model, the limits, and all that was found so far.
//
// A candidate finds evidence for an upper bound or a lower one. What it finds is unproven until a certificate is made from
// it (candidate/dense_certify.h); certificates are kept for each model that there is one about: the exact Gaussians, and the
// pair weights that an operator applies, which are never mixed.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/bound/bound.h"
#include "submarine/bound/certificate.h"
#include "submarine/bound/tilted_upper.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/extension/dense_extension.h"
#include "submarine/filter/operator_choice.h"
#include "submarine/model/clique.h"
#include "submarine/model/dense_crf.h"
#include "submarine/solve/candidate/budget.h"
#include "submarine/solve/method/dense_memory.h"
#include "submarine/solve/method/method.h"
#include "submarine/solve/method/options.h"
#include "submarine/solve/method/policy.h"
#include "submarine/solve/method/result.h"
#include "submarine/solver/common/dense_result.h"

namespace submarine::internal {

// What solvers have found with one operator; all values are their own, about its pair weights, and prove nothing.
struct DenseEvidence {
  Termination termination = Termination::kNotRun;
  DenseResult bound;         // upper stays infinite where no upper bound was asked for
  Matrix<float> mean_field;  // marginals; empty where there was no time for it
  double lower = -std::numeric_limits<double>::infinity();
  std::vector<SolveRecord> records;

  bool empty() const { return !std::isfinite(bound.upper) && mean_field.size() == 0; }
};

// The best labeling seen.
std::vector<int> LabelsOf(const DenseEvidence& evidence);

// How the pairs are applied: decided before the solve starts (candidate/dense_plan.h).
struct DensePlan {
  OperatorOptions pairs;                 // with a cutoff that the time limit has room for
  std::vector<OperatorKind> kinds = {};  // of the kernels
  double estimated_bytes = 0.0;
  bool routes_listed =
      false;                  // there is room for routing of listed pairs, which is in the estimate
  double listed_pairs = 0.0;  // of a list of all kernels
  bool has_time = true;       // for a first bound; only `auto` goes on without it
  std::vector<std::string> notes = {};
};

// A routed bound, verified as far as there was time.
struct RoutedPart {
  Termination termination = Termination::kNotRun;
  std::optional<Bound> upper;  // none where nobody asked, or there was no time
  bool refused = false;        // for want of memory
  bool complete = true;        // false: looser than it could be, as not all of it was verified
  std::optional<Bound> dual;   // no flows on these routes prove less
  std::shared_ptr<const TiltedUpper> tilted;  // where the call asks for expectations
  Matrix<float> marginals;  // of the paths' distribution; empty where there was no time for any
  std::string description;  // what was routed
  std::vector<std::string> notes;
};

// What was verified of a labeling.
struct VerifiedLabels {
  std::vector<int> labels;
  VerifiedPoint point;
  double seconds = 0.0;  // that it took
};

// What is proven about one model.
struct DenseCertificate {
  Certificate certificate;
  std::vector<int> labels;
  std::optional<Bound> energy;  // of the labels
  std::vector<std::string> notes;
  std::shared_ptr<const TiltedUpper> tilted = {};  // where the call asks for expectations
};

// The solvers that a method runs, one after the other; see candidate/dense_flows.h.
struct DenseChainTask;
using DenseChain = DenseEvidence (*)(const DenseChainTask& task);

struct DenseMethod {
  std::string_view name;
  DenseChain chain = nullptr;
  DenseMethodTraits traits = {};
};

struct DenseState {
  DenseState(const DenseCrf& given, const SolveOptions& of_call, const DenseMethod& of_method,
             double target_gap, bool was_normalised, const std::vector<int>* of_updates,
             Budget* limits);

  const DenseCrf& model;
  const SolveOptions& options;
  const DenseMethod method;
  const double gap;       // the one asked for
  const bool normalised;  // the model is a copy, made for that
  // What is proven is proven of these labels, if any, in place of the best found.
  const std::vector<int>* given_labels;
  // Where the pairs bound cliques from above, too: lower bounds of marginals are about this model.
  const CliqueCrf<DenseCrf>* cliques = nullptr;
  Budget& budget;

  // What the policy knows before anything was found: the call, bounds without pairs, what routing would take.
  DenseView view;

  std::vector<int> labels_to_certify() const {
    return given_labels != nullptr ? *given_labels : LabelsOf(found);
  }

  // The pairs, from the first candidate that applies them until certificates are made.
  DensePlan plan;
  ChosenOperator pairs;
  std::optional<DenseExtension> extension;
  std::string description;                 // of the operator
  bool pairs_are_exact = false;            // no lattice among them
  double machine_time_factor = 1.0;        // how much slower than the estimates the machine is
  PairCensus census;                       // of the exact Gaussians
  double exact_certificate_seconds = 0.0;  // by estimate
  double lattice_certificate_seconds = 0.0;

  // Found, and not proven.
  DenseEvidence found;
  bool has_mean_field = false;  // sought, whether found or not
  bool has_flows = false;
  bool fluctuations_sought = false;
  bool routes_sought = false;
  bool plain_is_wide = false;  // flows ended as none of them proves much more

  // Proven.
  std::optional<VerifiedLabels> verified_labels;  // before routing
  std::optional<Bound> lower_before;              // of marginals, likewise
  RoutedPart routed;                              // about the exact Gaussians
  std::optional<DenseCertificate> exact;
  std::optional<DenseCertificate> of_operator;
  bool changed_for_exact = false;  // since that certificate
  bool changed_for_operator = false;

  std::vector<SolveRecord> records;
  std::vector<std::string> notes;
  double estimated_bytes = 0.0;

  void Change() { changed_for_exact = changed_for_operator = true; }
};

// What is known by now.
DenseView ViewOf(const DenseState& state);

}  // namespace submarine::internal
