#include "submarine/labels/cut_lp.h"

#include <algorithm>
#include <cmath>
#include <coin/ClpSimplex.hpp>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

namespace submarine::internal {
namespace {

constexpr double kTolerance = 1e-9;          // of the simplex method, primal and dual
constexpr double kLeastReducedValue = 1e-8;  // of a column worth adding
constexpr double kFloor = 2.0 / 3.0;         // d' below this fraction of d is penalised ...
constexpr double kFloorPenalty = 10.0;       // ... at this multiple of the pair's value
constexpr std::size_t kColumnsPerLabel = 4;  // added in one round
constexpr double kMostColumnsPerRow = 4.0;   // beyond this, columns are dropped ...
constexpr double kKeptColumnsPerRow = 2.0;   // ... down to this
constexpr double kLeastPivots = 1000, kMostPivots = 1e9;  // of one solve
constexpr int kPatience = 10;  // rounds without gain: after a degenerate one, the next may gain
constexpr int kPatienceWhenExact = 3;
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

}  // namespace

// Rows are the pairs i < j in lexicographic order; columns are first r(i,j) in that order, then the
// cuts.
class CutLp::Simplex {
 public:
  explicit Simplex(const Matrix<double>& pair) : labels_(static_cast<int>(pair.rows())) {
    model_.setLogLevel(0);
    model_.setOptimizationDirection(-1);
    model_.setPrimalTolerance(kTolerance);
    model_.setDualTolerance(kTolerance);
    model_.resize(labels_ * (labels_ - 1) / 2, 0);
    ForEachPair([&](int row, int i, int j) {
      const double one = 1.0;
      model_.addColumn(1, &row, &one, 0.0, COIN_DBL_MAX,
                       -kFloorPenalty * std::max(0.0, pair(i, j)));
    });
  }

  void AddColumn(CutMask cut, double value) {
    std::vector<int> rows;
    ForEachPair([&](int row, int i, int j) {
      if (((cut >> i) ^ (cut >> j)) & 1) rows.push_back(row);
    });
    const std::vector<double> ones(rows.size(), 1.0);
    model_.addColumn(static_cast<int>(rows.size()), rows.data(), ones.data(), 0.0, COIN_DBL_MAX,
                     value);
  }

  void SetDistances(const Matrix<double>& d) {
    ForEachPair([&](int row, int i, int j) {
      const double floor = d(i, j) > 0 ? kFloor * d(i, j) : -COIN_DBL_MAX;
      model_.setRowBounds(row, floor, d(i, j));
    });
  }

  // New distances leave the basis dual feasible, new columns leave it primal feasible. Returns the
  // work spent.
  double Optimise(bool dual_feasible, double max_work) {
    const double pivot_work = model_.numberRows() + model_.numberColumns();
    const double pivots = std::clamp(max_work / pivot_work, kLeastPivots, kMostPivots);
    model_.setMaximumIterations(static_cast<int>(pivots));
    if (dual_feasible) {
      model_.dual();
    } else {
      model_.primal();
    }
    return pivot_work * model_.numberIterations();
  }

  int num_rows() const { return model_.numberRows(); }
  double objective() const { return model_.objectiveValue(); }

  void SubtractPrices(Matrix<double>& pair) const {
    const double* price = model_.dualRowSolution();
    ForEachPair([&](int row, int i, int j) {
      pair(i, j) -= price[row];
      pair(j, i) = pair(i, j);
    });
  }

  // Whether d' = d; rows hold d' + r.
  bool Exact() const {
    const double* sum = model_.primalRowSolution();
    const double* upper = model_.rowUpper();
    const double* shortfall = model_.primalColumnSolution();
    for (int row = 0; row < model_.numberRows(); ++row) {
      if (sum[row] - shortfall[row] < upper[row] - kTolerance) return false;
    }
    return true;
  }

  // Per cut, how far the column is from entering the basis; 0 in the basis.
  std::vector<double> DistanceToBasis() const {
    std::vector<double> distance;
    const double* reduced = model_.dualColumnSolution();
    for (int c = model_.numberRows(); c < model_.numberColumns(); ++c) {
      distance.push_back(model_.getColumnStatus(c) == ClpSimplex::basic ? 0.0
                                                                        : std::abs(reduced[c]));
    }
    return distance;
  }

