#include "submarine/solver/routed/look_alike_path.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "submarine/base/parallel.h"

namespace submarine::internal {
namespace {

constexpr double kMostTerms = 27.0;
constexpr std::size_t kPieces = 16;  // of a path, to judge it by
constexpr std::size_t kPieceLength = 8;
constexpr double kRoutedShare = 0.75;

// A tree over points that are taken away one by one.
class ShrinkingTree {
 public:
  explicit ShrinkingTree(Matrix<float> points)
      : points_(std::move(points)), dim_(points_.cols()), order_(points_.rows()) {
    std::iota(order_.begin(), order_.end(), 0U);
    leaf_of_.resize(order_.size());
    Build(0, order_.size(), 0);
  }

  void Remove(std::uint32_t a) {
    std::size_t n = leaf_of_[a];
    Node& leaf = nodes_[n];
    const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(leaf.begin);
    const auto at = std::find(begin, begin + leaf.alive, a);
    std::swap(*at, *(begin + (leaf.alive - 1)));
    for (;; n = nodes_[n].parent) {
      --nodes_[n].alive;
      if (n == 0) return;
    }
  }

  // The nearest point that is left: looks near its own leaf first. There must be one.
  std::uint32_t Nearest(std::uint32_t a) const {
    const float* f = points_.row(a).data();
    std::uint32_t best = a;
    float least = std::numeric_limits<float>::infinity();
    // Up from the leaf, into every other child that may hold something nearer.
    std::size_t n = leaf_of_[a];
    Search(n, f, &best, &least);
    while (n != 0) {
      const std::size_t parent = nodes_[n].parent;
      const std::size_t other =
          nodes_[parent].left == n ? nodes_[parent].right : nodes_[parent].left;
      Search(other, f, &best, &least);
      n = parent;
    }
    return best;
  }

 private:
  static constexpr std::size_t kBucket = 8;
  struct Node {
    std::size_t begin = 0;
    std::ptrdiff_t alive = 0;
    std::size_t parent = 0;
    std::size_t left = 0;  // 0: a leaf
    std::size_t right = 0;
  };

  std::size_t Build(std::size_t begin, std::size_t end, std::size_t parent) {
    const std::size_t n = nodes_.size();
    nodes_.push_back({begin, static_cast<std::ptrdiff_t>(end - begin), parent, 0, 0});
    std::vector<float> low(dim_, std::numeric_limits<float>::infinity());
    std::vector<float> high(dim_, -std::numeric_limits<float>::infinity());
    for (std::size_t k = begin; k < end; ++k) {
      for (std::size_t d = 0; d < dim_; ++d) {
        low[d] = std::min(low[d], points_(order_[k], d));
        high[d] = std::max(high[d], points_(order_[k], d));
      }
    }
    box_.insert(box_.end(), low.begin(), low.end());
    box_.insert(box_.end(), high.begin(), high.end());
    if (end - begin <= kBucket) {
      for (std::size_t k = begin; k < end; ++k) leaf_of_[order_[k]] = n;
      return n;
    }
    std::size_t widest = 0;
    for (std::size_t d = 1; d < dim_; ++d) {
      if (high[d] - low[d] > high[widest] - low[widest]) widest = d;
    }
    const std::size_t middle = begin + (end - begin) / 2;
    std::nth_element(order_.begin() + static_cast<std::ptrdiff_t>(begin),
                     order_.begin() + static_cast<std::ptrdiff_t>(middle),
                     order_.begin() + static_cast<std::ptrdiff_t>(end),
                     [&](std::uint32_t a, std::uint32_t b) {
                       return std::pair(points_(a, widest), a) < std::pair(points_(b, widest), b);
                     });
    const std::size_t left = Build(begin, middle, n);
    const std::size_t right = Build(middle, end, n);
    nodes_[n].left = left;
    nodes_[n].right = right;
    return n;
  }

  float BoxDistance(std::size_t n, const float* f) const {
    const float* low = box_.data() + 2 * n * dim_;
    const float* high = low + dim_;
    float squared = 0.0F;
    for (std::size_t d = 0; d < dim_; ++d) {
      const float apart = std::max({0.0F, low[d] - f[d], f[d] - high[d]});
      squared += apart * apart;
    }
    return squared;
  }

