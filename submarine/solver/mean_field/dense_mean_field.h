// Mean field on a dense model with its true free energy (pairs once, no self terms):
//
//   F(y) = T sum_a H(y_a) - <phi, y> - sum_{a<b} w_ab y_a^T d y_b - constant <= T log Z_T.
//
// All variables move at once, one plain product per iteration. Without damping this is the classic
// update y = softmax(-(phi + field) / T), which may oscillate. With damping,
//
//   y_new = argmin <phi + field(y), y> - T H(y) + g/2 |y - y_old|^2,
//
// where g are the self weights of the Gaussian matrix, which the model leaves out: K plus its
// diagonal is positive semidefinite, so minus the pair term is convex up to g/2 |y|^2 and F never
// falls. At T = 0 F is minus the mean energy, and steps are projected gradient steps towards
// labelings.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/extension/dense_extension.h"
#include "submarine/solver/mean_field/mean_field.h"

namespace submarine::internal {

struct DenseMeanFieldOptions {
  double temperature = 1.0;  // T >= 0
  int max_iterations = 100;
  double tolerance = 1e-6;  // stop when an iteration gains less than this * max(1, |F|)
  bool damped = true;
  // Evaluate F after every iteration. If false, all max_iterations are made and `lower` stays -inf;
  // if damping is off as well, Potts models on lattices are then updated without holding any matrix
  // but the unaries and the marginals (streamed_updates.h).
  bool measured = true;
  Matrix<float> start = {};  // empty: the softmax of the unaries at T
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  // After every iteration, with the best value so far; return false to stop.
  std::function<bool(int iteration, double seconds, double lower)> on_iteration = {};
};

struct DenseMeanFieldResult {
  double lower = -std::numeric_limits<double>::infinity();  // F(marginals), for the operator's K
  Matrix<float> marginals;  // the best seen when damped, the last otherwise
  int iterations = 0;
  bool converged = false;
  std::vector<double> free_energy;  // F after every iteration, if measured
};

// Throws InvalidInput for a start of the wrong shape, and for temperatures as the other solvers do.
// If the extension's `interrupted` ends it, returns the best marginals evaluated so far, or its
// start.
DenseMeanFieldResult SolveMeanField(const DenseExtension& extension,
                                    const DenseMeanFieldOptions& options);

}  // namespace submarine::internal
