// Soft levels: psi(v_a, v_b) as a sum over a few nodes, so that an ordered sum becomes a few plain
// filters.
//
// A column has nodes t_0 < ... < t_m that enclose its values. A value v in the cell [t_j, t_(j+1)]
// has the level s = j + (v - t_j) / (t_(j+1) - t_j), and is split between nodes j = floor(s) and
// j+1 in proportions 1 - frac(s), frac(s) =: p(j), p(j+1). Then
//   psi(v_a, v_b) = sum_{k,l} p_a(k) p_b(l) sign(k - l)
// is antisymmetric and in [-1, 1] whatever the nodes are; in one cell it is s_a - s_b.
#pragma once

#include <cstddef>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/filter/kernel/gaussian_operator.h"
#include "submarine/filter/lattice/lattice_stencil.h"

namespace submarine::internal {

// psi of two levels of the same column, by definition.
double PsiOfLevels(double s_a, double s_b);

enum class NodeRule {
  kUnitCells,  // clip: cells of width 1; wider ones for sparse values if nodes run out
  kQuantiles,  // sign: at quantiles of the values above the least; at all values if few
  kMixed,      // total variation: half of the nodes at quantiles, half equally spaced
};

// Ascending nodes, at least one, at most `levels`, the first equal to `least` and the last not
// below `largest`. `sample` is sorted.
std::vector<float> ChooseNodes(const std::vector<float>& sample, float least, float largest,
                               NodeRule rule, int levels);

// The levels of columns first..last-1 of a matrix.
class ColumnLevels {
 public:
  static ColumnLevels Soft(const Matrix<float>& v, NodeRule rule, int levels, std::size_t first,
                           std::size_t last);

  std::size_t columns() const { return columns_; }
  std::size_t cells() const { return cells_; }  // the most of any column; levels are in [0, cells]

  // Levels of one row; `v` points at the first of the columns. Returns whether any is positive.
  bool Row(const float* v, float* s) const;

  const std::vector<float>& nodes(std::size_t column) const { return nodes_[column]; }

 private:
  std::size_t columns_ = 0;
  std::size_t cells_ = 0;
  std::size_t padded_ = 0;
  std::vector<std::vector<float>> nodes_;
  std::vector<float> node_;   // cells x padded: lower end of each cell
  std::vector<float> slope_;  // one over its width; 0 in cells that a column does not have
};

struct ColumnRanges {
  std::vector<float> least;
  std::vector<float> largest;
};

ColumnRanges FindRanges(const Matrix<float>& v, std::size_t first, std::size_t last);

}  // namespace submarine::internal