  void Search(std::size_t n, const float* f, std::uint32_t* best, float* least) const {
    const Node& node = nodes_[n];
    if (node.alive == 0 || BoxDistance(n, f) >= *least) return;
    if (node.left == 0) {
      for (std::size_t k = node.begin; k < node.begin + static_cast<std::size_t>(node.alive); ++k) {
        const float* g = points_.row(order_[k]).data();
        float squared = 0.0F;
        for (std::size_t d = 0; d < dim_; ++d) squared += (g[d] - f[d]) * (g[d] - f[d]);
        if (squared < *least || (squared == *least && order_[k] < *best)) {
          *least = squared;
          *best = order_[k];
        }
      }
      return;
    }
    const bool left_first = BoxDistance(node.left, f) <= BoxDistance(node.right, f);
    Search(left_first ? node.left : node.right, f, best, least);
    Search(left_first ? node.right : node.left, f, best, least);
  }

  Matrix<float> points_;
  std::size_t dim_;
  std::vector<std::uint32_t> order_;
  std::vector<std::size_t> leaf_of_;
  std::vector<Node> nodes_;
  std::vector<float> box_;
};

// The features of all kernels side by side, in proportion to what a difference costs an edge.
Matrix<float> WeightedFeatures(const DenseCrf& model) {
  double total = 0.0;
  std::size_t dim = 0;
  for (const GaussianKernel& kernel : model.kernels()) {
    if (kernel.weight == 0.0) continue;
    total += kernel.weight;
    dim += kernel.dimension();
  }
  Matrix<float> points(model.num_variables(), std::max<std::size_t>(dim, 1));
  std::size_t first = 0;
  for (const GaussianKernel& kernel : model.kernels()) {
    if (kernel.weight == 0.0) continue;
    const double factor = std::sqrt(kernel.weight / total);
    for (std::size_t a = 0; a < points.rows(); ++a) {
      for (std::size_t d = 0; d < kernel.dimension(); ++d)
        points(a, first + d) = static_cast<float>(factor * kernel.features(a, d));
    }
    first += kernel.dimension();
  }
  return points;
}

// The length of rows, where variables come in rows: after each of them the next variable is far away. 0 if
// there are none.
std::size_t RowLength(const Matrix<float>& points) {
  const std::size_t n = points.rows();
  std::vector<float> jump(n, 0.0F);  // to the variable before
  for (std::size_t a = 1; a < n; ++a) {
    for (std::size_t d = 0; d < points.cols(); ++d) {
      const float difference = points(a, d) - points(a - 1, d);
      jump[a] += difference * difference;
    }
  }
  const float far = 0.5F * *std::max_element(jump.begin(), jump.end());
  const auto first = std::find_if(jump.begin(), jump.end(), [&](float j) { return j > far; });
  const auto length = static_cast<std::size_t>(first - jump.begin());
  if (first == jump.end() || length < 2 || n % length != 0) return 0;
  for (std::size_t a = 1; a < n; ++a) {
    if ((jump[a] > far) != (a % length == 0)) return 0;
  }
  return length;
}

// What all third variables have in common with both ends of an edge of a path, a quarter of it.
double RoutedWeight(const std::vector<WeightedKernel>& kernels, std::size_t a, std::size_t b,
                    std::size_t num_variables) {
  double sum = 0.0;
  for (const auto& [kernel, factor] : kernels) {
    const std::vector<double>& scale = kernel->scale;
    const double of_a = scale.empty() ? 1.0 : scale[a];
    const double of_b = scale.empty() ? 1.0 : scale[b];
    for (std::size_t c = 0; c < num_variables; ++c) {
      if (c == a || c == b) continue;
      const double to_a = of_a * std::exp(-0.5 * SquaredDistance(*kernel, a, c));
      const double to_b = of_b * std::exp(-0.5 * SquaredDistance(*kernel, b, c));
      sum += factor * (scale.empty() ? 1.0 : scale[c]) * std::min(to_a, to_b);
    }
  }
  return 0.25 * sum;
}

}  // namespace

double PathLogZ(const DenseCrf& model, const RoutedPaths& paths, double temperature) {
  const std::size_t n = model.num_variables();
  const std::size_t labels = model.unary().cols();
  const std::vector<WeightedKernel> kernels = PairWeights(model);
  const Matrix<double> distance = CutDistance(*model.labels().cuts, model.metric().length);
  const std::size_t length = std::min(kPieceLength, n);
  const std::size_t pieces = std::min(kPieces, n / length);
  std::vector<double> value(pieces);
  ParallelFor(pieces, 1, [&](std::size_t begin, std::size_t end) {
    std::vector<double> message(labels);
    std::vector<double> next(labels);
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t first = k * (n - length) / std::max<std::size_t>(1, pieces - 1);
      double log_scale = 0.0;
      for (std::size_t p = first; p < first + length; ++p) {
        const std::size_t a = paths.order[p];
        const double weight =
            p > first ? kRoutedShare * RoutedWeight(kernels, paths.order[p - 1], a, n) : 0.0;
        const auto phi = model.unary().row(a);
        const double least = *std::min_element(phi.begin(), phi.end());
        double total = 0.0;
        for (std::size_t i = 0; i < labels; ++i) {
          double sum = p > first ? 0.0 : 1.0;
          for (std::size_t j = 0; j < labels && p > first; ++j)
            sum += message[j] * std::exp(-weight * distance(i, j) / temperature);
          next[i] = sum * std::exp((least - static_cast<double>(phi[i])) / temperature);
          total += next[i];
        }
        for (std::size_t i = 0; i < labels; ++i) message[i] = next[i] / total;
        log_scale += std::log(total) - least / temperature;
      }
      value[k] = log_scale / static_cast<double>(length);
    }
  });
  return std::accumulate(value.begin(), value.end(), 0.0) / static_cast<double>(pieces);
}

