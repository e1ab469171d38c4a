// Nelder and Mead's simplex search: minimises a function of a few numbers from its values alone.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace submarine::internal {

struct NelderMeadOptions {
  int max_evaluations = 100;
  double tolerance =
      1e-3;  // stop when no corner of the simplex is further from the best one, in any coordinate
  std::uint64_t seed = 1;  // of the signs of the first steps
};

struct NelderMeadResult {
  std::vector<double> point;  // the best one evaluated
  double value = 0.0;
  std::vector<double> best_so_far;  // after each evaluation
};

// `step` is the size of the first simplex in each coordinate; points stay between `low` and `high`.
// Exceptions of the function are passed on. The same values lead to the same points, so a search
// with stored values can be repeated up to where it was stopped.
NelderMeadResult MinimiseByNelderMead(
    const std::function<double(const std::vector<double>&)>& function, std::vector<double> start,
    const std::vector<double>& step, const std::vector<double>& low,
    const std::vector<double>& high, const NelderMeadOptions& options);

}  // namespace submarine::internal
