#include "submarine/stereo/match/stereo_crf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "submarine/base/argmax.h"
#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/labels/label_cuts.h"
#include "submarine/model/image_features.h"
#include "submarine/stereo/semi_global/given_costs.h"

namespace submarine {
namespace {

using internal::kCostUnit;
using internal::kRowGrain;
using internal::ParallelFor;
using internal::SemiGlobalMatch;

// Of disparities outside of their range.
constexpr float kImpossible = 200.0F;

// Of pixels from `first` on.
Matrix<float> Unaries(const SemiGlobalMatch& match, const StereoCrfOptions& options,
                      std::size_t first, std::size_t pixels) {
  const int disparities = match.sums.disparities;
  auto unary = Matrix<float>::Unset(pixels, static_cast<std::size_t>(disparities));
  const auto scale = static_cast<float>(options.scale / kCostUnit);
  const auto limit = static_cast<float>(options.limit);
  const auto filled_scale = static_cast<float>(options.filled_scale);
  const auto filled_limit = static_cast<float>(options.filled_limit);
  ParallelFor(unary.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      float* to = unary.row(row).data();
      const std::size_t a = first + row;
      if (match.visible[a] != 0) {
        const std::uint16_t* sums = match.sums.cells.row(a).data();
        const int least = *std::min_element(sums, sums + disparities);
        for (int k = 0; k < disparities; ++k)
          to[k] = std::min(scale * static_cast<float>(int{sums[k]} - least), limit);
      } else {
        const auto filled = static_cast<int>(std::lround(match.disparities[a]));
        for (int k = 0; k < disparities; ++k)
          to[k] = std::min(filled_scale * static_cast<float>(std::abs(k - filled)), filled_limit);
      }
      if (match.given.low.empty()) continue;
      for (int k = 0; k < disparities; ++k) {
        if (internal::IsOutside(match.given, a, k)) to[k] = kImpossible;
      }
    }
  });
  return unary;
}

std::vector<float> Smoothed(const SemiGlobalMatch& match, const std::vector<float>& disparities) {
  std::vector<float> smoothed =
      internal::Median5x5(disparities, match.sums.width, match.sums.height);
  internal::ClampToRanges(match.given, &smoothed);
  return smoothed;
}

void CheckMarginalCount(const Matrix<float>& marginals, std::span<const float> disparities) {
  if (disparities.size() != marginals.rows()) {
    throw InvalidInput(fmt::format("there are {} disparities but {} marginals", disparities.size(),
                                   marginals.rows()));
  }
}

}  // namespace

std::vector<GaussianKernel> StereoKernels(const StereoView& left, const StereoCrfOptions& options) {
  const std::array colour_sigma = {options.colour_sigma};
  std::vector<GaussianKernel> kernels;
  kernels.push_back(BilateralKernel(left.width, left.height, left.channels, left.samples,
                                    options.sigma, options.sigma, colour_sigma, options.weight));
  kernels.back().normalisation = KernelNormalisation::kSymmetric;
  return kernels;
}

LabelSpace StereoLabels(int disparities, const StereoCrfOptions& options) {
  return TruncatedLinearLabels(disparities, options.truncation);
}

DenseCrf StereoCrf(const SemiGlobalMatch& match, std::vector<GaussianKernel> kernels,
                   const StereoCrfOptions& options, int first_row, int rows) {
  const auto width = static_cast<std::size_t>(match.sums.width);
  const auto height = static_cast<std::size_t>(rows > 0 ? rows : match.sums.height);
  return {Unaries(match, options, static_cast<std::size_t>(first_row) * width, height * width),
          std::move(kernels), StereoLabels(match.sums.disparities, options), PairCounting::kOnce};
}

std::vector<float> StereoDisparities(const SemiGlobalMatch& match, const Matrix<float>& marginals) {
  std::vector<float> disparities =
      internal::RefineByCosts(match.sums, internal::ArgmaxLabels(marginals));
  for (std::size_t a = 0; a < disparities.size(); ++a) {
    if (match.agrees[a] == 0) disparities[a] = match.disparities[a];
  }
  return Smoothed(match, disparities);
}

std::vector<float> FastDisparities(const SemiGlobalMatch& match) {
  return Smoothed(match, match.disparities);
}

std::vector<std::uint8_t> Occluded(const SemiGlobalMatch& match) {
  std::vector<std::uint8_t> occluded(match.visible.size());
  std::transform(match.visible.begin(), match.visible.end(), occluded.begin(),
                 [](std::uint8_t visible) { return static_cast<std::uint8_t>(visible == 0); });
  return occluded;
}

DisparityIntervals StereoIntervals(const Matrix<float>& marginals,
                                   std::span<const float> disparities, double share) {
  CheckMarginalCount(marginals, disparities);
  DisparityIntervals intervals{std::vector<float>(disparities.size()),
                               std::vector<float>(disparities.size())};
  const double tail = (1.0 - share) / 2.0;
  ParallelFor(disparities.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      const std::span<const float> row = marginals.row(a);
      std::size_t low = 0;
      for (double left = row[0]; left <= tail && low + 1 < row.size(); left += row[low]) ++low;
      std::size_t high = row.size() - 1;
      for (double right = row[high]; right <= tail && high > low; right += row[high]) --high;
      intervals.low[a] = std::min(disparities[a], static_cast<float>(low) - 0.5F);
      intervals.high[a] = std::max(disparities[a], static_cast<float>(high) + 0.5F);
    }
  });
  return intervals;
}

std::vector<float> StereoUncertainty(const Matrix<float>& marginals,
                                     std::span<const float> disparities) {
  CheckMarginalCount(marginals, disparities);
  std::vector<float> uncertainty(disparities.size());
  const auto last = static_cast<float>(marginals.cols()) - 1.0F;
  ParallelFor(uncertainty.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      const float d = std::clamp(disparities[a], 0.0F, last);
      const auto from = static_cast<std::size_t>(std::ceil(std::max(0.0F, d - 1.0F)));
      const auto to = static_cast<std::size_t>(std::floor(std::min(last, d + 1.0F)));
      double mass = 0.0;
      for (std::size_t k = from; k <= to; ++k) mass += marginals(a, k);
      uncertainty[a] = static_cast<float>(std::clamp(1.0 - mass, 0.0, 1.0));
    }
  });
  return uncertainty;
}

}  // namespace submarine
