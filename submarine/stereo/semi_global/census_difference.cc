#include "submarine/stereo/semi_global/census_difference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "submarine/base/parallel.h"
#include "submarine/stereo/semi_global/cost_kernels.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kRowsAtOnce = 4;

std::vector<float> GreyOf(const StereoView& view) {
  const auto channels = static_cast<std::size_t>(view.channels);
  std::vector<float> grey(view.samples.size() / channels, 0.0F);
  for (std::size_t a = 0; a < grey.size(); ++a) {
    for (std::size_t c = 0; c < channels; ++c) grey[a] += view.samples[a * channels + c];
  }
  return grey;
}

std::uint16_t Saturating(double weight, double x, double scale) {
  return static_cast<std::uint16_t>(std::lround(kCostUnit * weight * (1.0 - std::exp(-x / scale))));
}

// A row of a view as kernels read it.
struct RowOfView {
  RowOfView(const StereoView& view, const std::vector<float>& grey, int y, bool reversed) {
    const auto width = static_cast<std::size_t>(view.width);
    const auto channels = static_cast<std::size_t>(view.channels);
    census.resize(width);
    CensusOfRow(grey.data(), view.width, view.height, y, census.data());
    const float* row = view.samples.data() + static_cast<std::size_t>(y) * width * channels;
    for (std::size_t c = 0; c < channels; ++c) {
      samples[c].resize(width);
      for (std::size_t x = 0; x < width; ++x) {
        samples[c][x] =
            static_cast<std::uint8_t>(std::lround(std::clamp(row[x * channels + c], 0.0F, 255.0F)));
      }
      if (reversed) std::reverse(samples[c].begin(), samples[c].end());
    }
    if (reversed) std::reverse(census.begin(), census.end());
  }

  std::vector<std::uint64_t> census;
  std::array<std::vector<std::uint8_t>, kMostChannels> samples;
};

}  // namespace

CostVolume CensusDifference(const StereoView& left, const StereoView& right, int disparities,
                            const CensusDifferenceOptions& options) {
  std::array<std::uint16_t, kMostDifferingBits + 1> by_bits;
  for (std::size_t n = 0; n < by_bits.size(); ++n)
    by_bits[n] = Saturating(1.0, static_cast<double>(n), options.census_scale);
  std::array<std::uint16_t, kMostDifference + 1> by_difference;
  for (std::size_t n = 0; n < by_difference.size(); ++n) {
    by_difference[n] = Saturating(options.difference_weight, static_cast<double>(n) / left.channels,
                                  options.difference_scale);
  }
  const std::vector<float> left_grey = GreyOf(left);
  const std::vector<float> right_grey = GreyOf(right);
  CostVolume costs(left.width, left.height, disparities);
  ParallelFor(
      static_cast<std::size_t>(left.height), kRowsAtOnce, [&](std::size_t begin, std::size_t end) {
        for (std::size_t y = begin; y < end; ++y) {
          const RowOfView l(left, left_grey, static_cast<int>(y), false);
          const RowOfView r(right, right_grey, static_cast<int>(y), true);
          CostRow row{
              .width = left.width,
              .channels = left.channels,
              .disparities = disparities,
              .stride = costs.stride(),
              .left_census = l.census.data(),
              .right_census = r.census.data(),
              .by_bits = by_bits.data(),
              .by_difference = by_difference.data(),
              .outside = static_cast<std::uint16_t>(std::lround(kCostUnit * options.outside)),
              .costs = costs.at(0, static_cast<int>(y)).data()};
          for (std::size_t c = 0; c < kMostChannels; ++c) {
            row.left[c] = l.samples[c].data();
            row.right[c] = r.samples[c].data();
          }
          CompareRow(row);
        }
      });
  return costs;
}

}  // namespace submarine::internal
