#include "submarine/stereo/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include "submarine/base/error.h"

namespace submarine::internal {
namespace {

constexpr int kMaxSteps = 10000;
constexpr double kRowSumTolerance = 1e-3;  // single precision over 1024 labels, with a margin

struct ComparedPixel {
  std::size_t index;
  double error;  // |estimate - truth|
};

void CheckSize(std::string_view array, std::size_t size, std::size_t expected) {
  if (size != expected) {
    throw InvalidInput(fmt::format("disparity evaluation: the {} has {} pixels, the truth has {}",
                                   array, size, expected));
  }
}

void CheckCount(std::string_view argument, int value) {
  if (value < 1 || value > kMaxSteps) {
    throw InvalidInput(fmt::format("disparity evaluation: {} is {}, expected 1 to {}", argument,
                                   value, kMaxSteps));
  }
}

std::vector<ComparedPixel> ComparedPixels(std::span<const float> estimate,
                                          std::span<const float> truth,
                                          std::span<const std::uint8_t> mask) {
  CheckSize("estimate", estimate.size(), truth.size());
  if (!mask.empty()) CheckSize("mask", mask.size(), truth.size());
  std::vector<ComparedPixel> pixels;
  for (std::size_t a = 0; a < truth.size(); ++a) {
    if (std::isnan(truth[a]) || (!mask.empty() && mask[a] == 0)) continue;
    if (std::isinf(truth[a])) {
      throw InvalidInput(fmt::format(
          "disparity evaluation: the true disparity of pixel {} is {}, expected NaN where unknown",
          a, truth[a]));
    }
    if (!std::isfinite(estimate[a])) {
      throw InvalidInput(
          fmt::format("disparity evaluation: the estimate of pixel {} is {}, expected a finite "
                      "number where the truth is known",
                      a, estimate[a]));
    }
    pixels.push_back({a, std::abs(static_cast<double>(estimate[a]) - truth[a])});
  }
  if (pixels.empty()) {
    throw InvalidInput(
        fmt::format("disparity evaluation: none of the {} pixels has a known true disparity{}",
                    truth.size(), mask.empty() ? "" : " inside the mask"));
  }
  return pixels;
}

double BadShare(std::span<const ComparedPixel> pixels, double threshold) {
  const auto bad =
      std::count_if(pixels.begin(), pixels.end(),
                    [threshold](const ComparedPixel& pixel) { return pixel.error > threshold; });
  return static_cast<double>(bad) / static_cast<double>(pixels.size());
}

struct RankedPixel {
  double uncertainty;
  bool bad;
};

// The fraction of bad pixels among the 1 - removed least uncertain ones, for every `removed`
// (ascending; processed from the last to the first, so that the pixels kept only grow).
std::vector<double> BadAmongTheRest(std::vector<RankedPixel> pixels,
                                    std::span<const double> removed) {
  std::sort(pixels.begin(), pixels.end(), [](const RankedPixel& p, const RankedPixel& q) {
    return p.uncertainty < q.uncertainty;
  });
  const auto total = static_cast<double>(pixels.size());
  std::vector<double> shares(removed.size());
  std::size_t begin = 0;  // [begin, end) is the group of equal uncertainty at the cut
  std::size_t end = 0;
  double bad_before = 0.0;  // in [0, begin)
  double bad_in_group = 0.0;
  for (std::size_t k = removed.size(); k-- > 0;) {
    const double kept = total - total * removed[k];
    while (end < pixels.size() && (end == 0 || static_cast<double>(end) < kept)) {
      bad_before += bad_in_group;
      bad_in_group = 0.0;
      begin = end;
      for (; end < pixels.size() && pixels[end].uncertainty == pixels[begin].uncertainty; ++end) {
        bad_in_group += pixels[end].bad ? 1.0 : 0.0;
      }
    }
    // Written so that a single group (begin = 0) gives its fraction without rounding.
    const double share_of_group = bad_in_group / static_cast<double>(end - begin);
    shares[k] = bad_before / kept + share_of_group * ((kept - static_cast<double>(begin)) / kept);
  }
  return shares;
}

double TrapezoidArea(std::span<const double> x, std::span<const double> y) {
  double area = 0.0;
  for (std::size_t k = 1; k < x.size(); ++k) area += 0.5 * (x[k] - x[k - 1]) * (y[k] + y[k - 1]);
  return area;
}

void CheckMarginals(std::span<const float> row, std::size_t pixel) {
  double sum = 0.0;
  for (std::size_t label = 0; label < row.size(); ++label) {
    if (!(row[label] >= 0.0F) || !std::isfinite(row[label])) {
      throw InvalidInput(
          fmt::format("disparity evaluation: the marginal of pixel {}, label {} is {}, expected a "
                      "finite number >= 0",
                      pixel, label, row[label]));
    }
    sum += row[label];
  }
  if (std::abs(sum - 1.0) > kRowSumTolerance) {
    throw InvalidInput(fmt::format(
        "disparity evaluation: the marginals of pixel {} sum to {}, expected 1", pixel, sum));
  }
}

double MassWithinOne(std::span<const float> row, double estimate) {
  double mass = 0.0;
  for (std::size_t label = 0; label < row.size(); ++label) {
    if (std::abs(static_cast<double>(label) - estimate) <= 1.0) mass += row[label];
  }
  return std::min(mass, 1.0);  // rows sum to one only up to rounding
}

struct Bin {
  double confidences = 0.0;
  std::int64_t hits = 0;
  std::int64_t count = 0;
};

Calibration SummariseBins(std::span<const Bin> bins, std::int64_t pixels) {
  Calibration result;
  for (const Bin& bin : bins) {
    if (bin.count == 0) continue;
    const auto count = static_cast<double>(bin.count);
    result.count.push_back(bin.count);
    result.confidence.push_back(bin.confidences / count);
    result.frequency.push_back(static_cast<double>(bin.hits) / count);
    result.expected_error += count / static_cast<double>(pixels) *
                             std::abs(result.confidence.back() - result.frequency.back());
  }
  return result;
}

}  // namespace

DisparityErrors CompareDisparities(std::span<const float> estimate, std::span<const float> truth,
                                   std::span<const std::uint8_t> mask) {
  const std::vector<ComparedPixel> pixels = ComparedPixels(estimate, truth, mask);
  DisparityErrors errors{.pixels = static_cast<std::int64_t>(pixels.size()),
                         .bad_half = BadShare(pixels, 0.5),
                         .bad_one = BadShare(pixels, 1.0),
                         .bad_two = BadShare(pixels, 2.0)};
  for (const ComparedPixel& pixel : pixels) errors.mean_absolute += pixel.error;
  errors.mean_absolute /= static_cast<double>(pixels.size());
  return errors;
}

Sparsification Sparsify(std::span<const float> estimate, std::span<const float> truth,
                        std::span<const float> uncertainty, std::span<const std::uint8_t> mask,
                        double threshold, int steps) {
  CheckSize("uncertainty", uncertainty.size(), truth.size());
  CheckCount("steps", steps);
  if (!(threshold >= 0.0) || !std::isfinite(threshold)) {
    throw InvalidInput(fmt::format(
        "disparity evaluation: threshold is {}, expected a finite number >= 0", threshold));
  }
  std::vector<RankedPixel> by_uncertainty;
  std::vector<RankedPixel> by_error;
  for (const ComparedPixel& pixel : ComparedPixels(estimate, truth, mask)) {
    if (!std::isfinite(uncertainty[pixel.index])) {
      throw InvalidInput(fmt::format(
          "disparity evaluation: the uncertainty of pixel {} is {}, expected a finite number",
          pixel.index, uncertainty[pixel.index]));
    }
    const bool bad = pixel.error > threshold;
    by_uncertainty.push_back({uncertainty[pixel.index], bad});
    by_error.push_back({pixel.error, bad});
  }

  Sparsification result;
  for (int k = 0; k < steps; ++k) result.removed.push_back(static_cast<double>(k) / steps);
  result.by_uncertainty = BadAmongTheRest(std::move(by_uncertainty), result.removed);
  result.oracle = BadAmongTheRest(std::move(by_error), result.removed);
  result.area = TrapezoidArea(result.removed, result.by_uncertainty);
  result.oracle_area = TrapezoidArea(result.removed, result.oracle);
  result.random_area = result.by_uncertainty.front() * result.removed.back();
  return result;
}

Calibration Calibrate(const Matrix<float>& marginals, std::span<const float> estimate,
                      std::span<const float> truth, std::span<const std::uint8_t> mask, int bins) {
  CheckSize("matrix of marginals", marginals.rows(), truth.size());
  CheckCount("bins", bins);
  const std::vector<ComparedPixel> pixels = ComparedPixels(estimate, truth, mask);
  std::vector<Bin> filled(static_cast<std::size_t>(bins));
  for (const ComparedPixel& pixel : pixels) {
    const std::span<const float> row = marginals.row(pixel.index);
    CheckMarginals(row, pixel.index);
    const double confidence = MassWithinOne(row, estimate[pixel.index]);
    Bin& bin =
        filled[static_cast<std::size_t>(std::min(bins - 1, static_cast<int>(confidence * bins)))];
    bin.confidences += confidence;
    bin.hits += pixel.error <= 1.0 ? 1 : 0;
    ++bin.count;
  }
  return SummariseBins(filled, static_cast<std::int64_t>(pixels.size()));
}

}  // namespace submarine::internal