  void DropColumns(std::vector<int> cuts) {
    for (int& c : cuts) c += model_.numberRows();
    model_.deleteColumns(static_cast<int>(cuts.size()), cuts.data());
  }

  std::vector<double> Lengths() const {
    const double* x = model_.primalColumnSolution();
    std::vector<double> lengths(x + model_.numberRows(), x + model_.numberColumns());
    for (double& l : lengths) l = std::isfinite(l) ? std::max(0.0, l) : 0.0;
    return lengths;
  }

 private:
  template <class Body>
  void ForEachPair(const Body& body) const {
    int row = 0;
    for (int i = 0; i < labels_; ++i) {
      for (int j = i + 1; j < labels_; ++j) body(row++, i, j);
    }
  }

  int labels_;
  ClpSimplex model_;
};

std::vector<CutMask> NearerSides(const Matrix<double>& d) {
  std::vector<CutMask> sides;
  for (std::size_t i = 0; i < d.rows(); ++i) {
    for (std::size_t k = i + 1; k < d.rows(); ++k) {
      CutMask side = 0;
      for (std::size_t j = 0; j < d.rows(); ++j) {
        if (d(i, j) < d(k, j)) side |= CutMask{1} << j;
      }
      sides.push_back(side);
    }
  }
  return sides;
}

CutLp::CutLp(CutValue value)
    : value_(std::move(value)), simplex_(std::make_unique<Simplex>(value_.pair)) {}

CutLp::~CutLp() = default;

void CutLp::AddCut(CutMask cut) {
  cut = CanonicalCut(cut, value_.num_labels());
  if (cut == 0 || !known_.insert(cut).second) return;
  cuts_.push_back(cut);
  simplex_->AddColumn(cut, value_(cut));
}

bool CutLp::GenerateColumns(std::size_t max_cuts, const std::vector<CutMask>& starts) {
  const std::size_t before = cuts_.size();
  if (before >= max_cuts) return false;
  CutValue reduced = value_;
  simplex_->SubtractPrices(reduced.pair);
  const std::size_t wanted =
      std::min(max_cuts - before, kColumnsPerLabel * static_cast<std::size_t>(value_.num_labels()));
  for (CutMask cut : ValuableCuts(reduced, kLeastReducedValue, wanted, starts)) AddCut(cut);
  return cuts_.size() > before;
}

void CutLp::DropUselessColumns() {
  const auto rows = static_cast<double>(simplex_->num_rows());
  if (static_cast<double>(cuts_.size()) <= kMostColumnsPerRow * rows) return;
  const auto kept = static_cast<std::size_t>(kKeptColumnsPerRow * rows);
  const std::vector<double> distance = simplex_->DistanceToBasis();
  std::vector<int> order(cuts_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return distance[a] < distance[b]; });
  std::vector<int> dropped(order.begin() + static_cast<std::ptrdiff_t>(kept), order.end());
  std::sort(dropped.begin(), dropped.end());
  simplex_->DropColumns(dropped);
  for (std::size_t k = dropped.size(); k-- > 0;) {
    known_.erase(cuts_[dropped[k]]);
    cuts_.erase(cuts_.begin() + dropped[k]);
  }
}

void CutLp::Solve(const Matrix<double>& d, const Limits& limits) {
  const double work_limit = work_ + limits.max_work;
  const std::vector<CutMask> starts = NearerSides(d);
  simplex_->SetDistances(d);
  simplex_->Optimise(true, kUnlimited);
  std::vector<double> objective{simplex_->objective()};  // after each round
  for (int round = 1; round <= limits.max_rounds && work_ < work_limit; ++round) {
    if (limits.stop_when_exact && simplex_->Exact()) return;
    DropUselessColumns();
    if (!GenerateColumns(limits.max_cuts, starts)) return;
    work_ += simplex_->Optimise(false, work_limit - work_);
    objective.push_back(simplex_->objective());
    const int patience = simplex_->Exact() ? kPatienceWhenExact : kPatience;
    if (round < patience) continue;
    const double gain = objective[round] - objective[round - patience];
    if (gain < limits.least_gain * std::abs(objective[round])) return;
  }
}

std::vector<double> CutLp::lengths() const { return simplex_->Lengths(); }

}  // namespace submarine::internal
