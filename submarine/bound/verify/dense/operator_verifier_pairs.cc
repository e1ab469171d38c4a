#include "submarine/bound/verify/dense/operator_verifier_pairs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>

#include "submarine/base/parallel.h"
#include "submarine/bound/verify/dense/pairs/pair_tree.h"
#include "submarine/filter/lattice/lattice_levels.h"
#include "submarine/filter/lattice/lattice_reference.h"

namespace submarine::internal {
namespace {

using dense_verifier::ForLeaves;
using dense_verifier::KernelUlps;
using dense_verifier::kGrain;
using dense_verifier::kLeaf;
using dense_verifier::kUlp;

double LargestOf(const Matrix<double>& distance) {
  return *std::max_element(distance.data(), distance.data() + distance.size());
}

double SumOf(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum;
}

// cost_j = sum_i y_i d(i, first + j) for `count` labels.
void ExpectedCosts(std::span<const double> y, const Matrix<double>& distance, std::size_t first,
                   std::size_t count, double* __restrict cost) {
  std::fill_n(cost, count, 0.0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (y[i] == 0.0) continue;
    const double* d = distance.row(i).data() + first;
    for (std::size_t j = 0; j < count; ++j) cost[j] += y[i] * d[j];
  }
}

// sum over i != j of y_i y_j.
double ProductOfDifferent(std::span<const double> y) {
  double before = 0.0;
  double sum = 0.0;
  for (const double value : y) {
    sum += before * value;
    before += value;
  }
  return 2.0 * sum;
}

// The number of roundings of a sum of flows with `terms` terms per potential, after summing over
// cuts.
double FlowRoundings(const OperatorPairs::Flows& flows, double terms) {
  return 32.0 + 2.0 * (1.0 + terms) * static_cast<double>(flows.proof.size()) +
         4.0 * static_cast<double>(flows.active.size());
}

// A single comparison, then the sign: compilers vectorise loops without branches.
void AddFlow(FlowShape shape, const float* __restrict from, const float* __restrict to,
             double weight, std::size_t cuts, double* __restrict out) {
  if (shape == FlowShape::kClip) {
    for (std::size_t c = 0; c < cuts; ++c) {
      const double difference = static_cast<double>(from[c]) - static_cast<double>(to[c]);
      const double size = std::abs(difference);
      out[c] += weight * std::copysign(std::isless(size, 1.0) ? size : 1.0, difference);
    }
  } else {
    for (std::size_t c = 0; c < cuts; ++c) {
      const double difference = static_cast<double>(from[c]) - static_cast<double>(to[c]);
      const double size = std::abs(difference);
      out[c] += weight * std::copysign(std::isgreater(size, 0.0) ? 1.0 : 0.0, difference);
    }
  }
}

class ListedPairs final : public OperatorPairs {
 public:
  ListedPairs(const GaussianKernel& kernel, const PairFactors& factor, double cutoff)
      : tree_(kernel), factor_(factor) {
    if (cutoff == 0.0) return;
    // A pair that rounding could move across the cutoff carries no flow, but its cost is counted.
    const double limit = -2.0 * std::log(cutoff);
    const double ulps = static_cast<double>(tree_.dimension()) + 8.0;
    const double slack = ulps * std::numeric_limits<double>::epsilon() * (1.0 + limit) +
                         2.0 * tree_.feature_error() * (1.0 + limit);
    least_limit_ = limit - slack;
    largest_limit_ = limit + slack;
  }

  void AddFlows(const Flows& flows, const Progress& progress, FlowSums* sums) const override;
  SafeSum Expected(const Matrix<double>& y, const Matrix<double>& distance,
                   const Progress& progress) const override;
  SafeSum Variation(const Matrix<double>& z, std::span<const double> length, double ulps,
                    const Progress& progress) const override;

