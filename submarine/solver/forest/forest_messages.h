// Sum-product messages across one edge: out_j = sum_i exp(-scale E(i,j)) q_i. Label metrics have
// fast forms,
//
//   Potts             O(L): one sum and one multiple of q
//   tree metric       O(nodes): up u_v = sum over children of exp(-c l) u_child, then down
//   linear            O(L): one geometric recursion from each side
//   truncated linear  O(L): the same within a window, by sliding sums
//
// and everything else is a table, O(L^2). Differences in the sliding and downward sums lose no
// accuracy: what cancels is at most what the kernel adds to the same entry anyway.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/labels/label_cuts.h"

namespace submarine::internal {

// The structure of a label metric that messages can exploit, found from its distances.
struct MetricShape {
  enum class Kind { kPotts, kTree, kLinear, kTruncated, kTable };
  Kind kind = Kind::kTable;
  Matrix<double> distance;
  double diameter = 0.0;  // largest distance
  double unit = 1.0;      // d of neighbouring labels (Potts, linear, truncated)
  int truncation = 0;     // kTruncated: d = unit min(|i-j|, truncation)
  // kTree: nodes 0..L-1 are the leaves, children before parents, the root last.
  std::vector<int> parent;
  std::vector<double> length;  // of the edge to the parent
};

MetricShape ShapeOf(const LabelCuts& cuts, const LabelMetric& metric);

// exp(-scale E(i,j)), divided by exp(log_scale()); i belongs to the edge's first variable, j to its
// second.
class PairKernel {
 public:
  static PairKernel Metric(std::shared_ptr<const MetricShape> shape, double scale);
  // `energy` finite, rows x columns.
  static PairKernel Table(const Matrix<double>& energy, double scale);

  std::size_t labels_from(bool forward) const { return forward ? rows_ : columns_; }
  std::size_t labels_to(bool forward) const { return forward ? columns_ : rows_; }

  // The largest entry of the kernel is scaled to 1; this is its logarithm before.
  double log_scale() const { return log_scale_; }
  // -log of its smallest entry.
  double range() const { return range_; }
  bool is_potts() const { return shape_ != nullptr && shape_->kind == MetricShape::Kind::kPotts; }
  double stay() const { return stay_; }    // Potts: 1 - exp(-c)
  double leave() const { return leave_; }  // Potts: exp(-c)

  // out_j = sum_i K_ij q_i; backward: out_i = sum_j K_ij q_j. Needs range() <= kLargestRange and q
  // >= 0. `out` must not be `q`.
  static constexpr double kLargestRange = 600.0;
  void Apply(bool forward, const double* q, double* out) const;

  // out_j = log sum_i K_ij exp(q_i) for any range and any finite q.
  void ApplyLog(bool forward, const double* q, double* out) const;

  double LogEntry(std::size_t i, std::size_t j) const;

 private:
  void ApplyTree(const double* q, double* out) const;
  void ApplyLinear(const double* q, double* out) const;
  void ApplyTruncated(const double* q, double* out) const;
  void ApplyTable(bool forward, const double* q, double* out) const;
  void ApplyLogPotts(const double* q, double* out) const;

  std::shared_ptr<const MetricShape> shape_;  // null for tables
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  double scale_ = 0.0;
  double log_scale_ = 0.0;
  double range_ = 0.0;
  double stay_ = 0.0;
  double leave_ = 0.0;
  std::shared_ptr<const std::vector<double>> decay_;  // kTree: exp(-scale length) of every node
  std::shared_ptr<const Matrix<double>> log_table_;   // tables: -scale (E - min E)
  std::shared_ptr<const Matrix<double>> table_;       // its exponential, and
  std::shared_ptr<const Matrix<double>> transposed_;  // the same with rows and columns exchanged
};

}  // namespace submarine::internal
