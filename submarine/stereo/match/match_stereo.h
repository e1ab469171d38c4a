// Stereo in one call: two views in, disparities and how sure they are out.
//
//   const StereoMatch match = MatchStereo(left, right);
//   ... match.disparities, match.uncertainty, match.occluded
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "submarine/solve/solve.h"
#include "submarine/stereo/matching_cost.h"

namespace submarine {

struct StereoMatchOptions {
  int disparities = 0;  // 0..disparities - 1 pixels; 0: DisparitiesOf
  StereoGiven given = {};
  // Without the CRF: in a third of the time, but no marginals and no uncertainty.
  bool fast = false;
  // kNone: nothing is proven. Otherwise an interval around log Z of the CRF, which leaves the disparities as
  // they are.
  Certify certify = Certify::kNone;
  SolveLimits limits = {};
};

struct StereoMatch {
  int width = 0;
  int height = 0;
  int num_disparities = 0;
  // One number per pixel of the left view, row by row.
  std::vector<float> disparities;
  std::vector<float> raw;              // before filling and smoothing; NaN where occluded
  std::vector<std::uint8_t> occluded;  // 1 where the right view does not confirm it: filled in
  std::vector<float>
      uncertainty;     // the probability that it is off by more than a pixel; fast: empty
  SolveResult solved;  // marginals and what is proven; fast: not run
};

// The limit of time is about the CRF; that of memory and threads about all. Throws InvalidInput as
// MatchingCosts does and for what cannot be given, and what Solve throws.
StereoMatch MatchStereo(const StereoView& left, const StereoView& right,
                        const StereoMatchOptions& options = {}, const Watch& watch = {});

// As many as costs are given for, or as ranges need; else GuessDisparities. Throws InvalidInput for costs that
// are not as many for every pixel.
int DisparitiesOf(const StereoView& left, const StereoView& right, const StereoGiven& given);

// How a CRF over semi-global evidence is solved: few updates of mean field, and with `certify` another method
// that proves something of it.
SolveOptions StereoSolveOptions(Certify certify, int updates);

// The bytes that semi-global matching holds while it runs, given costs included. Throws TooLarge where they are
// more than `max_bytes` (0: DefaultMemory()).
void RequireMatchingFits(std::size_t pixels, int disparities, const StereoGiven& given,
                         std::size_t max_bytes);

}  // namespace submarine
