#include "submarine/solver/routed/path_order.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "submarine/base/parallel.h"
#include "submarine/model/forest.h"
#include "submarine/solver/routed/deletion_tree.h"

namespace submarine::internal {
namespace {

constexpr double kMostTerms = 27.0;

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

// The length of the rows of a picture: some feature, the column of a pixel, grows along every row and
// is the same in all of them. 0 if there are none.
std::size_t RowLength(const DenseCrf& model) {
  const std::size_t n = model.num_variables();
  for (const GaussianKernel& kernel : model.kernels()) {
    const Matrix<double>& f = kernel.features;
    for (std::size_t d = 0; d < f.cols(); ++d) {
      std::size_t length = 1;
      while (length < n && f(length, d) > f(length - 1, d)) ++length;
      if (length < 2 || length == n || n % length != 0) continue;
      std::size_t a = length;
      while (a < n && f(a, d) == f(a - length, d)) ++a;
      if (a == n) return length;
    }
  }
  return 0;
}

// Kruskal's algorithm on the nearest neighbours of every point, with at most two edges at any: paths,
// which are then joined from end to nearest end.
class SpanningPaths {
 public:
  explicit SpanningPaths(const Matrix<float>& points)
      : points_(points), joined_(points.rows(), {kNone, kNone}) {
    Join();
  }

  std::vector<std::uint32_t> Order() const {
    // Both ends of every path, next to each other; a single point is both ends of its own.
    std::vector<std::uint32_t> ends;
    std::vector<char> seen(joined_.size(), 0);
    for (std::uint32_t a = 0; a < joined_.size(); ++a) {
      if (seen[a] != 0 || joined_[a].second != kNone) continue;
      ends.push_back(a);
      ends.push_back(Walk(a, [&](std::uint32_t b) { seen[b] = 1; }));
    }
    Matrix<float> of_ends(ends.size(), points_.cols());
    for (std::size_t k = 0; k < ends.size(); ++k) {
      const auto row = points_.row(ends[k]);
      std::copy(row.begin(), row.end(), of_ends.row(k).begin());
    }
    std::vector<std::uint32_t> order;
    order.reserve(joined_.size());
    DeletionTree tree(std::move(of_ends));
    for (std::uint32_t k = 0; order.size() < joined_.size();) {
      Walk(ends[k], [&](std::uint32_t b) { order.push_back(b); });
      tree.Remove(k);
      tree.Remove(k ^ 1U);
      if (order.size() < joined_.size()) k = tree.Nearest(k ^ 1U);
    }
    return order;
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t kCandidates = 8;  // of every point
  struct Edge {
    float squared;
    std::uint32_t a;
    std::uint32_t b;
    bool operator<(const Edge& other) const {
      return std::tie(squared, a, b) < std::tie(other.squared, other.a, other.b);
    }
  };

  void Join() {
    const DeletionTree tree(points_);
    std::vector<std::vector<Edge>> found((joined_.size() + kRowGrain - 1) / kRowGrain);
    ParallelFor(joined_.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        const auto a = static_cast<std::uint32_t>(k);
        for (const auto& [squared, b] : tree.Nearest(a, kCandidates))
          found[begin / kRowGrain].push_back({squared, std::min(a, b), std::max(a, b)});
      }
    });
    std::vector<Edge> edges;
    for (const std::vector<Edge>& part : found) edges.insert(edges.end(), part.begin(), part.end());
    std::sort(edges.begin(), edges.end());
    DisjointSets sets(joined_.size());
    for (const Edge& edge : edges) {
      if (joined_[edge.a].second != kNone || joined_[edge.b].second != kNone) continue;
      if (!sets.Join(edge.a, edge.b)) continue;
      Attach(edge.a, edge.b);
      Attach(edge.b, edge.a);
    }
  }

  void Attach(std::uint32_t a, std::uint32_t b) {
    (joined_[a].first == kNone ? joined_[a].first : joined_[a].second) = b;
  }

  // Visits a path from one end to the other, which it returns.
  template <class Visit>
  std::uint32_t Walk(std::uint32_t end, const Visit& visit) const {
    std::uint32_t before = kNone;
    std::uint32_t at = end;
    for (;;) {
      visit(at);
      const auto& [first, second] = joined_[at];
      const std::uint32_t next = first != before ? first : second;
      if (next == kNone) return at;
      before = std::exchange(at, next);
    }
  }

  const Matrix<float>& points_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> joined_;  // neighbours on the path
};

// Which features decide what belongs to a block: those of wide kernels, whose squares are products if blocks are small
// beside them; of narrow ones a little.
Matrix<float> BlockFeatures(const DenseCrf& model) {
  constexpr std::size_t kSamples = 64;
  constexpr double kNarrow = 8.0 * kRoutingBlock;  // neighbours
  constexpr double kOfNarrow = 0.1;
  const std::size_t n = model.num_variables();
  std::vector<double> factor;
  std::size_t dim = 0;
  for (const GaussianKernel& kernel : model.kernels()) {
    const std::size_t samples = std::min(kSamples, n);
    const double neighbours = ParallelSum(samples, 1, [&](std::size_t k, std::size_t) {
      double sum = 0.0;
      for (std::size_t b = 0; b < n; ++b)
        sum += std::exp(-0.5 * SquaredDistance(kernel, k * n / samples, b));
      return sum / static_cast<double>(samples);
    });
    factor.push_back(kernel.weight == 0.0 ? 0.0 : neighbours < kNarrow ? kOfNarrow : 1.0);
    dim += kernel.dimension();
  }
  Matrix<float> points(n, std::max<std::size_t>(dim, 1));
  std::size_t first = 0;
  for (std::size_t m = 0; m < factor.size(); ++m) {
    const GaussianKernel& kernel = model.kernels()[m];
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t d = 0; d < kernel.dimension(); ++d)
        points(a, first + d) = static_cast<float>(factor[m] * kernel.features(a, d));
    }
    first += kernel.dimension();
  }
  return points;
}

