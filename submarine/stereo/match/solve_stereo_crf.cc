#include "submarine/stereo/match/solve_stereo_crf.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

#include "submarine/base/argmax.h"
#include "submarine/base/error.h"
#include "submarine/base/stopwatch.h"
#include "submarine/filter/gaussian_filter.h"
#include "submarine/solve/prove_parts.h"
#include "submarine/stereo/match/match_stereo.h"

namespace submarine {
namespace {

using internal::SemiGlobalMatch;

// Beyond so many standard deviations a kernel's rows are left out, and bounded as a whole.
constexpr double kReach = 2.0;
constexpr double kReachOfProof = 5.0;

StereoView Rows(const StereoView& view, int first, int count) {
  const auto row = static_cast<std::size_t>(view.width) * static_cast<std::size_t>(view.channels);
  return {view.width, count, view.channels,
          view.samples.subspan(static_cast<std::size_t>(first) * row,
                               static_cast<std::size_t>(count) * row)};
}

class Strips {
 public:
  Strips(const SemiGlobalMatch& match, const StereoView& left, const StereoCrfOptions& crf,
         const SolveOptions& options, const Watch& watch)
      : match_(match),
        left_(left),
        crf_(crf),
        options_(StereoSolveOptions(Certify::kNone, options.dense.updates)),
        watch_(watch),
        marginals_(Matrix<float>::Unset(match.sums.cells.rows(),
                                        static_cast<std::size_t>(match.sums.disparities))) {
    options_.limits = options.limits;
    const std::size_t held = sizeof(float) * marginals_.size();
    std::size_t& bytes = options_.limits.max_bytes;
    if (bytes == 0) bytes = DefaultMemory();
    bytes -= std::min(bytes / 2, held);
  }

  SolveResult Solve(int count) {
    SolveResult all;
    for (int strip = 0; strip < count; ++strip) {
      const auto border = [&](int k) {
        return static_cast<int>(std::int64_t{left_.height} * k / count);
      };
      SolveResult one = SolveRows(border(strip), border(strip + 1));
      if (strip == 0) {
        all = std::move(one);
        continue;
      }
      // The first that was cut short says why.
      if (all.termination == Termination::kIterationLimit) all.termination = one.termination;
      all.estimated_bytes = std::max(all.estimated_bytes, one.estimated_bytes);
    }
    all.estimated_bytes += static_cast<double>(sizeof(float) * marginals_.size());
    all.labels = internal::ArgmaxLabels(marginals_);
    all.marginals = std::move(marginals_);
    all.seconds = clock_.Seconds();
    return all;
  }

 private:
  SolveResult SolveRows(int first, int end) {
    const int reach = static_cast<int>(std::ceil(kReach * crf_.sigma));
    const int begin = std::max(0, first - reach);
    const int rows = std::min(left_.height, end + reach) - begin;
    SolveOptions options = options_;
    options.limits.time_limit_seconds =
        std::max(0.0, options.limits.time_limit_seconds - clock_.Seconds());
    SolveResult solved = submarine::Solve(
        StereoCrf(match_, StereoKernels(Rows(left_, begin, rows), crf_), crf_, begin, rows),
        options, watch_);
    const auto& found = std::get<Matrix<float>>(solved.marginals);
    const auto row = static_cast<std::size_t>(left_.width) * marginals_.cols();
    std::copy_n(found.data() + static_cast<std::size_t>(first - begin) * row,
                static_cast<std::size_t>(end - first) * row,
                marginals_.data() + static_cast<std::size_t>(first) * row);
    solved.marginals = Matrix<float>();
    return solved;
  }

