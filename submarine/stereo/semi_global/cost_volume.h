// Costs of all disparities of all pixels, in 16 bits: 1 is kCostUnit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "submarine/base/matrix.h"

namespace submarine::internal {

// A sum over eight paths of costs up to 4.5 + 3 stays below 65536.
inline constexpr int kCostUnit = 1024;

// Rows are padded to this many disparities, a register of 256 bits.
inline constexpr std::size_t kDisparityLanes = 16;
// What is in the padding: as expensive as can be.
inline constexpr std::uint16_t kPaddingCost = 65535;

struct CostVolume {
  CostVolume() = default;
  // The values are indeterminate until written.
  CostVolume(int w, int h, int d)
      : width(w),
        height(h),
        disparities(d),
        cells(Matrix<std::uint16_t>::Unset(
            static_cast<std::size_t>(w) * static_cast<std::size_t>(h), PaddedDisparities(d))) {}

  static std::size_t PaddedDisparities(int d) {
    return (static_cast<std::size_t>(d) + kDisparityLanes - 1) / kDisparityLanes * kDisparityLanes;
  }

  std::size_t stride() const { return cells.cols(); }
  std::size_t Pixel(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
           static_cast<std::size_t>(x);
  }
  std::span<std::uint16_t> at(int x, int y) { return cells.row(Pixel(x, y)); }
  std::span<const std::uint16_t> at(int x, int y) const { return cells.row(Pixel(x, y)); }

  int width = 0;
  int height = 0;
  int disparities = 0;
  Matrix<std::uint16_t> cells;  // a row per pixel, one column per disparity, then padding
};

}  // namespace submarine::internal
