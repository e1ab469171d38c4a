// The linear program behind FitMetrics. Over lengths l_c >= 0 of cuts S_c of at most 64 labels,
//
//   maximise    sum_c l_c value(S_c) - 10 sum_{i<j} value.pair(i,j) r(i,j)
//   subject to  d'(i,j) <= d(i,j),   r(i,j) >= 2/3 d(i,j) - d'(i,j),   r >= 0,
//   where       d'(i,j) = sum_c l_c [S_c separates i, j].
//
// The penalty on r keeps a good total from being bought with a few pairs whose d' is far below d.
// There are 2^(L-1) - 1 cuts, so columns are generated: a cut is worth adding if its value is
// positive after the dual prices of the pairs are subtracted from value.pair.
#pragma once

#include <memory>
#include <unordered_set>
#include <vector>

#include "submarine/labels/cut_search.h"

namespace submarine::internal {

// For all i < k, the labels nearer to i than to k. On geometric metrics these are nearly all the
// cuts that matter, and a search from random sets is slow to find them.
std::vector<CutMask> NearerSides(const Matrix<double>& d);

class CutLp {
 public:
  explicit CutLp(CutValue value);  // starts without columns
  ~CutLp();

  // Adds the cut as a column, unless it is one already or separates nothing.
  void AddCut(CutMask cut);

  // Solves for distances d (symmetric, entries in [0, 1]) with the current columns, then generates
  // more while that pays and the limits allow. Columns and basis are kept for the next call, but
  // columns that d does not use are dropped when there are too many.
  struct Limits {
    int max_rounds = 0;
    std::size_t max_cuts = 0;
    double max_work = 0.0;         // of this call, see work()
    double least_gain = 0.0;       // relative gain of the objective over some rounds; stop below it
    bool stop_when_exact = false;  // stop at d' = d even if value.size leaves something to gain
  };
  void Solve(const Matrix<double>& d, const Limits& limits);

  // Simplex pivots spent on generated columns, times (rows + columns), over all calls: about a
  // microsecond each, but unlike time the same on every run.
  double work() const { return work_; }

  const CutValue& value() const { return value_; }
  const std::vector<CutMask>& cuts() const { return cuts_; }
  std::vector<double> lengths() const;  // of the last Solve, one per cut, >= 0

 private:
  class Simplex;
  bool GenerateColumns(std::size_t max_cuts, const std::vector<CutMask>& starts);
  void DropUselessColumns();

  CutValue value_;
  double work_ = 0.0;
  std::vector<CutMask> cuts_;
  std::unordered_set<CutMask> known_;
  std::unique_ptr<Simplex> simplex_;
};

}  // namespace submarine::internal