  const SemiGlobalMatch& match_;
  const StereoView& left_;
  const StereoCrfOptions& crf_;
  SolveOptions options_;
  const Watch& watch_;
  const internal::Stopwatch clock_;
  Matrix<float> marginals_;
};

}  // namespace

SolveResult SolveStereoCrf(const SemiGlobalMatch& match, const StereoView& left,
                           const StereoCrfOptions& crf, const SolveOptions& options,
                           const Watch& watch, std::size_t strip_bytes) {
  const auto whole = [&](const SolveOptions& of_whole) {
    return Solve(StereoCrf(match, StereoKernels(left, crf), crf), of_whole, watch);
  };
  const std::size_t bytes_of_row = sizeof(float) * static_cast<std::size_t>(left.width) *
                                   static_cast<std::size_t>(match.sums.disparities);
  const int rows = static_cast<int>(std::clamp<std::size_t>(strip_bytes / bytes_of_row, 1,
                                                            static_cast<std::size_t>(left.height)));
  const bool proves = options.dense.certify != Certify::kNone;
  const bool at_once = rows == left.height;
  if (options.dense.updates == 0 || (at_once && !proves)) return whole(options);
  const internal::Stopwatch clock;
  SolveOptions proving = options;
  std::size_t& bytes = proving.limits.max_bytes;
  if (bytes == 0) bytes = DefaultMemory();
  bytes -= std::min(bytes / 2, bytes_of_row * static_cast<std::size_t>(left.height));
  ModelInRows in_rows;
  int part_rows = 0;  // of strips that are proven one by one; 0: the whole view is
  if (proves) {
    // Room does not depend on how pairs are scaled, which is not known yet.
    in_rows.kernels = StereoKernels(left, crf);
    for (GaussianKernel& kernel : in_rows.kernels)
      kernel.normalisation = KernelNormalisation::kNone;
    in_rows.rows = left.height;
    in_rows.labels = StereoLabels(match.sums.disparities, crf);
    in_rows.reach = static_cast<int>(std::ceil(kReachOfProof * crf.sigma));
    in_rows.part = [&](std::vector<GaussianKernel> kernels, int first_row, int count) {
      return StereoCrf(match, std::move(kernels), crf, first_row, count);
    };
    try {
      RequireFits(in_rows.kernels, match.sums.cells.rows(), in_rows.labels,
                  at_once ? options : proving);
    } catch (const TooLarge&) {
      const bool of_parts =
          options.dense.certify == Certify::kAuto || options.dense.certify == Certify::kExact;
      if (!of_parts || options.method == Method::kMeanField) throw;
      part_rows = RowsThatFit(in_rows, proving);
    }
    if (part_rows == 0) in_rows.kernels = {};
    if (at_once && part_rows == 0) return whole(options);
  }
  SolveResult strips =
      Strips(match, left, crf, options, watch).Solve((left.height + rows - 1) / rows);
  if (!proves || strips.termination == Termination::kInterrupted) return strips;
  if (part_rows > 0) {
    for (GaussianKernel& kernel : in_rows.kernels) {
      kernel.scale = LatticeFactors(kernel, proving.limits.max_bytes);
      kernel.normalisation = KernelNormalisation::kSymmetric;
      kernel.scale_source = "a lattice";
    }
    proving.limits.time_limit_seconds =
        std::max(0.0, options.limits.time_limit_seconds - clock.Seconds());
    SolveResult proven = ProveParts(in_rows, std::get<Matrix<float>>(strips.marginals),
                                    strips.labels, part_rows, proving, watch);
    const auto held = static_cast<double>(bytes_of_row * static_cast<std::size_t>(left.height));
    proven.estimated_bytes = std::max(strips.estimated_bytes, proven.estimated_bytes + held);
    proven.method = options.method;
    proven.updates = options.dense.updates;
    proven.threads = strips.threads;
    proven.marginals = std::move(strips.marginals);
    proven.labels = std::move(strips.labels);
    proven.seconds = clock.Seconds();
    return proven;
  }
  proving.limits.time_limit_seconds =
      std::max(0.0, options.limits.time_limit_seconds - clock.Seconds());
  SolveResult proven = whole(proving);
  proven.marginals = std::move(strips.marginals);
  proven.seconds = clock.Seconds();
  return proven;
}

}  // namespace submarine
