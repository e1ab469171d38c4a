#include "submarine/solver/common/bound_solver.h"

#include <algorithm>
#include <cmath>

#include "submarine/base/parallel.h"
#include "submarine/base/simd/row_kernels.h"

namespace submarine::internal {
double RelativeGap(double upper, double dual) {
  const double gap = (upper - dual) / std::max(1.0, std::abs(upper));
  return std::isnan(gap) ? std::numeric_limits<double>::infinity() : gap;
}

double RelativeGap(const SolveRecord& record) {
  return record.upper && record.dual ? RelativeGap(*record.upper, *record.dual)
                                     : std::numeric_limits<double>::infinity();
}

Termination CheckTermination(const BoundOptions& options, const SolveRecord& record) {
  if (RelativeGap(record) <= options.relative_gap) return Termination::kGapReached;
  if (record.k >= options.max_iterations) return Termination::kIterationLimit;
  if (record.seconds >= options.time_limit_seconds) return Termination::kTimeLimit;
  return Termination::kNotRun;
}

double BoundValue(const SparseExtension& extension, const Matrix<double>& s_label,
                  double temperature, Matrix<double>* marginals) {
  const std::size_t labels = s_label.cols();
  const double sum =
      ParallelSum(s_label.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
        double part = 0.0;
        for (std::size_t a = begin; a < end; ++a) {
          const auto s = s_label.row(a);
          if (temperature == 0.0) {
            part -= *std::min_element(s.begin(), s.end());
          } else if (marginals != nullptr) {
            part += temperature *
                    SoftmaxRow(s.data(), labels, 1.0 / temperature, marginals->row(a).data());
          } else {
            part += temperature * LogSumExpRow(s.data(), labels, 1.0 / temperature);
          }
        }
        return part;
      });
  return sum - extension.offset();
}

double DualValue(const SparseExtension& extension, const Matrix<double>& marginals,
                 double temperature) {
  Matrix<double> storage;
  const Matrix<double>& z = CutSums(extension.model(), marginals, &storage);
  const double entropy =
      ParallelSum(marginals.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
        return EntropyRow(marginals.row(begin).data(), (end - begin) * marginals.cols());
      });
  return temperature * entropy - extension.Lovasz(z) - extension.offset();
}

}  // namespace submarine::internal
