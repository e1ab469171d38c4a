#include "submarine/stereo/match/semi_global.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "submarine/base/parallel.h"
#include "submarine/stereo/semi_global/best_disparities.h"
#include "submarine/stereo/semi_global/given_costs.h"
#include "submarine/stereo/shrink.h"

namespace submarine::internal {
namespace {

constexpr int kLeastColumns = 32;  // of a level
constexpr std::size_t kRowsOfPrior = 4;

struct Level {
  int width = 0;
  std::vector<int> disparities;
  std::vector<std::uint8_t> agrees;
};

// Adds to the costs what the coarser level says against them.
void AddPrior(const Level& coarse, const SemiGlobalOptions& options, CostVolume* costs) {
  const int disparities = costs->disparities;
  // By 2 coarse + table offset: table[k - 2 coarse + disparities].
  std::vector<std::uint16_t> table(2 * static_cast<std::size_t>(disparities) + 2 * kDisparityLanes +
                                   4);
  const int middle = disparities + 3;
  for (std::size_t j = 0; j < table.size(); ++j) {
    const int beyond = std::clamp(std::abs(static_cast<int>(j) - middle) - options.prior_free, 0,
                                  options.prior_reach);
    table[j] = static_cast<std::uint16_t>(
        std::lround(kCostUnit * options.prior_weight * beyond / options.prior_reach));
  }
  const int coarse_height = static_cast<int>(coarse.disparities.size()) / coarse.width;
  ParallelFor(static_cast<std::size_t>(costs->height), kRowsOfPrior,
              [&](std::size_t begin, std::size_t end) {
                for (std::size_t y = begin; y < end; ++y) {
                  const int row = std::min(static_cast<int>(y) / 2, coarse_height - 1);
                  for (int x = 0; x < costs->width; ++x) {
                    const auto a = static_cast<std::size_t>(row) * coarse.width +
                                   std::min(x / 2, coarse.width - 1);
                    if (coarse.agrees[a] == 0) continue;
                    const std::uint16_t* prior =
                        table.data() + (middle - 2 * coarse.disparities[a]);
                    std::uint16_t* cost = costs->at(x, static_cast<int>(y)).data();
                    for (int k = 0; k < disparities; ++k)
                      cost[k] = static_cast<std::uint16_t>(cost[k] + prior[k]);
                  }
                }
              });
}

CostVolume SumsOf(const StereoView& left, const StereoView& right, int disparities,
                  const SemiGlobalOptions& options, const StereoGiven& given, int levels) {
  CostVolume costs = given.costs.empty() ? CensusDifference(left, right, disparities, options.costs)
                                         : ScaledCosts(given.costs, left.width, left.height,
                                                       disparities, options.costs.outside);
  if (given.costs.empty() && levels > 1 && left.width / 2 >= kLeastColumns && left.height >= 2) {
    const auto half = [](const StereoView& view) {
      return ShrinkImage(view.samples, view.width, view.height, view.channels, 2);
    };
    const std::vector<float> small_left = half(left);
    const std::vector<float> small_right = half(right);
    const StereoView l{left.width / 2, left.height / 2, left.channels, small_left};
    const StereoView r{left.width / 2, left.height / 2, left.channels, small_right};
    const int fewer = std::max(2, disparities / 2 + 1);
    BestDisparities best = FindBest(SumsOf(l, r, fewer, options, {}, levels - 1));
    std::vector<std::uint8_t> agrees = Agreement(best, l.width, 0);
    const Level coarse{l.width, std::move(best.left), std::move(agrees)};
    AddPrior(coarse, options, &costs);
  }
  ExcludeOutside(given, &costs);
  return PathSums(costs, left, right, options.paths);
}

}  // namespace

void ClampToRanges(const StereoGiven& given, std::vector<float>* disparities) {
  for (std::size_t a = 0; a < given.low.size(); ++a) {
    float& d = (*disparities)[a];
    if (d < given.low[a]) d = given.low[a];
    if (d > given.high[a]) d = given.high[a];
  }
}

SemiGlobalMatch MatchSemiGlobal(const StereoView& left, const StereoView& right, int disparities,
                                const SemiGlobalOptions& options, const StereoGiven& given) {
  CheckViews(left, right, disparities);
  CheckGiven(given, left.width, left.height, disparities);
  SemiGlobalMatch match;
  match.given = given;
  match.sums = SumsOf(left, right, disparities, options, given, options.levels);
  const BestDisparities best = FindBest(match.sums);
  match.agrees = Agreement(best, left.width, 0);
  const std::vector<int> filled = FillDisparities(best, match.agrees, left, options.filling);
  // Edges that were moved are whole numbers; elsewhere, the costs say more.
  match.raw = RefineByCosts(match.sums, best.left);
  std::vector<float> refined = match.raw;
  for (std::size_t a = 0; a < refined.size(); ++a) {
    if (filled[a] != best.left[a]) refined[a] = static_cast<float>(filled[a]);
  }
  match.disparities = FitPlanes(filled, refined, match.agrees, left, options.planes);
  match.visible = Agreement(best, left.width, 1);
  for (std::size_t a = 0; a < refined.size(); ++a) {
    if (match.visible[a] == 0) match.raw[a] = std::numeric_limits<float>::quiet_NaN();
  }
  ClampToRanges(given, &match.raw);
  ClampToRanges(given, &match.disparities);
  return match;
}

}  // namespace submarine::internal
