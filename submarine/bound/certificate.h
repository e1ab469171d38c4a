// What a solve proves about T log Z_T = T log sum_x exp(-E(x)/T) of one named model:
//
//   lower <= T log Z_T <= upper,      dual <= min over EP(F) of the bound <= upper.
//
// upper - lower is the interval for the partition function; upper - dual is how far the upper bound
// may still be from the best one that this extension can give. As T log Z_T >= -min E, -upper also
// bounds the least energy from below.
#pragma once

#include <optional>
#include <string>

namespace submarine {

struct Certificate {
  std::string model;  // the model that the numbers are about
  std::string
      extension;  // "optimal" or "alternate"; empty when there is no upper bound by extension
  double temperature = 1.0;  // T
  std::optional<double> lower;
  std::optional<double> upper;
  std::optional<double> dual;
};

}  // namespace submarine
