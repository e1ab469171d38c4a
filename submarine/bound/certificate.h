// What a solve proves about T log Z_T = T log sum_x exp(-E(x)/T) of one named model:
//
//   lower <= T log Z_T <= upper,      dual <= the least upper bound of this kind <= upper.
//
// [lower, upper] is the interval around T log Z_T; upper - dual bounds the distance of the upper
// bound from the optimum of its kind (the minimum over EP(F) for a submodular extension). Every
// lower bound is a dual value, too. As T log Z_T >= -min E, -upper is also a lower bound on the
// least energy.
#pragma once

#include <optional>
#include <string>

#include "submarine/bound/bound.h"

namespace submarine {

struct Certificate {
  std::string model;  // the model that the numbers are about
  std::string
      extension;  // "optimal", "alternate" or "routed" (dense); empty: not from an extension
  double temperature = 1.0;  // T
  std::optional<Bound> lower;
  std::optional<Bound> upper;
  std::optional<Bound> dual;
  // Turning given tables into a model with a submodular extension changed the energy of no labeling
  // by more than this. The bounds are about the given tables.
  double defect = 0.0;

  // Throws std::logic_error where lower or dual is above upper, which would prove a bug.
  void Check() const;
};

}  // namespace submarine
