#include "submarine/solver/flow/quadratic.h"

#include <algorithm>
#include <cmath>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/extension/simplex_kernels.h"

namespace submarine::internal {
namespace {

constexpr double kStalled = 1e-4;

}  // namespace

DenseResult SolveQuadratic(const DenseExtension& extension, const QuadraticOptions& options) {
  CheckDenseTemperature(options.temperature);
  CheckStart(extension, options.start);
  const std::size_t n = extension.num_variables();
  const std::size_t labels = extension.num_labels();
  DenseResult result;
  DenseProgress progress(extension, options, &result);
  Matrix<float> y = options.start.marginals;
  if (y.size() == 0) y = Matrix<float>(n, labels, 1.0F / static_cast<float>(labels));
  const auto temperature = static_cast<float>(options.temperature);
  const float least_pull = 1e-3F * (temperature > 0.0F ? temperature : 1.0F);
  std::vector<float> lambda(n, kUnknownLambda);
  Matrix<float> s(n, labels);
  try {
    extension.QuadraticModular(y, &s);
    progress.OfferUpper(s, extension.CutSums(y), FlowShape::kClip);
    for (int k = 1;; ++k) {
      ParallelFor(n, kRowGrain, [&](std::size_t begin, std::size_t end) {
        std::vector<float> y_new(labels + 64);
        for (std::size_t a = begin; a < end; ++a) {
          const float pull = std::max(
              least_pull, static_cast<float>(extension.quadratic_reach()) * extension.degrees()[a]);
          SimplexProxRow(s.row(a).data(), y.row(a).data(), pull, temperature, labels, y_new.data(),
                         &lambda[a]);
          std::copy(y_new.begin(), y_new.begin() + static_cast<std::ptrdiff_t>(labels),
                    y.row(a).begin());
        }
      });
      const double before = result.upper;
      extension.QuadraticModular(y, &s);
      progress.OfferUpper(s, extension.CutSums(y), FlowShape::kClip);
      const bool stalled = before - result.upper < kStalled * std::max(1.0, std::abs(result.upper));
      if (stalled || progress.IsLast(k)) progress.OfferMarginals(y);
      if (!progress.Continue(k)) break;
      if (stalled) {
        result.termination = Termination::kIterationLimit;
        break;
      }
    }
    if (result.labels.empty()) progress.OfferMarginals(y);  // stopped by a callback or a limit
  } catch (const Interrupted&) {  // in a pass over the pairs, which only reads y
    progress.Abandon();
  }
  result.state = {y, extension.CutSums(y)};
  result.marginals = std::move(y);
  return result;
}

}  // namespace submarine::internal
