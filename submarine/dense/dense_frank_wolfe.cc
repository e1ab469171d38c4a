#include "submarine/dense/dense_frank_wolfe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/dense/simplex_kernels.h"
#include "submarine/solver/progress.h"

namespace submarine {
namespace {

void CheckProofMemory(const DenseProblem& problem, const DenseFrankWolfeOptions& options) {
  const double bytes = static_cast<double>(problem.num_variables()) *
                       static_cast<double>(problem.model().num_cuts()) * sizeof(float) *
                       options.max_iterations;
  if (options.keep_proof && bytes > static_cast<double>(options.max_proof_bytes)) {
    throw TooLarge(fmt::format(
        "the proof of {} Frank-Wolfe iterations would take {:.3g} GB of memory, more than the "
        "limit of {:.3g} GB; use fewer iterations or another method",
        options.max_iterations, bytes / 1e9, static_cast<double>(options.max_proof_bytes) / 1e9));
  }
}

}  // namespace

DenseResult SolveFrankWolfe(const DenseProblem& problem, const DenseFrankWolfeOptions& options) {
  const double temperature = options.temperature;
  RequirePositiveTemperature(temperature);
  CheckDenseTemperature(temperature);
  CheckProofMemory(problem, options);
  DenseResult result;
  DenseProgress progress(problem, options, &result);
  Matrix<float> s = problem.model().unary();
  Matrix<float> y(s.rows(), s.cols());
  Matrix<float> vertex(s.rows(), s.cols());
  for (int k = 0;; ++k) {
    ParallelFor(s.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t a = begin; a < end; ++a)
        SoftmaxRow(s.row(a).data(), static_cast<float>(temperature), s.cols(), y.row(a).data());
    });
    result.upper = problem.Upper(s, temperature);
    const Matrix<float> order = problem.CutSums(y);
    problem.LabelModular(order, FlowShape::kSign, &vertex);
    // upper - D(y) = <vertex - s, y> (the paper prints this stop test with the sign reversed).
    const double gap = ParallelSum(s.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
      double sum = 0.0;
      for (std::size_t a = begin; a < end; ++a) {
        for (std::size_t i = 0; i < s.cols(); ++i)
          sum += (static_cast<double>(vertex(a, i)) - s(a, i)) * y(a, i);
      }
      return sum;
    });
    if (result.upper - gap > result.dual) {
      result.dual = result.upper - gap;
      result.dual_point = y;
    }
    if (progress.IsLast(k)) progress.OfferMarginals(y);
    if (!progress.Continue(k)) break;

    const double gamma = options.step == FrankWolfeStep::kHarmonic
                             ? 2.0 / (k + 2.0)
                             : BestOnSegment(s, vertex, temperature);
    for (std::size_t j = 0; j < s.size(); ++j)
      s.data()[j] += static_cast<float>(gamma) * (vertex.data()[j] - s.data()[j]);
    if (options.keep_proof && gamma > 0.0) {
      for (FlowTerm& term : result.proof) term.share *= 1.0 - gamma;
      problem.StoreEvidence(order, FlowShape::kSign, gamma, &result.proof.emplace_back());
    }
  }
  if (result.labels.empty()) progress.OfferMarginals(y);  // stopped early
  result.modular = std::move(s);
  result.state = {y, problem.CutSums(y)};
  result.marginals = std::move(y);
  return result;
}

}  // namespace submarine
