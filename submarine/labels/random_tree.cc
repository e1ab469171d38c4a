#include "submarine/labels/random_tree.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace submarine::internal {
namespace {

// Below this part of the largest distance, labels are not told apart.
constexpr double kFinest = 1e-12;

// mt19937_64 is the same everywhere, the distributions of the standard library are not.
double Uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

std::vector<std::size_t> RandomOrder(std::size_t size, std::mt19937_64& random) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t k = size; k > 1; --k) std::swap(order[k - 1], order[random() % k]);
  return order;
}

struct Cluster {
  int node;
  std::vector<int> labels;
};

}  // namespace

// The clusters of one level lie within `radius` of a centre; those of the next are their parts
// within half of that, each label with the first centre in a random order that is near enough. A
// pair that is parted at radius r has been within r of one centre, hence at a distance of at most
// 4r before the radius was halved, and the two edges below are 2r long each.
LabelTree RandomTree(const Matrix<double>& distance, std::mt19937_64& random) {
  const std::size_t count = distance.rows();
  const double largest = *std::max_element(distance.data(), distance.data() + distance.size());
  const std::vector<std::size_t> centres = RandomOrder(count, random);
  double radius = largest * std::exp2(Uniform(random));
  std::vector<TreeNode> nodes{{-1, 0.0, -1}};
  std::vector<Cluster> level{{0, {}}};
  level[0].labels.resize(count);
  std::iota(level[0].labels.begin(), level[0].labels.end(), 0);
  while (!level.empty()) {
    radius /= 2;
    const bool finest = !(radius > kFinest * largest);
    std::vector<Cluster> next;
    for (const Cluster& cluster : level) {
      std::vector<int> left = cluster.labels;
      for (std::size_t centre : centres) {
        if (left.empty()) break;
        Cluster part;
        const int first = left.front();
        const auto far = std::stable_partition(left.begin(), left.end(), [&](int i) {
          return finest ? i == first : distance(centre, static_cast<std::size_t>(i)) <= radius;
        });
        part.labels.assign(left.begin(), far);
        left.erase(left.begin(), far);
        if (part.labels.empty()) continue;
        part.node = static_cast<int>(nodes.size());
        const bool leaf = part.labels.size() == 1;
        nodes.push_back({cluster.node, finest ? 0.0 : 2 * radius, leaf ? part.labels[0] : -1});
        if (!leaf) next.push_back(std::move(part));
      }
    }
    level = std::move(next);
  }
  return LabelTree(std::move(nodes));
}

}  // namespace submarine::internal
