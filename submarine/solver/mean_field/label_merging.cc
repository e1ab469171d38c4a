#include "submarine/solver/mean_field/label_merging.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/loop_interrupt.h"

namespace submarine::internal {
namespace {

// What all variables of one label have in common.
struct LabelSums {
  std::vector<char> used;
  Matrix<double> unary;    // (i, t): of the variables with label i, sum of phi(t)
  Matrix<double> between;  // (i, j): sum of w_ab over a with label i and b with label j
};

LabelSums SumsOf(const DenseExtension& extension, const std::vector<int>& labels) {
  const Matrix<float>& phi = extension.model().unary();
  const Matrix<float> indicator = Indicator(labels, phi.cols());
  Matrix<float> near(phi.rows(), phi.cols(), 0.0F);
  {
    const LoopInterrupt scope(extension.interrupted());
    extension.pairs().AddProduct(indicator, 1.0F, &near);
  }
  LabelSums sums{std::vector<char>(phi.cols(), 0), Matrix<double>(phi.cols(), phi.cols(), 0.0),
                 Matrix<double>(phi.cols(), phi.cols(), 0.0)};
  for (std::size_t a = 0; a < phi.rows(); ++a) {
    const auto i = static_cast<std::size_t>(labels[a]);
    sums.used[i] = 1;
    for (std::size_t t = 0; t < phi.cols(); ++t) {
      sums.unary(i, t) += phi(a, t);
      // Symmetric, however products are rounded, so that no sequence of replacements comes back to where it was.
      sums.between(i, t) += 0.5 * near(a, t);
      sums.between(t, i) += 0.5 * near(a, t);
    }
  }
  return sums;
}

// What the energy changes by when all variables of label i get label t.
double Change(const LabelSums& sums, const Matrix<double>& distance, std::size_t i, std::size_t t) {
  double change = sums.unary(i, t) - sums.unary(i, i);
  for (std::size_t j = 0; j < sums.used.size(); ++j) {
    if (j != i && sums.used[j] != 0)
      change += sums.between(i, j) * (distance(t, j) - distance(i, j));
  }
  return change;
}

void Replace(std::size_t i, std::size_t t, LabelSums* sums) {
  for (std::size_t j = 0; j < sums->used.size(); ++j) {
    sums->unary(t, j) += std::exchange(sums->unary(i, j), 0.0);
    sums->between(t, j) += std::exchange(sums->between(i, j), 0.0);
  }
  for (std::size_t j = 0; j < sums->used.size(); ++j)
    sums->between(j, t) += std::exchange(sums->between(j, i), 0.0);
  sums->used[i] = 0;
  sums->used[t] = 1;
}

}  // namespace

std::vector<int> MergeLabels(const DenseExtension& extension, const std::vector<int>& labels) {
  constexpr double kNothing = 1e-6;  // relative to the unaries: filters are no more exact
  LabelSums sums = SumsOf(extension, labels);
  const Matrix<double>& distance = extension.model().metric().distance;
  const std::size_t count = sums.used.size();
  double size = 1.0;
  for (std::size_t i = 0; i < count; ++i) size += std::abs(sums.unary(i, i));
  std::vector<int> merged = labels;
  for (;;) {
    double least = -kNothing * size;
    std::size_t replaced = count;
    std::size_t by = count;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t t = 0; t < count && sums.used[i] != 0; ++t) {
        const double change = t == i ? 0.0 : Change(sums, distance, i, t);
        if (!(change < least)) continue;
        least = change;
        replaced = i;
        by = t;
      }
    }
    if (replaced == count) return merged;
    Replace(replaced, by, &sums);
    std::replace(merged.begin(), merged.end(), static_cast<int>(replaced), static_cast<int>(by));
  }
}

}  // namespace submarine::internal