// Halves at the median of the coordinate that varies most, until blocks are left; the path enters the nearer half first
// and goes to the nearest variable within a block.
class BlockPath {
 public:
  BlockPath(const Matrix<float>& of_blocks, const Matrix<float>& of_path)
      : of_blocks_(of_blocks), of_path_(of_path), order_(of_blocks.rows()) {
    std::iota(order_.begin(), order_.end(), 0U);
  }

  std::vector<std::uint32_t> Order() && {
    Visit(0, order_.size());
    return std::move(path_);
  }

 private:
  void Visit(std::size_t begin, std::size_t end) {
    if (end - begin <= kRoutingBlock) return Walk(begin, end);
    const std::size_t d = WidestOf(begin, end);
    const std::size_t blocks = (end - begin + kRoutingBlock - 1) / kRoutingBlock;
    // Whole blocks come first: only the last one of all may be short.
    const std::size_t half = blocks / 2 * kRoutingBlock;
    const auto less = [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(of_blocks_(a, d), a) < std::pair(of_blocks_(b, d), b);
    };
    const auto more = [&](std::uint32_t a, std::uint32_t b) { return less(b, a); };
    const auto first = order_.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto middle = first + static_cast<std::ptrdiff_t>(half);
    const auto last = order_.begin() + static_cast<std::ptrdiff_t>(end);
    // The half that the path is nearer to comes first.
    std::nth_element(first, middle, last, less);
    const bool from_above = !path_.empty() && of_blocks_(path_.back(), d) > of_blocks_(*middle, d);
    if (from_above) std::nth_element(first, middle, last, more);
    Visit(begin, begin + half);
    Visit(begin + half, end);
  }

  std::size_t WidestOf(std::size_t begin, std::size_t end) const {
    constexpr std::size_t kEnough = 4096;
    const std::size_t step = std::max<std::size_t>(1, (end - begin) / kEnough);
    std::size_t widest = 0;
    double most = -1.0;
    for (std::size_t d = 0; d < of_blocks_.cols(); ++d) {
      double sum = 0.0;
      double squares = 0.0;
      double count = 0.0;
      const double origin = of_blocks_(order_[begin], d);
      for (std::size_t k = begin; k < end; k += step) {
        const double x = of_blocks_(order_[k], d) - origin;
        sum += x;
        squares += x * x;
        count += 1.0;
      }
      const double variance = squares - sum * sum / count;
      if (variance > most) {
        most = variance;
        widest = d;
      }
    }
    return widest;
  }

  void Walk(std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      if (!path_.empty()) {
        std::size_t nearest = k;
        float least = std::numeric_limits<float>::infinity();
        for (std::size_t n = k; n < end; ++n) {
          const float squared = Squared(path_.back(), order_[n]);
          if (squared < least) {
            least = squared;
            nearest = n;
          }
        }
        std::swap(order_[k], order_[nearest]);
      }
      path_.push_back(order_[k]);
    }
  }

  float Squared(std::uint32_t a, std::uint32_t b) const {
    float squared = 0.0F;
    for (std::size_t d = 0; d < of_path_.cols(); ++d) {
      const float apart = of_path_(a, d) - of_path_(b, d);
      squared += apart * apart;
    }
    return squared;
  }

  const Matrix<float>& of_blocks_;
  const Matrix<float>& of_path_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> path_;
};

// Pictures row by row, in alternating direction.
std::vector<std::uint32_t> SnakeOrder(std::size_t size, std::size_t length) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0U);
  if (length == 0) return order;
  for (std::size_t begin = length; begin < size; begin += 2 * length)
    std::reverse(order.begin() + static_cast<std::ptrdiff_t>(begin),
                 order.begin() + static_cast<std::ptrdiff_t>(begin + length));
  return order;
}

}  // namespace

std::string_view ToString(VariableOrder order) {
  switch (order) {
    case VariableOrder::kSpanning:
      return "a spanning forest";
    case VariableOrder::kBlocks:
      return "blocks of near variables";
    case VariableOrder::kRows:
      return "rows";
  }
  return "unknown";
}

bool HasRows(const DenseCrf& model) { return RowLength(model) > 0; }

RoutedPaths MakePath(const DenseCrf& model, VariableOrder order, int bandwidth) {
  RoutedPaths paths;
  paths.begin = {0};
  paths.bandwidth = bandwidth;
  if (order == VariableOrder::kRows) {
    paths.order = SnakeOrder(model.num_variables(), RowLength(model));
  } else {
    const Matrix<float> points = WeightedFeatures(model);
    paths.order = order == VariableOrder::kBlocks ? BlockPath(BlockFeatures(model), points).Order()
                                                  : SpanningPaths(points).Order();
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

void CutLongPaths(std::size_t least, RoutedPaths* paths) {
  constexpr std::size_t kMostPieces = 16;
  CutPaths(std::clamp<std::size_t>(paths->order.size() / least, 1, kMostPieces), paths);
}

int DefaultBandwidth(int num_labels) {
  int bandwidth = 1;
  const double labels = num_labels;
  double terms = labels * labels;
  while (bandwidth < kMaxBandwidth && terms * labels <= kMostTerms) {
    terms *= labels;
    ++bandwidth;
  }
  return bandwidth;
}

}  // namespace submarine::internal
