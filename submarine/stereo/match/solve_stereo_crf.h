// The CRF over semi-global evidence, solved; large ones in strips.
#pragma once

#include <cstddef>

#include "submarine/solve/solve.h"
#include "submarine/stereo/match/stereo_crf.h"

namespace submarine {

// Of the marginals of a strip.
inline constexpr std::size_t kStripBytes = std::size_t{256} << 20;

// Where marginals take more than a strip may, they are those of the updates of strips of rows, each solved with the rows
// that its kernel reaches: which takes a third of the memory, and changes them by little. What is proven is about the CRF
// of the whole view all the same; where that does not fit into memory, strip by strip (solve/prove_parts.h). Throws what
// Solve throws.
SolveResult SolveStereoCrf(const internal::SemiGlobalMatch& match, const StereoView& left,
                           const StereoCrfOptions& crf, const SolveOptions& options,
                           const Watch& watch = {}, std::size_t strip_bytes = kStripBytes);

}  // namespace submarine
