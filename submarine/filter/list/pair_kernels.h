// Sums over the neighbours of one variable, for all columns at once: the inner loops of
// NeighbourList.
#pragma once

#include <cstddef>
#include <cstdint>

namespace submarine::internal {

// One row of the list: weights and variables of the neighbours.
struct NeighbourRow {
  const std::uint32_t* neighbour;
  const float* weight;
  std::size_t count;
};

inline constexpr std::size_t kSelectSlack = 64;

// x is the first row of a matrix with `columns` columns that may be read up to one register beyond
// its end (base/matrix.h); out has `columns` entries: sum_b k_ab x_b.
void SumProducts(const NeighbourRow& row, const float* x, std::size_t columns, float* out);
// out = sum_b k_ab clip(x_a - x_b, -1, 1)
void SumClipped(const NeighbourRow& row, const float* x, std::size_t a, std::size_t columns,
                float* out);
// out = sum_b k_ab sign(x_a - x_b)
void SumSigns(const NeighbourRow& row, const float* x, std::size_t a, std::size_t columns,
              float* out);
// out = sum_b k_ab |x_a - x_b|
void SumDistances(const NeighbourRow& row, const float* x, std::size_t a, std::size_t columns,
                  float* out);
// The points j in 0..count-1 with k_j = exp(-|f_a - f_j|^2 / 2) >= cutoff, ascending, and their
// k_j; returns their number. Coordinate d of point j is coordinates[d * stride + j], readable up to
// one register beyond the last; index and value have room for count + kSelectSlack entries.
std::size_t SelectNear(const float* coordinates, std::size_t stride, std::size_t dimension,
                       const float* point, std::size_t count, float cutoff, std::uint32_t* index,
                       float* value);

}  // namespace submarine::internal
