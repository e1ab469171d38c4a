#include "submarine/stereo/semi_global/semi_global.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "submarine/base/parallel.h"
#include "submarine/stereo/semi_global/best_disparities.h"
#include "submarine/stereo/shrink.h"

namespace submarine::internal {
namespace {

constexpr int kLeastColumns = 32;  // of a level
constexpr std::size_t kRowsOfPrior = 4;

struct Level {
  int width = 0;
  BestDisparities best;
};

// Adds to the costs what the coarser level says against them.
void AddPrior(const Level& coarse, const SemiGlobalOptions& options, CostVolume* costs) {
  const int disparities = costs->disparities;
  // By 2 coarse + table offset: table[k - 2 coarse + disparities].
  std::vector<std::uint16_t> table(2 * static_cast<std::size_t>(disparities) + 2 * kDisparityLanes + 4);
  const int middle = disparities + 3;
  for (std::size_t j = 0; j < table.size(); ++j) {
    const int beyond = std::clamp(std::abs(static_cast<int>(j) - middle) - options.prior_free, 0,
                                  options.prior_reach);
    table[j] = static_cast<std::uint16_t>(
        std::lround(kCostUnit * options.prior_weight * beyond / options.prior_reach));
  }
  const int coarse_height = static_cast<int>(coarse.best.left.size()) / coarse.width;
  ParallelFor(static_cast<std::size_t>(costs->height), kRowsOfPrior,
              [&](std::size_t begin, std::size_t end) {
                for (std::size_t y = begin; y < end; ++y) {
                  const int row = std::min(static_cast<int>(y) / 2, coarse_height - 1);
                  for (int x = 0; x < costs->width; ++x) {
                    const auto a = static_cast<std::size_t>(row) * coarse.width +
                                   std::min(x / 2, coarse.width - 1);
                    if (coarse.best.agrees[a] == 0) continue;
                    const std::uint16_t* prior = table.data() + (middle - 2 * coarse.best.left[a]);
                    std::uint16_t* cost = costs->at(x, static_cast<int>(y)).data();
                    for (int k = 0; k < disparities; ++k)
                      cost[k] = static_cast<std::uint16_t>(cost[k] + prior[k]);
                  }
                }
              });
}

CostVolume SumsOf(const StereoView& left, const StereoView& right, int disparities,
                  const SemiGlobalOptions& options, int levels) {
  CostVolume costs = CensusDifference(left, right, disparities, options.costs);
  if (levels > 1 && left.width / 2 >= kLeastColumns && left.height >= 2) {
    const auto half = [](const StereoView& view) {
      return ShrinkImage(view.samples, view.width, view.height, view.channels, 2);
    };
    const std::vector<float> small_left = half(left);
    const std::vector<float> small_right = half(right);
    const StereoView l{left.width / 2, left.height / 2, left.channels, small_left};
    const StereoView r{left.width / 2, left.height / 2, left.channels, small_right};
    const int fewer = std::max(2, disparities / 2 + 1);
    const Level coarse{l.width, FindBest(SumsOf(l, r, fewer, options, levels - 1))};
    AddPrior(coarse, options, &costs);
  }
  return PathSums(costs, left, right, options.paths);
}

}  // namespace

SemiGlobalMatch MatchSemiGlobal(const StereoView& left, const StereoView& right, int disparities,
                                const SemiGlobalOptions& options) {
  SemiGlobalMatch match;
  match.sums = SumsOf(left, right, disparities, options, options.levels);
  BestDisparities best = FindBest(match.sums);
  match.visible = std::move(best.agrees);
  match.disparities = FillDisparities(best.left, match.visible, left, options.filling);
  return match;
}

std::vector<float> RefineByCosts(const CostVolume& sums, const std::vector<int>& disparities) {
  std::vector<float> refined(disparities.size());
  ParallelFor(refined.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      const int k = disparities[a];
      refined[a] = static_cast<float>(k);
      if (k < 1 || k + 1 >= sums.disparities) continue;
      const std::uint16_t* costs = sums.cells.row(a).data() + k;
      const int before = costs[-1] - costs[0];
      const int after = costs[1] - costs[0];
      if (before < 0 || after < 0 || before + after == 0) continue;
      refined[a] += static_cast<float>(before - after) /
                    (2.0F * static_cast<float>(std::max(before, after)));
    }
  });
  return refined;
}

}  // namespace submarine::internal
