// The bounds that unaries alone prove, in one pass over them: for any pair weights >= 0 and any
// metric, labelings that give all variables the same label pay nothing for pairs, so
//
//   max_i -(sum_a phi_a(i) + constant)  <=  -min E  <=  T log Z_T  <=  sum_a T log sum_i exp(-phi_a(i)/T) - constant.
//
// A certificate falls back on them where there is no time for pairs. The lower one is below; the
// upper one is VerifiedUpper of an empty proof (bound/verify/dense/dense_verifier.h).
#pragma once

#include <vector>

#include "submarine/bound/bound.h"
#include "submarine/model/dense_crf.h"

namespace submarine::internal {

struct ConstantLabeling {
  int label;
  Bound energy;  // at least the energy of giving every variable the label
};
ConstantLabeling BestConstantLabeling(const DenseCrf& model);

}  // namespace submarine::internal
