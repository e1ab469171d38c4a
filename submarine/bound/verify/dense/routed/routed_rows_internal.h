// The inner loops of the verifier of dense routed bounds (routed_verifier.h), over rows of a block
// of pairs. Inputs and outputs do not overlap.
#pragma once

#include <cstddef>

#include "submarine/extension/routing.h"

namespace submarine::internal::routed_rows {

inline constexpr std::size_t kSide = 32;  // positions of a block
inline constexpr std::size_t kHalo = static_cast<std::size_t>(kMaxBandwidth);
inline constexpr std::size_t kStride = kSide + 2 * kHalo;

// x = |f_p - f_q|^2 for consecutive columns q; f_q is (dimension x stride). The operations for (p,
// q) and (q, p) are the same, so the results are bit-identical.
void SquaredRow(const double* f, std::size_t stride, std::size_t dimension, const double* point,
                std::size_t count, double* x);

// w = factor (scale_p scale_q) exp(-x / 2), 0 beyond exp(-700). A handful of roundings.
void WeightRow(const double* x, const double* scale, double own, double factor, std::size_t count,
               double* w);

// d = sum of length |z_p - z_q| over the cuts, for consecutive columns q from `first` on; z is (cuts x stride).
void DistanceRow(const float* z, std::size_t stride, std::size_t own, std::size_t first,
                 const double* length, std::size_t cuts, std::size_t count, double* d);

// weight += w and far += w x, by column.
void AddWeights(const double* w, const double* x, std::size_t count, double* weight, double* far);

// sum += w.
void AddRow(const double* w, std::size_t count, double* sum);

// sum += factor x.
void AddScaled(const double* x, double factor, std::size_t count, double* sum);
void AddScaled(const float* x, double factor, std::size_t count, double* sum);

// Of the pairs of a square, kSide x kSide; adds to both.
void SumRowsAndColumns(const double* left, double* of_rows, double* of_columns);

// left = max(0, wide).
void KeepPositive(const double* wide, double* left);

// sum of left d over a row.
double WeightedSum(const double* left, const double* d);

// w = 0 where x is beyond the limit.
void DropFar(const double* x, double limit, std::size_t count, double* w);

// The same for one pair and all cuts: sum of length |z_p - z_q|.
double PairDistance(const float* z_p, const float* z_q, const double* length, std::size_t count);

// Routes over the pairs of a row: part min(w, w_next) where the distances add up to less than the
// limit. Returns the sum of these amounts and subtracts them from what is left of either pair.
double RouteRow(const double* w, const double* w_next, const double* d, const double* d_next,
                double limit, double part, double* left, double* left_next);

// The same for the edges of columns, from c to c + m, over one row; adds to `gain` per column.
void RouteColumns(const double* w, const double* d, const double* limit, std::size_t m,
                  std::size_t count, double part, double* left, double* gain);

// flow = weight clip(v - v_c, -1, 1), or weight sign; see dense_verifier.cc.
double FlowRow(const double* left, const float* v, float own, bool clip, double share,
               double* column);

// The same for one pair and all cuts: added at one end, subtracted at the other.
void FlowPair(double weight, const float* v_p, const float* v_q, bool clip, std::size_t count,
              double* flow_p, double* flow_q);

}  // namespace submarine::internal::routed_rows
