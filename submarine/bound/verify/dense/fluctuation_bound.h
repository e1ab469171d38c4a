// An upper bound on log Z of Potts models whose pair weights are a positive semidefinite matrix off its diagonal, such as those
// of a lattice: mean field, and what the fluctuations about it can add at most (docs/math.md, "Fluctuations").
//
// Where every pixel has many partners of little weight each, sums over them hardly fluctuate, and the bound is close to mean
// field's value. No flow says that: the relaxation charges no pair whose marginals are equal.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/bound/bound.h"
#include "submarine/bound/tilted_upper.h"
#include "submarine/model/dense_crf.h"

namespace submarine::internal {

// P of E(x) = const + sum_a phi_a(x_a) + sum_{a<b} P_ab [x_a != x_b]: symmetric, positive semidefinite with the diagonal that it
// is given here, and nowhere negative.
struct SemidefinitePairs {
  // P x for x >= 0. Every entry is off by at most `error` times itself, as are the row sums.
  std::function<Matrix<double>(const Matrix<double>&)> product;
  std::vector<double> row_sums;
  std::vector<double> self;  // P_aa, or more
  double error = 0.0;
};

// About the model with its unaries and these pairs; the marginals say about where to expand. None where fluctuations may be
// too large for any bound of this kind. `on_progress` is called between steps.
std::optional<Bound> FluctuationUpper(const DenseCrf& model, const SemidefinitePairs& pairs,
                                      const Matrix<float>& marginals, double temperature,
                                      const std::function<void(double)>& on_progress,
                                      TiltedPlace tilted);

}  // namespace submarine::internal
