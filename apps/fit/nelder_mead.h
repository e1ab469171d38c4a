// Nelder and Mead's simplex search: the least value of a function of a few numbers, from values alone.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace submarine::apps {

struct NelderMeadOptions {
  int max_evaluations = 100;
  double tolerance =
      1e-3;  // stop when no corner of the simplex is further from the best one, in any coordinate
  std::uint64_t seed = 1;  // of the signs of the first steps
};

struct NelderMeadResult {
  std::vector<double> point;  // the best that was seen
  double value = 0.0;
  std::vector<double> best_so_far;  // after each evaluation
};

// `step` is the size of the first simplex in each coordinate; points stay between `low` and `high`. What the function throws is passed
// on. The same values lead to the same points, so a search whose values are remembered can be repeated up to where it was stopped.
NelderMeadResult MinimiseByNelderMead(
    const std::function<double(const std::vector<double>&)>& function, std::vector<double> start,
    const std::vector<double>& step, const std::vector<double>& low,
    const std::vector<double>& high, const NelderMeadOptions& options);

}  // namespace submarine::apps
