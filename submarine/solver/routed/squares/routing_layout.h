// What routing the pairs of squares needs to know, by position on the paths.
#pragma once

#include <cstddef>
#include <vector>

#include "submarine/extension/routing.h"
#include "submarine/solver/routed/squares/reordered_kernels.h"

namespace submarine::internal {

// A cut and its complement are the same cut: those that are left, with the lengths of both.
struct RoutedCut {
  std::size_t cut = 0;
  std::size_t complement = 0;  // itself, where the family does not have it
  float length = 0.0F;
};
std::vector<RoutedCut> DistinctCuts(const LabelSpace& labels);

// Arrays over positions have kRoom entries more at either end.
struct RoutingLayout {
  RoutingLayout(const Routing& routing, const std::vector<RoutedCut>& cuts);

  std::size_t bandwidth;
  std::size_t stride;
  std::size_t num_blocks;
  std::vector<float> threshold;  // bandwidth x stride; minus infinity where there is no edge
  std::vector<float> z;          // cuts x stride; empty: route everywhere
  std::vector<float> mean_z;     // cuts x blocks
  std::vector<float> length;     // of the cuts
  float part;                    // of a pair's weight, for every route
  bool crosses_by_block;         // see Routing
  bool by_square;

  // D between each of `count` positions, from `first` on, and the mean z of a block.
  void DistancesToBlock(std::ptrdiff_t first, std::size_t count, std::size_t block, float* d) const;
  // The thresholds of the edges that begin at positions from k before the block on, to its end, m = 1 .. k, for routes
  // over the pairs of a square: limits[m - 1][r] is that of position 32 block - k + r. Edges that are routed over all of the
  // square or none of it have plus or minus infinity: all, where it is routed as a whole, and those that cross from block
  // to block, where squares may be.
  void LimitsOver(std::size_t block, std::size_t over,
                  float (*limits)[kRoutingBlock + kMaxBandwidth]) const;
  // Whether the square of these blocks, in either order, is routed as a whole.
  bool Whole(std::size_t block, std::size_t over) const {
    return by_square && block + 1 != over && over + 1 != block && block != over;
  }
};

}  // namespace submarine::internal