 private:
  // Partners of one variable in one leaf.
  struct Partners {
    std::size_t count = 0;
    std::size_t position[kLeaf];
    double weight[kLeaf];
    double sum = 0.0;       // of weights
    double far_ulps = 0.0;  // the error of `sum` from distances and features
  };
  // visit(p, partners) for every position p of the leaf and every leaf with partners of p. With
  // both_ends (for flows) every pair is visited from both ends, which see the same weight, and
  // pairs and weights are rounded down; otherwise it is visited from the smaller position, and they
  // are rounded up.
  template <class Visit>
  void ForPartners(std::size_t leaf, bool both_ends, const Visit& visit) const;
  bool Find(std::size_t p, std::size_t other, bool both_ends, Partners* partners) const;
  template <class Body>
  SafeSum SumLeaves(const Progress& progress, const Body& body) const;

  PairTree tree_;
  PairFactors factor_;
  // Squared distances: a pair is certainly listed up to the first, and certainly not beyond the
  // second.
  double least_limit_ = std::numeric_limits<double>::infinity();
  double largest_limit_ = std::numeric_limits<double>::infinity();
};

bool ListedPairs::Find(std::size_t p, std::size_t other, bool both_ends, Partners* partners) const {
  const PairTree::Node& to = tree_.node(other);
  double point[kMaxFeatureDimension];
  double squared[kLeaf];
  tree_.Point(p, point);
  tree_.SquaredDistances(point, to.begin / kLeaf, squared);
  *partners = {};
  const double factor = both_ends ? factor_.least : factor_.largest;
  const double limit = both_ends ? least_limit_ : largest_limit_;
  double far_weight = 0.0;
  for (std::size_t j = 0; j < to.size(); ++j) {
    const std::size_t q = to.begin + j;
    if (!(squared[j] <= limit) || q == p || (q < p && !both_ends)) continue;
    const double weight =
        factor * ((tree_.scale(p) * tree_.scale(q)) * std::exp(-0.5 * squared[j]));
    partners->position[partners->count] = q;
    partners->weight[partners->count++] = weight;
    partners->sum += weight;
    far_weight += weight * squared[j];
  }
  partners->far_ulps = KernelUlps(tree_, partners->sum, far_weight);
  return partners->count > 0;
}

template <class Visit>
void ListedPairs::ForPartners(std::size_t leaf, bool both_ends, const Visit& visit) const {
  const std::size_t self = tree_.leaf_node(leaf);
  const PairTree::Node& node = tree_.node(self);
  // Rounding must not hide a pair from only one of its ends.
  const double box_limit = largest_limit_ + 1e-12 * (1.0 + std::abs(largest_limit_));
  Partners partners;
  tree_.Walk([&](std::size_t other) {
    if (!both_ends && tree_.node(other).end <= node.begin) return false;
    if (tree_.SquaredDistance(self, other).least > box_limit) return false;
    if (tree_.node(other).is_leaf()) {
      for (std::size_t p = node.begin; p < node.end; ++p) {
        if (Find(p, other, both_ends, &partners)) visit(p, partners);
      }
    }
    return true;
  });
}

template <class Body>
SafeSum ListedPairs::SumLeaves(const Progress& progress, const Body& body) const {
  std::vector<SafeSum> part(tree_.num_leaves());
  ForLeaves(tree_, progress, [&](std::size_t leaf) { body(leaf, &part[leaf]); });
  SafeSum sum;
  for (const SafeSum& p : part) sum.Add(p);
  return sum;
}

void ListedPairs::AddFlows(const Flows& flows, const Progress& progress, FlowSums* sums) const {
  std::vector<Matrix<float>> potentials;  // in the order of the tree
  for (const FlowTerm& term : flows.proof) {
    Matrix<float>& v = potentials.emplace_back(tree_.size(), flows.active.size());
    for (std::size_t p = 0; p < tree_.size(); ++p) {
      for (std::size_t c = 0; c < v.cols(); ++c) {
        v(p, c) = term.v(tree_.variable(p), flows.active[c]);
      }
    }
  }
  ForLeaves(tree_, progress, [&](std::size_t leaf) {
    const PairTree::Node& node = tree_.node(tree_.leaf_node(leaf));
    Matrix<double> sum(node.size(), flows.active.size(), 0.0);
    double degree[kLeaf] = {};
    double far_ulps[kLeaf] = {};
    double count[kLeaf] = {};
    ForPartners(leaf, true, [&](std::size_t p, const Partners& partners) {
      const std::size_t i = p - node.begin;
      degree[i] += partners.sum;
      far_ulps[i] += partners.far_ulps;
      count[i] += static_cast<double>(partners.count);
      for (std::size_t t = 0; t < potentials.size(); ++t) {
        const Matrix<float>& v = potentials[t];
        for (std::size_t k = 0; k < partners.count; ++k) {
          AddFlow(flows.proof[t].shape, v.row(p).data(), v.row(partners.position[k]).data(),
                  flows.share[t] * partners.weight[k], v.cols(), sum.row(i).data());
        }
      }
    });
    for (std::size_t i = 0; i < node.size(); ++i) {
      const std::size_t a = tree_.variable(node.begin + i);
      for (std::size_t c = 0; c < sum.cols(); ++c) sums->sum(a, c) += sum(i, c);
      sums->ulps[a] += far_ulps[i] + degree[i] * FlowRoundings(flows, count[i]);
    }
  });
}

SafeSum ListedPairs::Expected(const Matrix<double>& y, const Matrix<double>& distance,
                              const Progress& progress) const {
  const double largest = LargestOf(distance);
  const double roundings = 4.0 * static_cast<double>(y.cols() + kLeaf);
  return SumLeaves(progress, [&](std::size_t leaf, SafeSum* sum) {
    const PairTree::Node& node = tree_.node(tree_.leaf_node(leaf));
    Matrix<double> cost(node.size(), y.cols());
    std::vector<double> near(y.cols());
    for (std::size_t i = 0; i < node.size(); ++i) {
      ExpectedCosts(y.row(tree_.variable(node.begin + i)), distance, 0, y.cols(),
                    cost.row(i).data());
    }
    ForPartners(leaf, false, [&](std::size_t p, const Partners& partners) {
      std::fill(near.begin(), near.end(), 0.0);
      for (std::size_t k = 0; k < partners.count; ++k) {
        const double* other = y.row(tree_.variable(partners.position[k])).data();
        for (std::size_t j = 0; j < near.size(); ++j) near[j] += partners.weight[k] * other[j];
      }
      double value = 0.0;
      for (std::size_t j = 0; j < near.size(); ++j) value += cost(p - node.begin, j) * near[j];
      sum->Add(value, 0.0, roundings);
      sum->Widen(partners.far_ulps * largest);
    });
  });
}

SafeSum ListedPairs::Variation(const Matrix<double>& z, std::span<const double> length, double ulps,
                               const Progress& progress) const {
  const double all_lengths = SumOf(length);
  const double roundings = 4.0 * static_cast<double>(z.cols() + kLeaf);
  return SumLeaves(progress, [&](std::size_t leaf, SafeSum* sum) {
    std::vector<double> apart(z.cols());
    ForPartners(leaf, false, [&](std::size_t p, const Partners& partners) {
      const double* from = z.row(tree_.variable(p)).data();
      std::fill(apart.begin(), apart.end(), 0.0);
      for (std::size_t k = 0; k < partners.count; ++k) {
        const double* to = z.row(tree_.variable(partners.position[k])).data();
        for (std::size_t c = 0; c < apart.size(); ++c) {
          apart[c] += partners.weight[k] * std::abs(from[c] - to[c]);
        }
      }
      double value = 0.0;
      for (std::size_t c = 0; c < apart.size(); ++c) value += length[c] * apart[c];
      sum->Add(value, 0.0, roundings);
      sum->Widen(all_lengths * (partners.far_ulps + 2.0 * ulps * partners.sum));
    });
  });
}

class LatticePairs final : public OperatorPairs {
 public:
  LatticePairs(const GaussianKernel& kernel, const PairFactors& factor,
               const LatticeOptions& options)
      : options_(options),
        factor_(factor),
        lattice_(kernel, options),
        row_sums_(lattice_.Product(std::vector<double>(kernel.size(), 1.0))) {}

