#include "submarine/stereo/match/match_stereo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <variant>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/labels/label_cuts.h"
#include "submarine/stereo/disparity.h"
#include "submarine/stereo/match/solve_stereo_crf.h"
#include "submarine/stereo/match/stereo_crf.h"

namespace submarine {

SolveOptions StereoSolveOptions(Certify certify, int updates) {
  SolveOptions solve;
  solve.dense.updates = updates;
  solve.dense.certify = certify;
  solve.dense.marginals = DenseMarginals::kMeanField;
  if (certify == Certify::kNone || certify == Certify::kLower) {
    solve.method = Method::kMeanField;
    solve.dense.pairs.kind = OperatorKind::kLattice;
  }
  return solve;
}

void RequireMatchingFits(std::size_t pixels, int disparities, const StereoGiven& given,
                         std::size_t max_bytes) {
  constexpr double kVolumes = 2.0;  // costs and sums
  const double per_pixel =
      kVolumes * sizeof(std::uint16_t) *
          static_cast<double>(internal::CostVolume::PaddedDisparities(disparities)) +
      (given.costs.empty() ? 0.0 : static_cast<double>(sizeof(float)) * disparities);
  const double bytes = per_pixel * static_cast<double>(pixels);
  const auto limit = static_cast<double>(max_bytes > 0 ? max_bytes : DefaultMemory());
  if (bytes <= limit) return;
  throw TooLarge(
      fmt::format("matching {} pixels with {} disparities needs about {:.3g} MB of memory, "
                  "more than the limit of {:.3g} MB",
                  pixels, disparities, bytes / 1e6, limit / 1e6),
      {.variables = limit / per_pixel,
       .given_variables = static_cast<double>(pixels),
       .fewer_labels = true,
       .bytes = bytes});
}

int DisparitiesOf(const StereoView& left, const StereoView& right, const StereoGiven& given) {
  const auto pixels = static_cast<std::size_t>(left.width) * static_cast<std::size_t>(left.height);
  if (!given.costs.empty()) {
    if (pixels == 0 || given.costs.size() % pixels != 0) {
      throw InvalidInput(
          fmt::format("there are {} costs, expected as many for each of the {} pixels",
                      given.costs.size(), pixels));
    }
    return static_cast<int>(std::min<std::size_t>(given.costs.size() / pixels, kMaxLabels + 1));
  }
  float high = 0.0F;
  for (const float end : given.high) {
    if (!std::isfinite(end)) return GuessDisparities(left, right);
    high = std::max(high, end);
  }
  if (given.high.empty()) return GuessDisparities(left, right);
  const auto most = static_cast<float>(std::min(left.width, kMaxLabels) - 1);
  return std::max(2, static_cast<int>(std::ceil(std::min(high, most))) + 1);
}

StereoMatch MatchStereo(const StereoView& left, const StereoView& right,
                        const StereoMatchOptions& options, const Watch& watch) {
  const internal::ThreadLimit threads(options.limits.threads);
  const int disparities =
      options.disparities > 0 ? options.disparities : DisparitiesOf(left, right, options.given);
  internal::CheckViews(left, right, disparities);
  const auto pixels = static_cast<std::size_t>(left.width) * static_cast<std::size_t>(left.height);
  RequireMatchingFits(pixels, disparities, options.given, options.limits.max_bytes);
  internal::SemiGlobalMatch match =
      internal::MatchSemiGlobal(left, right, disparities, {}, options.given);
  StereoMatch result;
  result.width = left.width;
  result.height = left.height;
  result.num_disparities = disparities;
  result.raw = std::move(match.raw);
  result.occluded = Occluded(match);
  if (options.fast) {
    result.disparities = FastDisparities(match);
    return result;
  }
  const StereoCrfOptions crf;
  SolveOptions solve = StereoSolveOptions(options.certify, crf.updates);
  solve.limits = options.limits;
  result.solved = SolveStereoCrf(match, left, crf, solve, watch);
  const auto& marginals = std::get<Matrix<float>>(result.solved.marginals);
  result.disparities = StereoDisparities(match, marginals);
  result.uncertainty = StereoUncertainty(marginals, result.disparities);
  return result;
}

}  // namespace submarine
