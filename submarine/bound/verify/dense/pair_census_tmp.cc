#include "submarine/bound/verify/dense/pair_census_tmp.h"
#include <algorithm>
#include <cmath>
#include "submarine/bound/verify/dense/pairs/pair_tree.h"
namespace submarine::internal {
PairCensus CountPairs(const DenseCrf& model) {
  constexpr double kLeast = 1e-9;
  constexpr int kBins = 30;  // half decades
  std::vector<double> count(kBins, 0.0), weight(kBins, 0.0);
  const std::size_t n = model.num_variables();
  const std::size_t sample = std::min<std::size_t>(100, n);
  for (const GaussianKernel& kernel : model.kernels()) {
    if (kernel.weight == 0.0) continue;
    const PairTree tree(kernel);
    for (std::size_t k = 0; k < sample; ++k) {
      const std::size_t p = k * n / sample;
      double point[kMaxFeatureDimension];
      double squared[PairTree::kLeaf];
      tree.Point(p, point);
      tree.Walk([&](std::size_t n_other) {
        const PairTree::Node& other = tree.node(n_other);
        const double limit = 2.0 * std::log(std::max(1.0, kernel.weight * tree.scale(p) * other.scale / kLeast));
        if (tree.SquaredDistance(point, n_other).least > limit) return false;
        if (other.is_leaf()) {
          tree.SquaredDistances(point, other.begin / PairTree::kLeaf, squared);
          for (std::size_t j = 0; j < other.size(); ++j) {
            if (other.begin + j == p) continue;
            const double w = kernel.weight * tree.scale(p) * tree.scale(other.begin + j) * std::exp(-0.5 * squared[j]);
            if (w < kLeast) continue;
            const int bin = std::clamp(static_cast<int>(2.0 * std::log10(w / kLeast)), 0, kBins - 1);
            count[static_cast<std::size_t>(bin)] += 0.5 * static_cast<double>(n) / static_cast<double>(sample);
            weight[static_cast<std::size_t>(bin)] += w;
          }
        }
        return true;
      });
    }
  }
  double total = 0.0, above = 0.0;
  for (double w : weight) total += w;
  for (double c : count) above += c;
  PairCensus census;
  double left = 0.0;
  for (int b = 0; b < kBins; ++b) {
    census.rows.push_back({kLeast * std::pow(10.0, 0.5 * b), above, total > 0 ? left / total : 0.0});
    above -= count[static_cast<std::size_t>(b)];
    left += weight[static_cast<std::size_t>(b)];
  }
  return census;
}
}