  void AddFlows(const Flows& flows, const Progress& progress, FlowSums* sums) const override;
  SafeSum Expected(const Matrix<double>& y, const Matrix<double>& distance,
                   const Progress& progress) const override;
  SafeSum Variation(const Matrix<double>& z, std::span<const double> length, double ulps,
                    const Progress& progress) const override;
  std::optional<SemidefinitePairs> Semidefinite() const override;

 private:
  const std::vector<double>& Diagonal() const {
    std::call_once(diagonal_once_, [&] { diagonal_ = lattice_.Diagonal(); });
    return diagonal_;
  }
  SafeSum ExpectedUniform(const Matrix<double>& y, double d, const std::vector<double>& self,
                          const Progress& progress) const;
  SafeSum ExpectedAny(const Matrix<double>& y, const Matrix<double>& distance,
                      const std::vector<double>& self, const Progress& progress) const;
  // The number of roundings of a sum over all variables of results of a product.
  double Roundings() const {
    const std::size_t blocks = lattice_.size() / kGrain;
    return lattice_.roundings() + lattice_.diagonal_roundings() +
           static_cast<double>(2 * kGrain * LatticeReference::kBlock + blocks);
  }

  LatticeOptions options_;
  PairFactors factor_;
  LatticeReference lattice_;
  std::vector<double> row_sums_;
  mutable std::once_flag diagonal_once_;
  mutable std::vector<double> diagonal_;
};

// The level nodes of all columns are part of the proof: any choice of them gives a flow.
class ProofLevels {
 public:
  ProofLevels(const FlowTerm& term, const LatticeOptions& options)
      : v_(term.v),
        soft_(ColumnLevels::Soft(
            v_, term.shape == FlowShape::kClip ? NodeRule::kUnitCells : NodeRule::kQuantiles,
            options.levels, 0, v_.cols())) {}

