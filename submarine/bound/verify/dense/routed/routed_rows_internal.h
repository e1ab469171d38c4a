// The inner loops of the verifier of dense routed bounds (routed_verifier.h), over rows of a block
// of pairs. Inputs and outputs do not overlap.
#pragma once

#include <cstddef>

#include "submarine/extension/routing.h"

namespace submarine::internal::routed_rows {

inline constexpr std::size_t kSide = 32;  // positions of a block
inline constexpr std::size_t kHalo = static_cast<std::size_t>(kMaxThickness);
inline constexpr std::size_t kStride = kSide + 2 * kHalo;

// x = |f_p - f_q|^2 for columns that follow each other; f_q is (dimension x stride). The same operations for
// (p, q) and (q, p): the same bits.
void SquaredRow(const double* f, std::size_t stride, std::size_t dimension, const double* point,
                std::size_t count, double* x);

// w = factor (scale_p scale_q) exp(-x / 2), 0 beyond exp(-700). Compilers vectorise loops with one comparison
// each, but neither two nor any call of std::exp: x / 2 = n log 2 + r, |r| <= 0.35, with log 2 in two parts so that
// r is off by an ulp of 1 at most, and the series up to r^13, whose rest is below 1e-17. A handful of roundings.
void WeightRow(const double* x, const double* scale, double own, double factor, std::size_t count,
               double* w);

// sum += length |z - own|.
void AddDistances(const float* z, double own, double length, std::size_t count, double* sum);

// w = 0 where x is beyond the limit.
void DropFar(const double* x, double limit, std::size_t count, double* w);

// The same of one pair, for all cuts: sum of length |z_p - z_q|.
double PairDistance(const float* z_p, const float* z_q, const double* length, std::size_t count);

// What is routed over the pairs of a row: part min(w, w_next) where the distances add up to less than
// the limit. Adds it up, and takes it from what is left of either pair.
double RouteRow(const double* w, const double* w_next, const double* d, const double* d_next,
                double limit, double part, double* left, double* left_next);

// The same for the edges of columns, from c to c + m, over one row; `left` and `gain` have room for all.
void RouteColumns(const double* w, const double* d, const double* limit, std::size_t m,
                  std::size_t count, double part, double* left, double* gain);

// flow = weight clip(v - v_c, -1, 1), or weight sign; see dense_verifier.cc.
double FlowRow(const double* left, const float* v, float own, bool clip, double share,
               double* column);

// The same of one pair, for all cuts: added to its one end, taken from its other.
void FlowPair(double weight, const float* v_p, const float* v_q, bool clip, std::size_t count,
              double* flow_p, double* flow_q);

}  // namespace submarine::internal::routed_rows
