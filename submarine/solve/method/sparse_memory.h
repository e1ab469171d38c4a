// Estimates what a solve of a sparse model holds at its peak, in bytes, before it starts: within a fifth of what was measured
// on grids of 5 and 64 labels with 4 and 8 neighbours.
#pragma once

#include "submarine/solve/method/times.h"

namespace submarine::internal {

// Numbers of matrices of variables x labels, of variables x cuts, of edges x cuts, and of messages, two rows of labels per
// edge; bytes of lists beside them.
struct SparseHeld {
  double labels = 0.0;
  double cuts = 0.0;
  double flows = 0.0;
  double messages = 0.0;
  double per_variable = 40.0;
  double per_edge = 0.0;
};

// The model itself.
double ModelBytes(const SparseSize& size);
// What is held beside it.
double HeldBytes(const SparseHeld& held, const SparseSize& size);

// The bounds by the unaries, and their marginals.
inline constexpr SparseHeld kUnariesHeld = {.labels = 1.0};
// Beside a copy of the model: unaries of two forests, and those of the model once more.
inline constexpr SparseHeld kTiltedHeld = {.labels = 3.0, .per_edge = 16.0};
// TRW with some ten forests (SparsePolicy::kRhoSteps): their unaries and workspaces, and the steps that L-BFGS remembers.
inline constexpr SparseHeld kManyForestsHeld = {
    .labels = 40.0, .messages = 16.0, .per_variable = 1000.0, .per_edge = 300.0};
// Mean field after an upper bound, whose marginals are among the starts.
inline constexpr SparseHeld kMeanFieldHeld = {.labels = 5.0, .cuts = 1.0};
// Mean field between trees, started from both, and its verifier.
inline constexpr SparseHeld kForestMeanFieldHeld = {
    .labels = 11.5, .cuts = 1.0, .messages = 0.7, .per_variable = 200.0, .per_edge = 12.0};

}  // namespace submarine::internal
