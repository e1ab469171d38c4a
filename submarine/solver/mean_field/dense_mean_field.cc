#include "submarine/solver/mean_field/dense_mean_field.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/extension/simplex_kernels.h"
#include "submarine/filter/lattice_stream.h"
#include "submarine/solver/common/dense_result.h"
#include "submarine/solver/mean_field/streamed_updates.h"

namespace submarine::internal {
namespace {

// g of the header: per unit of self weight,
//   sum over cuts of 2 l_c z_c^2 <= 2 quadratic_reach |y|^2.
std::vector<float> Damping(const DenseExtension& extension) {
  std::vector<float> damping(extension.self_weights().begin(), extension.self_weights().end());
  for (float& g : damping) g *= static_cast<float>(2.0 * extension.quadratic_reach());
  return damping;
}

// F at y, given its costs s = phi + field (up to the constant).
double FreeEnergy(const DenseExtension& extension, const Matrix<float>& y, const Matrix<float>& s,
                  float temperature) {
  const Matrix<float>& unary = extension.model().unary();
  return ParallelSum(y.rows(), kRowGrain,
                     [&](std::size_t begin, std::size_t end) {
                       double sum = 0.0;
                       for (std::size_t a = begin; a < end; ++a) {
                         const float* phi = unary.row(a).data();
                         // T H - <phi, y> - 1/2 <field, y> =
                         //   T H - <(phi + s) / 2, y> - constant / 2
                         sum += FreeEnergyRow(y.row(a).data(), phi, s.row(a).data(), temperature,
                                              y.cols()) -
                                0.5 * extension.MeanFieldConstant(a);
                       }
                       return sum;
                     }) -
         extension.model().constant();
}

// The update of every variable, in place.
void Step(const Matrix<float>& s, float temperature, const std::vector<float>& damping,
          std::vector<float>* lambda, Matrix<float>* y) {
  ParallelFor(y->rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    if (damping.empty()) {
      SoftmaxRows(s.row(begin).data(), temperature, end - begin, s.cols(), y->row(begin).data());
      return;
    }
    std::vector<float> y_new(y->cols() + 64);
    for (std::size_t a = begin; a < end; ++a) {
      const std::span<float> row = y->row(a);
      if (!(damping[a] > 0.0F)) {
        SoftmaxRow(s.row(a).data(), temperature, row.size(), row.data());
        continue;
      }
      SimplexProxRow(s.row(a).data(), row.data(), damping[a], temperature, row.size(), y_new.data(),
                     &(*lambda)[a]);
      std::copy(y_new.begin(), y_new.begin() + static_cast<std::ptrdiff_t>(row.size()),
                row.begin());
    }
  });
}

DenseMeanFieldResult SolveStreamed(const DenseExtension& extension,
                                   const DenseMeanFieldOptions& options, LatticeStream* stream) {
  const Stopwatch clock;
  DenseMeanFieldResult result;
  StreamedUpdates updates{.unary = extension.model().unary(),
                          .temperature = static_cast<float>(options.temperature),
                          .factor = -extension.MeanFieldFactor(),
                          .iterations = options.max_iterations,
                          .start = options.start};
  if (options.on_iteration || std::isfinite(options.time_limit_seconds)) {
    updates.go_on = [&](int k) {
      return clock.Seconds() < options.time_limit_seconds &&
             (!options.on_iteration || options.on_iteration(k, clock.Seconds(), result.lower));
    };
  }
  StreamedMarginals found = RunUpdates(std::move(updates), stream);
  result.marginals = std::move(found.marginals);
  result.iterations = found.iterations;
  return result;
}

}  // namespace

DenseMeanFieldResult SolveMeanField(const DenseExtension& extension,
                                    const DenseMeanFieldOptions& options) {
  CheckDenseTemperature(options.temperature);
  CheckStart(options.start, extension.num_variables(), extension.num_labels(), "marginals");
  if (!options.damped && !options.measured && extension.MeanFieldFactor() > 0.0F) {
    if (const auto stream = LatticeStream::Make(extension.pairs(), extension.num_labels())) {
      return SolveStreamed(extension, options, stream.get());
    }
  }
  const Stopwatch clock;
  const auto temperature = static_cast<float>(options.temperature);
  const std::vector<float> damping = options.damped ? Damping(extension) : std::vector<float>{};
  const Matrix<float>& unary = extension.model().unary();
  Matrix<float> y = options.start;
  if (y.size() == 0) {
    y = Matrix<float>(unary.rows(), unary.cols());
    Step(unary, temperature, {}, nullptr, &y);
  }
  std::vector<float> lambda(damping.size(), kUnknownLambda);
  Matrix<float> s(y.rows(), y.cols());
  DenseMeanFieldResult result;
  double previous = -std::numeric_limits<double>::infinity();
  double begin = 0.0;
  for (int k = 0;; ++k) {
    // Do not start an iteration that would not end in time.
    const double now = clock.Seconds();
    const bool in_time = now + (now - begin) < options.time_limit_seconds;
    begin = now;
    const bool last = k >= options.max_iterations || !in_time;
    result.iterations = k;
    try {
      if (options.measured || !last) extension.MeanFieldCosts(y, &s);
    } catch (const Interrupted&) {
      if (result.marginals.size() > 0) return result;
      break;
    }
    if (options.measured) {
      const double value = FreeEnergy(extension, y, s, temperature);
      result.free_energy.push_back(value);
      if (value > result.lower) {
        result.lower = value;
        if (options.damped && !last) result.marginals = y;
      }
      result.converged = value - previous <= options.tolerance * std::max(1.0, std::abs(value));
      previous = value;
    }
    if (last || result.converged ||
        (options.on_iteration && !options.on_iteration(k, clock.Seconds(), result.lower))) {
      break;
    }
    Step(s, temperature, damping, &lambda, &y);
  }
  // Undamped updates are reported as they are; damped ones never get worse, up to rounding.
  if (!options.damped || result.marginals.size() == 0 || previous >= result.lower) {
    result.lower = previous;
    result.marginals = std::move(y);
  }
  return result;
}

}  // namespace submarine::internal
