// One row of pixels of the semi-global sums (semi_global/path_sums.h): along the row and from the row before
// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace submarine::internal {

inline constexpr int kPathsOfRow = 4;  // along the row, then from three pixels of the row before

// Penalties of a change of disparity by one and by more, where the right view has no colour step along
// the path, and where it has one.
struct PathPenalties {
  std::uint16_t one;
  std::uint16_t more;
  std::uint16_t one_at_step;
  std::uint16_t more_at_step;
};

// For every pixel of a padded row there are `slot` sums, kDisparityLanes of which are before the first
// disparity: so that neighbours of the first and last can be read, whose sums are kPaddingCost.
struct PathRow {
  int width = 0;
  std::size_t stride = 0;  // padded disparities
  bool backward = false;   // from the last pixel to the first
  bool adds = false;       // to what is in sums
  const std::uint16_t* costs = nullptr;
  std::uint16_t* sums = nullptr;  // of all paths
  // Per path along the row's direction: where the left view has a step to the pixel before it.
  std::array<const std::uint8_t*, kPathsOfRow> left_steps = {};
  // Per path and pixel of the right view, all bits set at a step, in reverse order: entry
  // width - 1 - x; then zeros for as many pixels as a row has padded disparities.
  std::array<const std::uint16_t*, kPathsOfRow> right_steps = {};
  std::array<PathPenalties, 2> penalties = {};  // without and with a step in the left view

  // The sums of the last three paths at the pixels of the row before, from pixel -1 to `width`, and their
  // minima. Zeros where there is no pixel.
  std::array<const std::uint16_t*, kPathsOfRow> before = {};
  std::array<const std::uint16_t*, kPathsOfRow> least_before = {};
  // Those of this row. Those of the first path need two slots only, the others as many as above.
  std::array<std::uint16_t*, kPathsOfRow> here = {};
  std::array<std::uint16_t*, kPathsOfRow> least_here = {};

  std::size_t slot() const;
};

void SumPathsOfRow(const PathRow& row);

}  // namespace submarine::internal
