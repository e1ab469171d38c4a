// How wrong a table of elimination may be.
//
// Every entry v of a table of -energies is kept to
//
//   |computed v - true v| <= fixed + relative |computed v|,
//
// two numbers per table. They are enough, because entries that are far below the others, where
// energies are huge, weigh nothing: for m = T log sum_x exp(v_x / T) over n entries and
// p_x = exp((v_x - m) / T),
//
//   sum_x p_x |v_x| <= |m| + T H(p) <= |m| + T log n,
//
// so that an error of `relative` in the v_x is one of `relative` in m and T log n times it beside
// that. And where terms t_k are added up of which at most b is positive, sum |t_k| <= |sum t_k| + 2b:
// only what can cancel costs digits.
//
// Relative errors grow from table to table, each of which turns some of them into fixed ones; where a
// table has no entries far below the others, all are better fixed at once.
//
// The roundings counted are those of bucket.h and column_kernels.h, with room to spare.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace submarine::internal {

class TableError {
 public:
  double fixed() const { return fixed_; }

  // Adds a table with errors of its own (a message, which is at most 0 everywhere).
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
  // All tables have been added up, entry by entry, in any order; `times` bounds how often the
  // rounding of that counts.
  void Round(double times) {
    relative_ += times * terms_ * kEpsilon;
    exposure_ = 2.0 * positive_;
    fixed_ += relative_ * exposure_;
    positive_ = 0.0;
    terms_ = 0.0;
  }
  // Entries became T log sum exp(. / T) over `n` of them; their maximum at T = 0.
  void LogSumExp(double temperature, std::size_t n) {
    if (temperature == 0.0) return;
    const auto count = static_cast<double>(n);
    // The bound above holds at weights p that the errors themselves have changed.
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
  // No entry is larger than `largest` in magnitude, nor will be.
  void Fix(double largest) {
    constexpr double kTablesAhead = 8.0;  // with as much to turn into fixed errors as this one had
    if (!(largest <= kTablesAhead * exposure_)) return;
    fixed_ += relative_ * largest;
    relative_ = 0.0;
  }
  // The inequalities above take errors to be small beside their entries.
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
