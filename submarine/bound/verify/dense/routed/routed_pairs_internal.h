// The one pass of the verifier of routes over all pairs (routed_verifier.h); not for use elsewhere.
#pragma once

#include <cstddef>
#include <utility>

#include "submarine/base/matrix.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/bound/verify/dense/dense_verifier_internal.h"
#include "submarine/extension/evidence.h"
#include "submarine/model/dense_crf.h"

namespace submarine::internal {

// What was added up, by position on the paths.
struct RoutedSums {
  Matrix<double> flow;     // positions x active cuts
  Matrix<double> edge;     // positions x bandwidth: W of the edge from p to p + m at (p, m - 1)
  double weight = 0.0;     // sum of all weights visited, with the margins of squares
  double error = 0.0;      // total error of the weights, in ulps
  double excess = 0.0;     // what true weights may be larger because their factors are
  double variation = 0.0;  // sum over pairs and cuts of (w - u) l |z_a - z_b|
  double roundings = 0.0;  // of any of these sums, at most
  bool complete = true;    // false: pairs were left out because progress was to end

  RoutedSums(std::size_t positions, std::size_t cuts, std::size_t bandwidth)
      : flow(positions, cuts), edge(positions, bandwidth) {}
};

// The proof's flows on what its routing leaves, and the weights of its edges. With `dual_z` (variables x cuts; may be
// empty) also the variation of these cut sums. When the progress is to end, pairs far from the paths' edges are left out.
RoutedSums SumRoutedPairs(const DenseCrf& model, const RoutedProof& proof,
                          const Matrix<float>& dual_z, const PairOptions& options,
                          const dense_verifier::Progress& progress);

}  // namespace submarine::internal
