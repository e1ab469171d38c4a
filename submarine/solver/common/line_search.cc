#include "submarine/solver/common/line_search.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "submarine/base/parallel.h"
#include "submarine/base/simd/row_kernels.h"

namespace submarine::internal {
namespace {

// The row in double: itself, or a copy in `storage`.
const double* InDouble(std::span<const double> row, std::vector<double>* /*storage*/) {
  return row.data();
}
const double* InDouble(std::span<const float> row, std::vector<double>* storage) {
  storage->assign(row.begin(), row.end());
  return storage->data();
}

}  // namespace

template <class Real>
double ExactLineSearch(const Matrix<Real>& s, const Matrix<Real>& direction, double temperature,
                       const StopCheck& stop) {
  constexpr double kCold = 1e100;  // 1 / T at T = 0, where slopes jump and there are no curvatures
  const double inverse = temperature > 0.0 ? 1.0 / temperature : kCold;
  return MinimiseOnUnitInterval([&](double t) {
    // A slope of 0 ends the search.
    if (t > 0.0 && stop.Stopped()) return std::pair(0.0, 1.0);
    std::vector<double> curvature((s.rows() + kRowGrain - 1) / kRowGrain, 0.0);
    const double slope = ParallelSum(s.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
      std::vector<double> s_row;
      std::vector<double> direction_row;
      double sum = 0.0;
      for (std::size_t a = begin; a < end; ++a) {
        double first = 0.0;
        double second = 0.0;
        LogSumExpDerivativesRow(InDouble(s.row(a), &s_row),
                                InDouble(direction.row(a), &direction_row), t, s.cols(), inverse,
                                &first, &second);
        sum += first;
        curvature[begin / kRowGrain] += second;
      }
      return sum;
    });
    double total = 0.0;
    for (const double c : curvature) total += c;
    return std::pair(slope, total);
  });
}

template double ExactLineSearch(const Matrix<double>&, const Matrix<double>&, double,
                                const StopCheck&);
template double ExactLineSearch(const Matrix<float>&, const Matrix<float>&, double,
                                const StopCheck&);

}  // namespace submarine::internal
