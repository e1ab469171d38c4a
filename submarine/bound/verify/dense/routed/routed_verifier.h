// Recomputes the routed bound of a dense model (extension/routing.h, docs/math.md, "Routing") from
// the raw model and the evidence alone: in double, over pairs and sums of its own, rounded upwards.
// True kernels are those of the exact features and scale factors, as in dense_verifier.h.
//
// With pair weights w computed within errors e, log Z of the true model is at most that of the
// computed one plus the sum of e times the largest distance. In the computed model every route is
// one number, which is added to the weight of its edge and subtracted from those of its two pairs;
// pairs that are not looked at keep their weight and carry no flow. Squares of pairs that are products
// (routed_products_internal.h) are bounded as a whole: their routes take their full part from either pair.
#pragma once

#include <optional>

#include "submarine/bound/bound.h"
#include "submarine/bound/tilted_upper.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/extension/evidence.h"
#include "submarine/extension/routing.h"
#include "submarine/model/dense_crf.h"

namespace submarine::internal {

// The bound on T log Z_T that the proof gives, T >= 0. Pairs between two blocks of positions are
// visited unless the kernel (without weight and scale) is below options.cutoff for all of them;
// cutoff 0 visits all. When options.on_progress returns false, the pairs that were not visited by
// then are left out, but for those near the paths' edges: the bound holds, and is looser. Throws
// InvalidInput for an invalid proof (paths that meet a variable twice, shares above 1, whatever
// VerifiedUpper refuses) or when labels^bandwidth exceeds kMaxRoutedStates.
inline constexpr double kMaxRoutedStates = 1 << 20;
Bound VerifiedRoutedUpper(const DenseCrf& model, const RoutedProof& proof,
                          const PairOptions& options, TiltedPlace tilted = nullptr);

// The same with a lower bound on what it can become for this routing and the pairs that are looked at, whatever the
// flows. With y the marginals of a distribution P on the paths, and z their sums over cuts,
//
//   D(P) = T H(P) - <phi,y> - sum over edges of W E_P[d] - sum over pairs and cuts of (w - u) l |z_a - z_b| - constant
//
// is one for every P, here that of proof.dual_point; T > 0. In squares that are products it is about flows that are the same
// for all their pairs, |sum (w - u) l (z_a - z_b)| in place of the last term. There is none where that is empty or T = 0, and where
// pairs were left out for on_progress.
struct RoutedBounds {
  Bound upper;
  std::optional<Bound> dual;
  bool complete = true;  // nothing was left out for on_progress
};
RoutedBounds VerifiedRoutedBounds(const DenseCrf& model, const RoutedProof& proof,
                                  const PairOptions& options, TiltedPlace tilted = nullptr);

}  // namespace submarine::internal
