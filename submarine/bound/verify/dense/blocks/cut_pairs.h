// What unaries take over from pairs that leave a block of a dense model, so that blocks can be bounded by themselves
// (docs/math.md, "Blocks").
#pragma once

#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/model/dense_crf.h"

namespace submarine::internal {

// s_a(i) = sum over b outside of the block of w'_ab (u_a(i) - u_b(i)) for the variables a of the block, with
//
//   w'_ab = sum over kernels of c w r_a r_b max(0, exp(-|f_a - f_b|^2 / 2) - cutoff)  <=  w_ab.
//
// Any model that has all b with a kernel above the cutoff gives the same w', up to the errors.
struct CutPairSums {
  Matrix<double> sums;          // s; 0 outside of the block
  std::vector<double> weights;  // sum of w'
  std::vector<double> errors;   // no s_a(i) is off by more
};

// `own` marks the block, `cutoffs` has a number from 1e-6 to 1 per kernel. Throws InvalidInput for anything else, for
// another shape, and for potentials that are not finite.
CutPairSums SumCutPairs(const DenseCrf& model, const Matrix<float>& potentials,
                        std::span<const unsigned char> own, std::span<const double> cutoffs);

}  // namespace submarine::internal
