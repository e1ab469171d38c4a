// Which pixels a page shows: all of them, or one of every step x step block of a large picture.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace submarine::apps {

struct PageGrid {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t depth = 1;  // number of slices of a volume
  std::int64_t step = 1;   // along x and y

  std::int64_t shown_width() const { return (width + step - 1) / step; }
  std::int64_t shown_height() const { return (height + step - 1) / step; }
  std::size_t pixels() const { return static_cast<std::size_t>(width * height * depth); }
  std::size_t shown_pixels() const {
    return static_cast<std::size_t>(shown_width() * shown_height() * depth);
  }
  // The position of the middle of a block along an axis of `length` pixels.
  std::int64_t Middle(std::int64_t block, std::int64_t length) const {
    return std::min(block * step + step / 2, length - 1);
  }
  // The index of the pixel that a shown pixel stands for.
  std::size_t SourceOf(std::size_t shown) const {
    if (step == 1) return shown;
    const auto k = static_cast<std::int64_t>(shown);
    const std::int64_t x = k % shown_width();
    const std::int64_t y = k / shown_width() % shown_height();
    const std::int64_t z = k / shown_width() / shown_height();
    return static_cast<std::size_t>((z * height + Middle(y, height)) * width + Middle(x, width));
  }
  // "x = 3, y = 4", with z in volumes.
  std::string PixelText(std::size_t pixel) const {
    const auto a = static_cast<std::int64_t>(pixel);
    const std::string xy = fmt::format("x = {}, y = {}", a % width, a / width % height);
    return depth == 1 ? xy : fmt::format("{}, z = {}", xy, a / width / height);
  }
};

}  // namespace submarine::apps
