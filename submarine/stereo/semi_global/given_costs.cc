#include "submarine/stereo/semi_global/given_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"

namespace submarine::internal {
namespace {

// Medians over the pixels of nine Middlebury pairs, of the costs of census_difference.h.
constexpr double kUsualLeast = 0.27;
constexpr double kUsualSpread = 0.48;
constexpr double kMostGivenCost = 1.3;  // of census_difference.h

double MedianOf(std::vector<float> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Of every pixel with a known cost: the least one, and how far the mean is above it.
struct Levels {
  std::vector<float> least;
  std::vector<float> spread;
};

Levels LevelsOf(std::span<const float> costs, std::size_t disparities) {
  Levels levels;
  for (std::size_t first = 0; first < costs.size(); first += disparities) {
    const auto row = costs.subspan(first, disparities);
    float least = INFINITY;
    double sum = 0.0;
    int known = 0;
    for (const float cost : row) {
      if (!std::isfinite(cost)) continue;
      least = std::min(least, cost);
      sum += cost;
      ++known;
    }
    if (known == 0) continue;
    levels.least.push_back(least);
    levels.spread.push_back(static_cast<float>(sum / known - least));
  }
  return levels;
}

bool HoldsNone(float low, float high, int disparities) {
  return low > high || high < 0.0F || low > static_cast<float>(disparities - 1);
}

}  // namespace

void CheckGiven(const StereoGiven& given, int width, int height, int disparities) {
  const auto pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  if (!given.costs.empty()) {
    if (given.costs.size() != pixels * static_cast<std::size_t>(disparities)) {
      throw InvalidInput(fmt::format("there are {} costs, expected {} x {} x {} of them",
                                     given.costs.size(), height, width, disparities));
    }
    if (std::none_of(given.costs.begin(), given.costs.end(),
                     [](float cost) { return std::isfinite(cost); }))
      throw InvalidInput("none of the costs is finite, so nothing is known of any match");
  }
  if (given.low.empty() && given.high.empty()) return;
  if (given.low.size() != pixels || given.high.size() != pixels) {
    throw InvalidInput(
        fmt::format("ranges of disparities have {} low and {} high ends, expected {} "
                    "of each as the views have pixels",
                    given.low.size(), given.high.size(), pixels));
  }
  for (std::size_t a = 0; a < pixels; ++a) {
    if (!HoldsNone(given.low[a], given.high[a], disparities)) continue;
    const auto w = static_cast<std::size_t>(width);
    throw InvalidInput(
        fmt::format("the range of pixel ({}, {}) is {:g} to {:g}, expected some of 0 to {}", a % w,
                    a / w, given.low[a], given.high[a], disparities - 1));
  }
}

CostVolume ScaledCosts(std::span<const float> costs, int width, int height, int disparities,
                       double outside) {
  Levels levels = LevelsOf(costs, static_cast<std::size_t>(disparities));
  const double least = MedianOf(std::move(levels.least));
  const double spread = MedianOf(std::move(levels.spread));
  const double scale = spread > 0.0 ? kUsualSpread / spread : 0.0;
  const auto unknown = static_cast<std::uint16_t>(std::lround(kCostUnit * outside));
  CostVolume volume(width, height, disparities);
  ParallelFor(volume.cells.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      const float* from = costs.data() + a * static_cast<std::size_t>(disparities);
      std::uint16_t* to = volume.cells.row(a).data();
      for (int k = 0; k < disparities; ++k) {
        const double cost = kUsualLeast + scale * (from[k] - least);
        to[k] = std::isfinite(from[k]) ? static_cast<std::uint16_t>(std::lround(
                                             kCostUnit * std::clamp(cost, 0.0, kMostGivenCost)))
                                       : unknown;
      }
      std::fill(to + disparities, to + volume.stride(), kPaddingCost);
    }
  });
  return volume;
}

bool IsOutside(const StereoGiven& given, std::size_t pixel, int disparity) {
  if (given.low.empty()) return false;
  const auto k = static_cast<float>(disparity);
  return k < std::floor(given.low[pixel]) || k > std::ceil(given.high[pixel]);
}

void ExcludeOutside(const StereoGiven& given, CostVolume* costs) {
  if (given.low.empty()) return;
  ParallelFor(costs->cells.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      std::uint16_t* row = costs->cells.row(a).data();
      for (int k = 0; k < costs->disparities; ++k) {
        if (IsOutside(given, a, k)) row[k] = kImpossibleCost;
      }
    }
  });
}

}  // namespace submarine::internal