  std::size_t cells(std::size_t column) const { return soft_.nodes(column).size() - 1; }

  std::vector<double> Levels(std::size_t column) const {
    const std::vector<float>& nodes = soft_.nodes(column);
    std::vector<double> level(v_.rows(), 0.0);
    for (std::size_t a = 0; a < level.size() && nodes.size() > 1; ++a) {
      const float v = v_(a, column);
      const auto above = std::upper_bound(nodes.begin() + 1, nodes.end() - 1, v);
      const double low = *(above - 1);
      const double share = (v - low) / (static_cast<double>(*above) - low);
      level[a] = static_cast<double>(above - 1 - nodes.begin()) + std::clamp(share, 0.0, 1.0);
    }
    return level;
  }

 private:
  const Matrix<float>& v_;
  ColumnLevels soft_;
};

void LatticePairs::AddFlows(const Flows& flows, const Progress& progress, FlowSums* sums) const {
  const std::size_t columns = flows.active.size();
  for (std::size_t t = 0; t < flows.proof.size() && columns > 0; ++t) {
    const ProofLevels levels(flows.proof[t], options_);
    for (std::size_t c = 0; c < columns; ++c) {
      progress.Report(static_cast<double>(t * columns + c) /
                      static_cast<double>(flows.proof.size() * columns));
      const std::size_t column = flows.active[c];
      if (levels.cells(column) == 0) continue;  // a constant potential has no flow
      const std::vector<double> flow = lattice_.Flow(levels.Levels(column), levels.cells(column));
      const double factor = factor_.least * flows.share[t];
      for (std::size_t a = 0; a < flow.size(); ++a) sums->sum(a, c) += factor * flow[a];
    }
  }
  // A flow is the total T minus three products with shares that add up to 2, each at most T.
  const double roundings = 3.0 * lattice_.roundings() + FlowRoundings(flows, 16.0);
  for (std::size_t a = 0; a < row_sums_.size(); ++a) {
    sums->ulps[a] += factor_.least * row_sums_[a] * roundings;
  }
}

// K itself is positive semidefinite (filter/lattice/lattice_stencil.h).
std::optional<SemidefinitePairs> LatticePairs::Semidefinite() const {
  SemidefinitePairs pairs;
  pairs.product = [this](const Matrix<double>& x) {
    Matrix<double> product = lattice_.Product(x);
    for (std::size_t k = 0; k < product.size(); ++k) product.data()[k] *= factor_.largest;
    return product;
  };
  pairs.error =
      1.01 * kUlp * (lattice_.roundings() + 8.0) + (1.0 - factor_.least / factor_.largest);
  const double more = factor_.largest * (1.0 + 1.01 * kUlp * (lattice_.diagonal_roundings() + 8.0));
  for (const double k : Diagonal()) pairs.self.push_back(more * k);
  for (const double sum : row_sums_) pairs.row_sums.push_back(factor_.largest * sum);
  return pairs;
}

// Rows whose label has a probability below 0.99999. The self terms of the others are negligible;
// leaving them in only raises the cost.
std::vector<char> UncertainRows(const Matrix<double>& y) {
  constexpr double kCertain = 0.99999;
  std::vector<char> uncertain(y.rows());
  ParallelFor(y.rows(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      const auto row = y.row(a);
      uncertain[a] = *std::max_element(row.begin(), row.end()) < kCertain ? 1 : 0;
    }
  });
  return uncertain;
}

// Half of sum_j <(y d)_j, K y_j>, without self terms.
SafeSum LatticePairs::Expected(const Matrix<double>& y, const Matrix<double>& distance,
                               const Progress& progress) const {
  const std::vector<double> self = lattice_.Diagonal(UncertainRows(y));
  const std::optional<double> uniform = UniformDistance(distance);
  return uniform ? ExpectedUniform(y, *uniform, self, progress)
                 : ExpectedAny(y, distance, self, progress);
}

// For a distance d of all different labels it is d/2 times <s, K s> - sum_j <y_j, K y_j>, s the sum
// of the y_j.
SafeSum LatticePairs::ExpectedUniform(const Matrix<double>& y, double d,
                                      const std::vector<double>& self,
                                      const Progress& progress) const {
  const double half = 0.5 * factor_.largest * d;
  const double labels = static_cast<double>(y.cols());
  const double roundings = lattice_.roundings() + 2.0 * labels + 8.0;
  const LatticeReference::VertexProducts products = lattice_.SelfProducts(
      y, [&](std::size_t first) { progress.Report(static_cast<double>(first) / labels); });
  SafeSum sum;
  for (std::size_t v = 0; v < products.of_sum.size(); ++v) {
    sum.Add(half * products.of_sum[v], 0.0, roundings);
    sum.Add(-half * products.of_columns[v], 0.0, roundings);
  }
  const double self_roundings = lattice_.diagonal_roundings() + 4.0 * labels + 8.0;
  for (std::size_t a = 0; a < y.rows(); ++a) {
    if (self[a] > 0.0) sum.Add(-half * self[a] * ProductOfDifferent(y.row(a)), 0.0, self_roundings);
  }
  return sum;
}

SafeSum LatticePairs::ExpectedAny(const Matrix<double>& y, const Matrix<double>& distance,
                                  const std::vector<double>& self, const Progress& progress) const {
  const std::size_t n = y.rows();
  const std::size_t labels = y.cols();
  const double roundings = Roundings() + 4.0 * static_cast<double>(labels);
  std::vector<SafeSum> partial((n + kGrain - 1) / kGrain);
  for (std::size_t first = 0; first < labels; first += LatticeReference::kBlock) {
    progress.Report(static_cast<double>(first) / static_cast<double>(labels));
    const std::size_t columns = std::min(LatticeReference::kBlock, labels - first);
    Matrix<double> block(n, columns);
    ParallelFor(n, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t a = begin; a < end; ++a)
        std::copy_n(y.row(a).data() + first, columns, block.row(a).data());
    });
    const Matrix<double> near = lattice_.Product(block);
    ParallelFor(n, kGrain, [&](std::size_t begin, std::size_t end) {
      std::vector<double> costs(labels);
      double* cost = costs.data() + first;
      for (std::size_t a = begin; a < end; ++a) {
        ExpectedCosts(y.row(a), distance, first, columns, cost);
        double with_self = 0.0;
        double of_self = 0.0;
        for (std::size_t i = 0; i < columns; ++i) {
          with_self += cost[i] * near(a, i);
          of_self += cost[i] * block(a, i);
        }
        const double half = 0.5 * factor_.largest;
        partial[begin / kGrain].Add(half * with_self, 0.0, roundings);
        partial[begin / kGrain].Add(-half * self[a] * of_self, 0.0, roundings);
      }
    });
  }
  SafeSum sum;
  for (const SafeSum& part : partial) sum.Add(part);
  return sum;
}

