#include "submarine/stereo/disparity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "submarine/base/error.h"
#include "submarine/labels/label_cuts.h"
#include "submarine/stereo/shrink.h"

namespace submarine {
namespace {

using internal::ShrinkImage;

constexpr int kGuessColumns = 200;      // width of the reduced copies
constexpr int kGuessWindow = 2;         // radius of the matching windows
constexpr double kGuessShare = 0.002;   // fraction of consistent pixels that may lie beyond
constexpr float kDistinctRatio = 1.3F;  // by which the cost of other disparities must be higher
constexpr int kLeastDisparities = 8;

// costs(a, k) for the pixels of the right view, where pixel x at disparity k matches x + k of the
// left.
Matrix<float> CostsOfRight(const Matrix<float>& costs, int width) {
  Matrix<float> right(costs.rows(), costs.cols(), 1e30F);
  for (std::size_t a = 0; a < costs.rows(); ++a) {
    const std::size_t x = a % static_cast<std::size_t>(width);
    for (std::size_t k = 0; k < std::min(costs.cols(), x + 1); ++k) right(a - k, k) = costs(a, k);
  }
  return right;
}

std::vector<int> Cheapest(const Matrix<float>& costs) {
  std::vector<int> best(costs.rows());
  for (std::size_t a = 0; a < costs.rows(); ++a) {
    const auto row = costs.row(a);
    best[a] = static_cast<int>(std::min_element(row.begin(), row.end()) - row.begin());
  }
  return best;
}

// Whether every disparity more than a pixel away costs clearly more: repetitive or uniform surfaces
// match anything.
bool IsDistinct(std::span<const float> costs, int best) {
  const float limit = kDistinctRatio * costs[static_cast<std::size_t>(best)];
  for (int k = 0; k < static_cast<int>(costs.size()); ++k) {
    if (std::abs(k - best) > 1 && costs[static_cast<std::size_t>(k)] < limit) return false;
  }
  return true;
}

// A histogram of the disparities on which both views clearly agree.
std::vector<std::int64_t> ConsistentDisparities(const StereoView& left, const StereoView& right,
                                                int disparities) {
  const Matrix<float> costs = MatchingCosts(
      left, right, disparities, {.kind = MatchingKind::kCensus, .radius = kGuessWindow});
  const std::vector<int> of_left = Cheapest(costs);
  const std::vector<int> of_right = Cheapest(CostsOfRight(costs, left.width));
  std::vector<std::int64_t> counts(static_cast<std::size_t>(disparities), 0);
  for (std::size_t a = 0; a < of_left.size(); ++a) {
    const int k = of_left[a];
    const bool inside = k <= static_cast<int>(a % static_cast<std::size_t>(left.width));
    if (inside && of_right[a - static_cast<std::size_t>(k)] == k && IsDistinct(costs.row(a), k))
      ++counts[static_cast<std::size_t>(k)];
  }
  return counts;
}

}  // namespace

std::vector<float> RefinedDisparities(const Matrix<float>& marginals, std::span<const int> labels) {
  if (labels.size() != marginals.rows()) {
    throw InvalidInput(
        fmt::format("there are {} labels but {} marginals", labels.size(), marginals.rows()));
  }
  const int last = static_cast<int>(marginals.cols()) - 1;
  std::vector<float> disparities(labels.size());
  for (std::size_t a = 0; a < labels.size(); ++a) {
    if (labels[a] < 0 || labels[a] > last)
      throw InvalidInput(
          fmt::format("pixel {} has label {}, expected 0 to {}", a, labels[a], last));
    double mass = 0.0;
    double moment = 0.0;
    for (int k = std::max(0, labels[a] - 1); k <= std::min(last, labels[a] + 1); ++k) {
      const double p = marginals(a, static_cast<std::size_t>(k));
      mass += p;
      moment += p * k;
    }
    disparities[a] = static_cast<float>(mass > 0.0 ? moment / mass : labels[a]);
  }
  return disparities;
}

int GuessDisparities(const StereoView& left, const StereoView& right) {
  const int most = std::clamp(left.width / 3, std::min(2, left.width), kMaxLabels);
  const int factor = std::min({(left.width + kGuessColumns - 1) / kGuessColumns, left.height});
  if (most <= kLeastDisparities || left.width / std::max(1, factor) / 3 < 2) return most;
  const auto shrunk = [factor](const StereoView& view) {
    return ShrinkImage(view.samples, view.width, view.height, view.channels, factor);
  };
  const std::vector<float> small_left = shrunk(left);
  const std::vector<float> small_right = shrunk(right);
  const int width = left.width / factor;
  const int height = left.height / factor;
  const std::vector<std::int64_t> counts =
      ConsistentDisparities({width, height, left.channels, small_left},
                            {width, height, right.channels, small_right}, width / 3);
  std::int64_t beyond = 0;
  for (const std::int64_t count : counts) beyond += count;
  const double allowed = kGuessShare * static_cast<double>(beyond);
  int needed = 0;
  while (needed < static_cast<int>(counts.size()) && static_cast<double>(beyond) > allowed)
    beyond -= counts[static_cast<std::size_t>(needed++)];
  // `needed` disparities of the small copies cover at least (needed + 1/2) factor of the views';
  // the rest is a margin.
  return std::clamp((needed + 2) * factor, kLeastDisparities, most);
}

}  // namespace submarine
