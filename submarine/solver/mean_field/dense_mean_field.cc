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

// The classic update on lattices, where rows go from slicing through the softmax to splatting
// without leaving the cache: marginals are written only when they will be read.
class StreamedMeanField {
 public:
  StreamedMeanField(const DenseExtension& extension, const DenseMeanFieldOptions& options,
                    LatticeStream* stream)
      : unary_(extension.model().unary()),
        factor_(extension.MeanFieldFactor()),
        options_(options),
        stream_(*stream),
        y_(options.start) {
    if (y_.size() == 0) y_ = Matrix<float>(unary_.rows(), unary_.cols());
  }

  DenseMeanFieldResult Solve() {
    const Stopwatch clock;
    DenseMeanFieldResult result;
    Pass(0, [&](std::size_t first, std::size_t last, float* block) { Start(first, last, block); });
    for (int k = 0;; ++k) {
      result.iterations = k;
      if (k >= options_.max_iterations || clock.Seconds() >= options_.time_limit_seconds ||
          (options_.on_iteration && !options_.on_iteration(k, clock.Seconds(), result.lower))) {
        break;
      }
      stream_.Blur(-factor_);
      Pass(k + 1, [&](std::size_t first, std::size_t last, float* block) {
        stream_.Slice(first, last, unary_.row(first).data(),
                      stream_.needs_x() ? y_.row(first).data() : nullptr, block);
        Softmax(k + 1, first, last, block);
      });
    }
    result.marginals = std::move(y_);
    return result;
  }

 private:
  bool IsLast(int k) const { return k >= options_.max_iterations; }
  bool IsKept(int k) const {
    return IsLast(k) || stream_.needs_x() || options_.on_iteration ||
           options_.time_limit_seconds < std::numeric_limits<double>::infinity();
  }

  void Pass(int k, const LatticeStream::MakeRows& make_rows) {
    if (IsLast(k)) {
      stream_.Visit(make_rows);
    } else {
      stream_.Spread(make_rows);
    }
  }

  void Start(std::size_t first, std::size_t last, float* block) {
    const bool given = options_.start.size() > 0;
    const Matrix<float>& source = given ? options_.start : unary_;
    for (std::size_t a = first; a < last; ++a) {
      const std::span<const float> row = source.row(a);
      float* to = block + (a - first) * stream_.row_stride();
      std::fill(std::copy(row.begin(), row.end(), to), to + stream_.row_stride(), 0.0F);
    }
    if (!given) Softmax(0, first, last, block);
  }

  void Softmax(int k, std::size_t first, std::size_t last, float* block) {
    SoftmaxBlock(static_cast<float>(options_.temperature), last - first, unary_.cols(),
                 stream_.row_stride(), block, IsKept(k) ? y_.row(first).data() : nullptr);
  }

  const Matrix<float>& unary_;
  const float factor_;
  const DenseMeanFieldOptions& options_;
  LatticeStream& stream_;
  Matrix<float> y_;
};

}  // namespace

DenseMeanFieldResult SolveMeanField(const DenseExtension& extension,
                                    const DenseMeanFieldOptions& options) {
  CheckDenseTemperature(options.temperature);
  CheckStart(options.start, extension.num_variables(), extension.num_labels(), "marginals");
  if (!options.damped && !options.measured && extension.MeanFieldFactor() > 0.0F) {
    if (const auto stream = LatticeStream::Make(extension.pairs(), extension.num_labels())) {
      return StreamedMeanField(extension, options, stream.get()).Solve();
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
      result.records.push_back({k, clock.Seconds(), value});
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