SafeSum LatticePairs::Variation(const Matrix<double>& z, std::span<const double> length,
                                double ulps, const Progress& progress) const {
  const std::size_t n = z.rows();
  const double roundings = Roundings();
  const double weight = factor_.largest * SumOf(row_sums_);
  Matrix<float> column(n, 1);
  std::vector<double> x(n);
  SafeSum sum;
  for (std::size_t c = 0; c < z.cols(); ++c) {
    progress.Report(static_cast<double>(c) / static_cast<double>(z.cols()));
    for (std::size_t a = 0; a < n; ++a) {
      x[a] = z(a, c);
      column(a, 0) = static_cast<float>(x[a]);
    }
    const ColumnLevels levels = ColumnLevels::Soft(column, NodeRule::kMixed, options_.levels, 0, 1);
    std::vector<double> nodes(levels.nodes(0).begin(), levels.nodes(0).end());
    // The nodes were chosen for values in single precision: move the outer ones out if necessary.
    const auto [least, largest] = std::minmax_element(x.begin(), x.end());
    if (*least == *largest) continue;
    if (nodes.size() == 1) nodes.push_back(nodes.front());
    nodes.front() = std::min(nodes.front(), *least);
    nodes.back() = std::max(nodes.back(), *largest);
    const LatticeReference::Variation variation = lattice_.TotalVariation(x, nodes, Diagonal());
    sum.Add(length[c] * factor_.largest * variation.pairs, 0.0, roundings);
    sum.Add(-length[c] * factor_.largest * variation.self, 0.0, roundings);
    // 1 - P is off by a few ulps of 1, and the values by `ulps`.
    sum.Widen(length[c] * weight * (8.0 + 2.0 * ulps) * (nodes.back() - nodes.front()));
  }
  return sum;
}

}  // namespace

std::optional<double> UniformDistance(const Matrix<double>& distance) {
  const double d = distance.cols() > 1 ? distance(0, 1) : 0.0;
  for (std::size_t i = 0; i < distance.rows(); ++i) {
    for (std::size_t j = 0; j < distance.cols(); ++j) {
      if (distance(i, j) != (i == j ? 0.0 : d)) return std::nullopt;
    }
  }
  return d;
}

std::unique_ptr<OperatorPairs> MakeListedPairs(const GaussianKernel& kernel,
                                               const PairFactors& factor, double cutoff) {
  return std::make_unique<ListedPairs>(kernel, factor, cutoff);
}

std::unique_ptr<OperatorPairs> MakeLatticePairs(const GaussianKernel& kernel,
                                                const PairFactors& factor,
                                                const LatticeOptions& options) {
  return std::make_unique<LatticePairs>(kernel, factor, options);
}

}  // namespace submarine::internal
