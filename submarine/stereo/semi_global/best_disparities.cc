#include "submarine/stereo/semi_global/best_disparities.h"

#include <algorithm>
#include <cstdlib>

#include "submarine/base/parallel.h"
#include "submarine/stereo/semi_global/best_kernels.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kRowsOfBest = 4;

}  // namespace

BestDisparities FindBest(const CostVolume& sums) {
  const std::size_t pixels = sums.cells.rows();
  BestDisparities best{std::vector<int>(pixels), std::vector<int>(pixels)};
  ParallelFor(static_cast<std::size_t>(sums.height), kRowsOfBest,
              [&](std::size_t begin, std::size_t end) {
                const auto width = static_cast<std::size_t>(sums.width);
                std::vector<std::uint16_t> of_left(width);
                std::vector<std::uint16_t> cost(width + sums.stride());
                std::vector<std::uint16_t> of_right(width + sums.stride());
                for (std::size_t y = begin; y < end; ++y) {
                  std::fill(cost.begin(), cost.end(), kPaddingCost);
                  std::fill(of_right.begin(), of_right.end(), std::uint16_t{0});
                  BestOfRow(sums.at(0, static_cast<int>(y)).data(), sums.width, sums.stride(),
                            of_left.data(), cost.data(), of_right.data());
                  for (std::size_t x = 0; x < width; ++x) {
                    best.left[y * width + x] = of_left[x];
                    best.right[y * width + x] = of_right[width - 1 - x];
                  }
                }
              });
  return best;
}

std::vector<std::uint8_t> Agreement(const BestDisparities& best, int width, int tolerance) {
  std::vector<std::uint8_t> agrees(best.left.size());
  for (std::size_t a = 0; a < agrees.size(); ++a) {
    const int k = best.left[a];
    const int x = static_cast<int>(a % static_cast<std::size_t>(width));
    agrees[a] =
        k <= x && std::abs(best.right[a - static_cast<std::size_t>(k)] - k) <= tolerance ? 1 : 0;
  }
  return agrees;
}

}  // namespace submarine::internal