RoutedPaths MakePath(const DenseCrf& model, RoutedOrder order, int thickness, double temperature) {
  if (order == RoutedOrder::kBest) {
    RoutedPaths look_alikes = MakePath(model, RoutedOrder::kLookAlikes, thickness, temperature);
    RoutedPaths rows = MakePath(model, RoutedOrder::kRows, thickness, temperature);
    return PathLogZ(model, rows, temperature) < PathLogZ(model, look_alikes, temperature)
               ? rows
               : look_alikes;
  }
  RoutedPaths paths;
  paths.begin = {0};
  paths.thickness = thickness;
  paths.order.resize(model.num_variables());
  std::iota(paths.order.begin(), paths.order.end(), 0U);
  Matrix<float> points = WeightedFeatures(model);
  const std::size_t length = order == RoutedOrder::kLookAlikes ? 0 : RowLength(points);
  if (order == RoutedOrder::kRows || (order == RoutedOrder::kNatural && length > 0)) {
    for (std::size_t p = 0; length > 0 && p < paths.order.size(); ++p) {
      if (p / length % 2 == 1)
        paths.order[p] = static_cast<std::uint32_t>((2 * (p / length) + 1) * length - 1 - p);
    }
    return paths;
  }
  ShrinkingTree tree(std::move(points));
  std::uint32_t at = 0;
  for (std::size_t p = 0; p < paths.order.size(); ++p) {
    paths.order[p] = at;
    tree.Remove(at);
    if (p + 1 < paths.order.size()) at = tree.Nearest(at);
  }
  return paths;
}

void CutPaths(std::size_t pieces, RoutedPaths* paths) {
  const std::size_t n = paths->order.size();
  std::vector<std::uint32_t> begin = paths->begin;
  for (std::size_t k = 1; k < pieces; ++k)
    begin.push_back(static_cast<std::uint32_t>(k * n / pieces));
  std::sort(begin.begin(), begin.end());
  begin.erase(std::unique(begin.begin(), begin.end()), begin.end());
  paths->begin = std::move(begin);
}

int DefaultThickness(int num_labels) {
  int thickness = 1;
  const double labels = num_labels;
  double terms = labels * labels;
  while (thickness < kMaxThickness && terms * labels <= kMostTerms) {
    terms *= labels;
    ++thickness;
  }
  return thickness;
}

}  // namespace submarine::internal
