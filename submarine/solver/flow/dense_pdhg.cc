#include "submarine/solver/flow/dense_pdhg.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "submarine/base/argmax.h"
#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/extension/simplex_kernels.h"

namespace submarine::internal {
namespace {

// Marginals at a temperature where unaries and pair terms weigh the same: the unaries alone would
// fix most labels before the first flow, and undoing that takes long. Exponents stay within the
// range of float.
Matrix<float> TemperedMarginals(const DenseExtension& extension, double temperature) {
  const Matrix<float>& unary = extension.model().unary();
  Matrix<float> y = Matrix<float>::Unset(unary.rows(), unary.cols());
  const auto [least, largest] = std::minmax_element(unary.data(), unary.data() + unary.size());
  constexpr double kLeast = 1e-30;  // its inverse is a float
  temperature = std::max({temperature, 1e-6 * std::abs(*least), 1e-6 * std::abs(*largest), kLeast});
  const auto scale = static_cast<float>(1.0 / temperature);
  ParallelFor(y.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<float> s(y.cols() + 64);
    for (std::size_t a = begin; a < end; ++a) {
      for (std::size_t i = 0; i < y.cols(); ++i) s[i] = scale * unary(a, i);
      SoftmaxRow(s.data(), 1.0F, y.cols(), y.row(a).data());
    }
  });
  return y;
}

double BalanceAt(int k) { return 1.0 + 2.0 * std::exp(-k / 20.0); }

// Each time costs one or two passes over the pairs.
bool LooksAtMarginals(int k) { return k % 8 == 0 || k == 4; }

}  // namespace

DenseResult SolvePdhg(const DenseExtension& extension, const DensePdhgOptions& options) {
  CheckDenseTemperature(options.temperature);
  CheckStart(extension, options.start);
  const std::size_t n = extension.num_variables();
  const std::size_t labels = extension.num_labels();
  // reach (D_a + self weight), never zero, so that isolated variables have a prox, too.
  std::vector<float> pull(n);
  double mean_pull = 0.0;
  for (std::size_t a = 0; a < n; ++a) {
    pull[a] = static_cast<float>(extension.reach() *
                                 (extension.degrees()[a] + extension.self_weights()[a]));
    if (options.cliques != nullptr) pull[a] += static_cast<float>(options.cliques->strength()[a]);
    mean_pull += pull[a] / static_cast<double>(n);
  }
  const double T = options.temperature;
  const double least_pull = mean_pull > 0.0 ? 1e-3 * mean_pull : T > 0.0 ? T : 1.0;
  for (float& p : pull) p = std::max(p, static_cast<float>(least_pull));
  const double eta = std::numbers::sqrt2;

  Matrix<float> y = options.start.marginals.size() > 0
                        ? options.start.marginals
                        : TemperedMarginals(extension, std::max(T, mean_pull));
  Matrix<float> v = options.start.potentials.size() > 0 ? options.start.potentials
                                                        : Matrix<float>(n, extension.num_active());
  std::vector<float> lambda = options.start.multipliers;
  lambda.resize(n, kUnknownLambda);
  Matrix<float> s = Matrix<float>::Unset(n, labels);
  DenseResult result;
  DenseProgress progress(extension, options, &result, options.keeps_evidence);

  // Of cliques: their evidence, the extrapolated marginals that move it, and values that count them.
  const CliqueExtension* const cliques = options.cliques;
  Matrix<float> q = cliques != nullptr ? cliques->Neutral<float>() : Matrix<float>();
  Matrix<float> extrapolated_y =
      cliques != nullptr ? Matrix<float>::Unset(n, labels) : Matrix<float>();
  const auto offer_upper = [&] {
    if (cliques == nullptr) return progress.OfferUpper(s, v, FlowShape::kClip);
    const double before = result.upper;
    const double before_of_s = before + cliques->offset();
    result.upper = before_of_s;
    progress.OfferUpper(s, v, FlowShape::kClip);
    const bool better = result.upper < before_of_s;
    result.upper = better ? result.upper - cliques->offset() : before;
    if (better) result.cliques = q;
  };
  const auto offer_marginals = [&](const Matrix<float>& point) {
    if (cliques == nullptr) return progress.OfferMarginals(point);
    const auto dual_at = [&](const Matrix<float>& at) {
      return extension.Dual(at, T) - cliques->LovaszAt(at) - cliques->offset();
    };
    std::vector<int> rounded = ArgmaxLabels(point);
    const Matrix<float> certain = Indicator(rounded, labels);
    const double energy = -dual_at(certain);  // entropies are 0
    result.dual = std::max({result.dual, dual_at(point), -energy});
    if (energy < result.energy) {
      result.energy = energy;
      result.labels = std::move(rounded);
    }
  };

  // v <- v + step z(point), for one variable.
  const auto step_potentials = [&](std::size_t a, std::span<const float> point, double rho) {
    extension.StepPotentials(point, static_cast<float>(0.5 * eta * rho), v.row(a));
  };
  const int before = options.start.iterations;
  try {
    if (before == 0) {  // when continuing, the potentials have already made this step
      if (options.start.potentials.size() > 0) {
        extension.LabelModular(v, FlowShape::kClip, &s);
      } else {
        CopyMatrix(extension.model().unary(), &s);  // no flows yet
      }
      if (cliques != nullptr) cliques->AddModular(q, &s);
      offer_upper();
      ParallelFor(n, kRowGrain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t a = begin; a < end; ++a) step_potentials(a, y.row(a), BalanceAt(0));
      });
      if (cliques != nullptr) cliques->Step(y, 0.5 * eta * BalanceAt(0), &q);
    }
    for (int k = 1;; ++k) {
      const bool looks = progress.IsLast(k) || LooksAtMarginals(k);
      extension.LabelModular(v, FlowShape::kClip, &s);
      if (cliques != nullptr) cliques->AddModular(q, &s);
      if (looks || options.keeps_evidence) offer_upper();
      const double rho = BalanceAt(before + k - 1);
      const double next_rho = BalanceAt(before + k);
      ParallelFor(n, kRowGrain, [&](std::size_t begin, std::size_t end) {
        std::vector<float> y_new(labels + 64);
        for (std::size_t a = begin; a < end; ++a) {
          SimplexProxRow(s.row(a).data(), y.row(a).data(), static_cast<float>(pull[a] * rho / eta),
                         static_cast<float>(T), labels, y_new.data(), &lambda[a]);
          const std::span<float> old = y.row(a);
          for (std::size_t i = 0; i < labels; ++i) {
            const float extrapolated = 2.0F * y_new[i] - old[i];
            old[i] = y_new[i];
            y_new[i] = extrapolated;
          }
          step_potentials(a, {y_new.data(), labels}, next_rho);
          if (cliques != nullptr)
            std::copy(y_new.begin(), y_new.begin() + static_cast<std::ptrdiff_t>(labels),
                      extrapolated_y.row(a).begin());
        }
      });
      if (cliques != nullptr) cliques->Step(extrapolated_y, 0.5 * eta * next_rho, &q);
      if (looks) offer_marginals(y);
      if (!progress.Continue(k)) break;
    }
    if (result.labels.empty()) offer_marginals(y);  // stopped
  } catch (const Interrupted&) {                    // y is complete in any case
    progress.Abandon();
  }
  result.marginals = y;
  result.state = {std::move(y), std::move(v), before + result.iterations, std::move(lambda)};
  return result;
}

}  // namespace submarine::internal
