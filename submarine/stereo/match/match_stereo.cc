#include "submarine/stereo/match/match_stereo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/stereo/disparity.h"
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

void RequireMatchingFits(std::size_t pixels, int disparities, std::size_t max_bytes) {
  constexpr double kVolumes = 3.0;  // costs, and sums in two directions
  const double per_pixel =
      kVolumes * sizeof(std::uint16_t) *
      static_cast<double>(internal::CostVolume::PaddedDisparities(disparities));
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

StereoMatch MatchStereo(const StereoView& left, const StereoView& right,
                        const StereoMatchOptions& options, const Watch& watch) {
  const internal::ThreadLimit threads(options.limits.threads);
  const int disparities =
      options.disparities > 0 ? options.disparities : GuessDisparities(left, right);
  internal::CheckViews(left, right, disparities);
  const auto pixels = static_cast<std::size_t>(left.width) * static_cast<std::size_t>(left.height);
  RequireMatchingFits(pixels, disparities, options.limits.max_bytes);
  const internal::SemiGlobalMatch match = internal::MatchSemiGlobal(left, right, disparities, {});
  StereoMatch result;
  result.width = left.width;
  result.height = left.height;
  result.num_disparities = disparities;
  result.occluded = Occluded(match);
  if (options.fast) {
    result.disparities = FastDisparities(match);
    return result;
  }
  const StereoCrfOptions crf;
  SolveOptions solve = StereoSolveOptions(options.certify, crf.updates);
  solve.limits = options.limits;
  result.solved = Solve(StereoCrf(match, StereoKernels(left, crf), crf), solve, watch);
  result.disparities = StereoDisparities(match, result.solved.labels);
  result.uncertainty =
      StereoUncertainty(std::get<Matrix<float>>(result.solved.marginals), result.disparities);
  return result;
}

}  // namespace submarine
