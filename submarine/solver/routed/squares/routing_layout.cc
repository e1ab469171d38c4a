#include "submarine/solver/routed/squares/routing_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "submarine/base/simd/wide_registers.h"

namespace submarine::internal {

std::vector<RoutedCut> DistinctCuts(const LabelSpace& labels) {
  const LabelCuts& cuts = *labels.cuts;
  const std::vector<double>& length = labels.metrics.front().length;
  std::vector<RoutedCut> distinct;
  for (int c = 0; c < cuts.num_cuts(); ++c) {
    const double l = length[static_cast<std::size_t>(c)];
    if (l == 0.0) continue;
    bool merged = false;
    for (RoutedCut& kept : distinct) {
      bool complement = true;
      for (int i = 0; i < cuts.num_labels() && complement; ++i)
        complement = cuts.contains(c, i) != cuts.contains(static_cast<int>(kept.cut), i);
      if (!complement || kept.complement != kept.cut) continue;
      kept.complement = static_cast<std::size_t>(c);
      kept.length += static_cast<float>(l);
      merged = true;
      break;
    }
    const auto cut = static_cast<std::size_t>(c);
    if (!merged) distinct.push_back({cut, cut, static_cast<float>(l)});
  }
  return distinct;
}

RoutingLayout::RoutingLayout(const Routing& routing, const std::vector<RoutedCut>& cuts)
    : bandwidth(static_cast<std::size_t>(routing.paths.bandwidth)),
      part(static_cast<float>(routing.share / (4.0 * routing.paths.bandwidth))),
      crosses_by_block(routing.crosses_by_block()),
      by_square(routing.by_square) {
  const std::vector<std::uint32_t>& order = routing.paths.order;
  const std::vector<std::uint32_t> followers = routing.paths.Followers();
  num_blocks = NumBlocks(order.size());
  stride = num_blocks * kRoutingBlock + 2 * kRoom;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  threshold.assign(bandwidth * stride, -kInfinity);
  for (std::size_t p = 0; p < order.size(); ++p) {
    for (std::size_t m = 1; m <= bandwidth && m <= followers[p]; ++m) {
      threshold[(m - 1) * stride + kRoom + p] =
          routing.everywhere() ? kInfinity : routing.threshold(p, m - 1);
    }
  }
  for (const RoutedCut& cut : cuts) length.push_back(cut.length);
  if (routing.everywhere()) return;
  z.assign(cuts.size() * stride, 0.0F);
  mean_z.assign(cuts.size() * num_blocks, 0.0F);
  for (std::size_t c = 0; c < cuts.size(); ++c) {
    std::vector<double> sum(num_blocks, 0.0);
    for (std::size_t p = 0; p < order.size(); ++p) {
      z[c * stride + kRoom + p] = routing.z(order[p], cuts[c].cut);
      sum[p / kRoutingBlock] += z[c * stride + kRoom + p];
    }
    for (std::size_t b = 0; b < num_blocks; ++b) {
      const std::size_t count = std::min(kRoutingBlock, order.size() - b * kRoutingBlock);
      mean_z[c * num_blocks + b] = static_cast<float>(sum[b] / static_cast<double>(count));
    }
  }
}

SUBMARINE_FOR_WIDE_REGISTERS void RoutingLayout::DistancesToBlock(std::ptrdiff_t first,
                                                                  std::size_t count,
                                                                  std::size_t block,
                                                                  float* __restrict d) const {
  std::fill(d, d + count, 0.0F);
  for (std::size_t c = 0; c < length.size(); ++c) {
    const float* of_cut = z.data() + c * stride + kRoom + first;
    const float mean = mean_z[c * num_blocks + block];
    const float l = length[c];
    for (std::size_t n = 0; n < count; ++n) d[n] += l * std::abs(of_cut[n] - mean);
  }
}

void RoutingLayout::LimitsOver(std::size_t block, std::size_t over,
                               float (*limits)[kRoutingBlock + kMaxBandwidth]) const {
  const auto k = static_cast<std::ptrdiff_t>(bandwidth);
  const auto first = static_cast<std::ptrdiff_t>(block * kRoutingBlock) - k;
  for (std::size_t m = 0; m < bandwidth; ++m) {
    const float* source = threshold.data() + m * stride + kRoom + first;
    std::copy(source, source + kRoutingBlock + k, limits[m]);
  }
  if (!crosses_by_block || z.empty()) return;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (Whole(block, over)) {
    float d[kRoutingBlock + 2 * kMaxBandwidth];
    DistancesToBlock(first, kRoutingBlock + 2 * bandwidth, over, d);
    for (std::size_t m = 1; m <= bandwidth; ++m) {
      for (std::size_t n = bandwidth - m; n < kRoutingBlock + bandwidth; ++n)
        limits[m - 1][n] = d[n] + d[n + m] < limits[m - 1][n] ? kInfinity : -kInfinity;
    }
    return;
  }
  // Those that cross begin within k before the block or before its end.
  float d[2 * kMaxBandwidth];
  for (const std::ptrdiff_t begin :
       {std::ptrdiff_t{0}, static_cast<std::ptrdiff_t>(kRoutingBlock)}) {
    DistancesToBlock(first + begin, 2 * bandwidth, over, d);
    for (std::size_t m = 1; m <= bandwidth; ++m) {
      for (std::size_t n = bandwidth - m; n < bandwidth; ++n) {
        float& limit = limits[m - 1][static_cast<std::size_t>(begin) + n];
        limit = d[n] + d[n + m] < limit ? kInfinity : -kInfinity;
      }
    }
  }
}

}  // namespace submarine::internal
