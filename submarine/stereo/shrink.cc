#include "submarine/stereo/shrink.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>

#include "submarine/base/error.h"

namespace submarine::internal {
namespace {

struct Blocks {
  std::size_t stride;  // pixels per row of the large image
  std::size_t factor;
  std::size_t width;  // of the small image
  std::size_t height;
};

Blocks CheckedBlocks(std::string_view what, std::size_t samples, int width, int height,
                     int channels, int factor) {
  if (width < 1 || height < 1 || channels < 1) {
    throw InvalidInput(
        fmt::format("{}: the size is {} x {} x {} channels, expected at least 1 of each", what,
                    width, height, channels));
  }
  if (factor < 1 || factor > std::min(width, height)) {
    throw InvalidInput(fmt::format("{}: the factor is {}, expected 1 to {} for {} x {} pixels",
                                   what, factor, std::min(width, height), width, height));
  }
  // Compared by division, as the product of three ints may overflow.
  const auto pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  if (samples % pixels != 0 || samples / pixels != static_cast<std::size_t>(channels)) {
    throw InvalidInput(fmt::format("{}: there are {} samples, expected {} x {} x {} channels", what,
                                   samples, width, height, channels));
  }
  return {.stride = static_cast<std::size_t>(width),
          .factor = static_cast<std::size_t>(factor),
          .width = static_cast<std::size_t>(width / factor),
          .height = static_cast<std::size_t>(height / factor)};
}

// Calls body(pixel of the large image) for all pixels of block (X, Y).
template <class Body>
void ForPixelsOfBlock(const Blocks& blocks, std::size_t X, std::size_t Y, const Body& body) {
  for (std::size_t y = Y * blocks.factor; y < (Y + 1) * blocks.factor; ++y) {
    for (std::size_t x = X * blocks.factor; x < (X + 1) * blocks.factor; ++x) {
      body(y * blocks.stride + x);
    }
  }
}

}  // namespace

std::vector<float> ShrinkImage(std::span<const float> values, int width, int height, int channels,
                               int factor) {
  const Blocks blocks =
      CheckedBlocks("shrinking an image", values.size(), width, height, channels, factor);
  const auto num_channels = static_cast<std::size_t>(channels);
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!std::isfinite(values[k])) {
      throw InvalidInput(
          fmt::format("shrinking an image: pixel {}, channel {} is {}, expected a finite number",
                      k / num_channels, k % num_channels, values[k]));
    }
  }
  const double block_size = static_cast<double>(blocks.factor) * static_cast<double>(blocks.factor);
  std::vector<float> small;
  small.reserve(blocks.width * blocks.height * num_channels);
  std::vector<double> sums(num_channels);
  for (std::size_t Y = 0; Y < blocks.height; ++Y) {
    for (std::size_t X = 0; X < blocks.width; ++X) {
      std::fill(sums.begin(), sums.end(), 0.0);
      ForPixelsOfBlock(blocks, X, Y, [&](std::size_t pixel) {
        for (std::size_t c = 0; c < num_channels; ++c) sums[c] += values[pixel * num_channels + c];
      });
      for (const double sum : sums) small.push_back(static_cast<float>(sum / block_size));
    }
  }
  return small;
}

std::vector<float> ShrinkTruth(std::span<const float> disparity, int width, int height,
                               int factor) {
  const Blocks blocks =
      CheckedBlocks("shrinking a disparity map", disparity.size(), width, height, 1, factor);
  for (std::size_t a = 0; a < disparity.size(); ++a) {
    if (std::isinf(disparity[a])) {
      throw InvalidInput(
          fmt::format("shrinking a disparity map: pixel {} is {}, expected NaN where unknown", a,
                      disparity[a]));
    }
  }
  std::vector<float> small;
  small.reserve(blocks.width * blocks.height);
  std::vector<float> known;
  for (std::size_t Y = 0; Y < blocks.height; ++Y) {
    for (std::size_t X = 0; X < blocks.width; ++X) {
      known.clear();
      ForPixelsOfBlock(blocks, X, Y, [&](std::size_t pixel) {
        if (!std::isnan(disparity[pixel])) known.push_back(disparity[pixel]);
      });
      if (2 * known.size() < blocks.factor * blocks.factor) {
        small.push_back(std::numeric_limits<float>::quiet_NaN());
        continue;
      }
      const auto middle = known.begin() + static_cast<std::ptrdiff_t>((known.size() - 1) / 2);
      std::nth_element(known.begin(), middle, known.end());
      small.push_back(*middle / static_cast<float>(factor));
    }
  }
  return small;
}

}  // namespace submarine::internal
