// From what the candidates have left to the result of a dense solve.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "submarine/base/argmax.h"
#include "submarine/extension/simplex_kernels.h"
#include "submarine/solve/candidate/dense_candidates.h"
#include "submarine/solve/candidate/dense_certify.h"
#include "submarine/solve/candidate/dense_flows.h"
#include "submarine/solve/method/policy.h"

namespace submarine::internal {
namespace {

double Width(const std::optional<DenseCertificate>& certified) {
  if (!certified || !certified->certificate.upper || !certified->certificate.lower)
    return std::numeric_limits<double>::infinity();
  return *certified->certificate.upper - *certified->certificate.lower;
}

// The certificate to report: about the exact Gaussians where that says enough.
DenseCertificate ChooseCertificate(DenseState* state) {
  if (!state->exact && !state->of_operator) {
    DenseCertificate unaries = CertifyUnaries(state->model, state->options);
    unaries.labels = state->labels_to_certify();
    return unaries;
  }
  if (!state->of_operator) return *std::move(state->exact);
  if (!state->exact) return *std::move(state->of_operator);
  const double exact = Width(state->exact);
  const double of_operator = Width(state->of_operator);
  // Labels of updates are those of the operator's pair weights.
  const bool reports_exact =
      state->given_labels != nullptr ? exact <= of_operator : ReportsExact(exact, of_operator);
  if (reports_exact) return *std::move(state->exact);
  state->notes.push_back(
      "The interval is about the pair weights that were applied; about the exact Gaussians " +
      (std::isfinite(exact)
           ? fmt::format("it would be {:.4g} wide instead of {:.4g}.", exact, of_operator)
           : std::string("nothing was proven in time.")));
  return *std::move(state->of_operator);
}

// Whether the upper bound is that of routes; where nobody asked for one, whether it would be.
bool IsRouted(const DenseState& state, const Certificate& certificate) {
  if (state.options.dense.certify != Certify::kNone) return certificate.extension == "routed";
  return state.routed.marginals.size() > 0;
}

Matrix<float> ChooseMarginals(bool is_routed, DenseState* state) {
  Matrix<float> upper;
  if (is_routed) upper = std::move(state->routed.marginals);
  if (upper.size() == 0) upper = std::move(state->found.bound.marginals);
  Matrix<float>& mean_field = state->found.mean_field;
  if (upper.size() == 0) return std::move(mean_field);
  if (mean_field.size() == 0) return upper;
  if (state->options.dense.marginals == DenseMarginals::kMean) {
    for (std::size_t n = 0; n < upper.size(); ++n)
      upper.data()[n] = 0.5F * (upper.data()[n] + mean_field.data()[n]);
  }
  return state->options.dense.marginals == DenseMarginals::kMeanField ? std::move(mean_field)
                                                                      : upper;
}

Termination TerminationOf(bool is_routed, const DenseState& state, const Certificate& certificate) {
  if (state.budget.stopped()) return Termination::kInterrupted;
  const Termination found = is_routed ? state.routed.termination : state.found.termination;
  if (state.options.dense.certify == Certify::kNone || !certificate.upper) return found;
  if (KeepsGap(certificate, state.gap) && is_routed && state.has_flows)
    return Termination::kGapReached;
  return found == Termination::kGapReached && !KeepsGap(certificate, state.gap)
             ? Termination::kStalled
             : found;
}

}  // namespace

void TakeUnaries(const DenseCrf& model, const SolveOptions& options, SolveResult* solved) {
  const Matrix<float>& unary = model.unary();
  Matrix<float> y(unary.rows(), unary.cols());
  const double T = options.temperature > 0.0 ? options.temperature : 1.0;
  SoftmaxRows(unary.data(), static_cast<float>(T), unary.rows(), unary.cols(), y.data());
  solved->method = options.method;
  solved->labels = ArgmaxLabels(y);
  solved->marginals = std::move(y);
  solved->certificate.model = model.Description();
  if (options.dense.certify != Certify::kNone)
    solved->certificate = CertifyUnaries(model, options).certificate;
  solved->notes.emplace_back(
      "It ended before there was a first bound by the pairs: labels, marginals and bounds are "
      "those of the unaries.");
}

SolveResult TakeResult(DenseState* state) {
  SolveResult solved;
  if (state->found.empty() && !state->routed.upper) {
    TakeUnaries(state->model, state->options, &solved);
    solved.termination =
        state->budget.stopped() ? Termination::kInterrupted : Termination::kTimeLimit;
  } else {
    const RoutedPart& routed = state->routed;
    if (state->options.dense.certify == Certify::kNone) {
      solved.labels = LabelsOf(state->found);
      solved.certificate.model = state->model.Description();
    } else {
      DenseCertificate chosen = ChooseCertificate(state);
      solved.certificate = std::move(chosen.certificate);
      solved.labels = std::move(chosen.labels);
      solved.energy = chosen.energy;
      solved.tilted = std::move(chosen.tilted);
      for (std::string& note : chosen.notes) state->notes.push_back(std::move(note));
    }
    const bool is_routed = IsRouted(*state, solved.certificate);
    for (const std::string& note : routed.notes) state->notes.push_back(note);
    if (!routed.description.empty() && is_routed)
      state->notes.push_back(fmt::format("The upper bound is that of {}.", routed.description));
    solved.termination = TerminationOf(is_routed, *state, solved.certificate);
    solved.method = is_routed && (state->plain_is_wide || !state->has_flows)
                        ? Method::kRouted
                        : state->options.method;
    if (state->options.expectations) solved.mean_field = state->found.mean_field;
    solved.marginals = ChooseMarginals(is_routed, state);
    solved.pairs = state->description;
  }
  solved.records = std::move(state->records);
  solved.estimated_bytes = state->estimated_bytes;
  solved.notes.insert(solved.notes.begin(), state->notes.begin(), state->notes.end());
  return solved;
}

}  // namespace submarine::internal
