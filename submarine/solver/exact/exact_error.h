// Bounds on the errors of the tables of variable elimination.
//
// Every entry v of a table of -energies satisfies
//
//   |computed v - true v| <= fixed + relative |computed v|,
//
// with two numbers per table. They are enough, because entries far below the others, where energies
// are huge, have no weight: for m = T log sum_x exp(v_x / T) over n entries and p_x = exp((v_x - m)
// / T),
//
//   sum_x p_x |v_x| <= |m| + T H(p) <= |m| + T log n,
//
// so that a relative error in the v_x becomes the same relative error in m, plus T log n times it.
// And where terms t_k are added whose positive parts sum to at most b, sum |t_k| <= |sum t_k| + 2b:
// only terms that can cancel cost digits.
//
// Relative errors grow from table to table, and each table turns some of them into fixed ones. If a
// table has no entries far below the others, it is better to turn all of them into fixed errors at
// once.
//
// The roundings counted are those of bucket.h and column_kernels.h, with a margin.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace submarine::internal {

class TableError {
 public:
  double fixed() const { return fixed_; }

  // Adds a table that has errors itself (a message, whose entries are at most 0).
  void AddMessage(const TableError& message) {
    fixed_ += message.fixed_;
    relative_ = std::max(relative_, message.relative_);
    terms_ += 1.0;
  }
  // Adds an exact table whose largest entry is `largest`.
  void AddExact(double largest) {
    positive_ += std::max(0.0, largest);
    terms_ += 1.0;
  }
  // All tables have been added up, entry by entry, in any order; `times` is how often this rounding
  // counts.
  void Round(double times) {
    relative_ += times * terms_ * kEpsilon;
    exposure_ = 2.0 * positive_;
    fixed_ += relative_ * exposure_;
    positive_ = 0.0;
    terms_ = 0.0;
  }
  // Entries became T log sum exp(. / T) over `n` entries each; their maximum at T = 0.
  void LogSumExp(double temperature, std::size_t n) {
    if (temperature == 0.0) return;
    const auto count = static_cast<double>(n);
    // The bound above holds for the weights p as changed by the errors.
    const double relative = relative_ * (1.0 + 8.0 * relative_);
    fixed_ +=
        temperature * ((relative + 16.0 * kEpsilon) * std::log(count) + (count + 16.0) * kEpsilon);
    relative_ = relative + 2.0 * kEpsilon;
    exposure_ += temperature * std::log(count);
  }
  // `shift` was subtracted from every entry.
  void Shift(double shift) {
    exposure_ += std::abs(shift);
    fixed_ += relative_ * std::abs(shift);
    relative_ += 2.0 * kEpsilon;
  }
  // No entry exceeds `largest` in magnitude.
  void Fix(double largest) {
    constexpr double kTablesAhead = 8.0;  // number of later tables with the same exposure, assumed
    if (!(largest <= kTablesAhead * exposure_)) return;
    fixed_ += relative_ * largest;
    relative_ = 0.0;
  }
  // The inequalities above assume that errors are small compared with their entries.
  bool valid() const { return relative_ < 1e-3; }

 private:
  static constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  double fixed_ = 0.0;
  double relative_ = 0.0;
  double positive_ = 0.0;
  double terms_ = 0.0;
  double exposure_ = 0.0;  // what relative errors were multiplied by in the last table
};

}  // namespace submarine::internal
