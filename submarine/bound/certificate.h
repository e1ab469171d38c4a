// What a solve proves about T log Z_T = T log sum_x exp(-E(x)/T) of one named model:
//
//   lower <= T log Z_T <= upper,      dual <= min over EP(F) of the bound <= upper.
//
// upper - lower is the interval for the partition function; upper - dual bounds the distance of the
// upper bound from the optimum of this extension. As T log Z_T >= -min E, -upper also
// bounds the least energy from below.
#pragma once

#include <optional>
#include <string>

#include "submarine/bound/bound.h"

namespace submarine {

struct Certificate {
  std::string model;  // the model that the numbers are about
  std::string
      extension;  // "optimal" or "alternate"; empty when there is no upper bound by extension
  double temperature = 1.0;  // T
  std::optional<Bound> lower;
  std::optional<Bound> upper;
  std::optional<Bound> dual;
  // |E_solved(x) - E_given(x)| for every labeling x, at most: what turning the given tables into a
  // model with a submodular extension changed. The bounds are about the given model.
  double defect = 0.0;

  // Ends that cross would prove that something is broken, so they are never handed out: throws
  // std::logic_error.
  void Check() const;
};

}  // namespace submarine
