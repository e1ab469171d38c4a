// What `auto` decides, and what is refused before it starts, apart from doing it: pure functions of sizes,
// bounds and limits, and the numbers they are tuned by.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include "submarine/solve/times.h"

namespace submarine::internal {

// --- Dense models

struct DenseStrategy {
  // --- Upper bound
  // Number of potentials whose convex combination may prove it: the verifier's time grows with them.
  std::size_t max_hull_terms = 3;
  // The certificate counts the pairs that the lists leave out; solving to less than the gap asked for
  // makes room for them. At the default cutoff they cost some 0.3% of the bound.
  double share_for_solver = 0.5;
  double room_for_far_pairs = 0.004;
  // What an iteration of mean field, or one more potential in a proof, must gain relative to the gap
  // asked for.
  double worthwhile_gain = 1.0 / 25.0;

  // --- A sample of the pairs comes first, with this many neighbours of a variable on average. Fewer, and
  // its state takes longer to settle on all pairs; more, and the marginals are no longer what an iteration
  // spends its time on. Gaps on a sample are those on all pairs but for its noise, which is of this size.
  double sample_neighbours = 96.0;
  double gap_of_sample = 0.03;
  // Before it, a few iterations on all pairs prove something at once; later, all pairs are looked at after
  // this many iterations on the sample, then after twice as many.
  int iterations_before_sample = 3;
  int first_look = 64;
  // Errors of the sample at single variables are corrected soonest with the step sizes of this early an
  // iteration.
  int balance_after_sample = 10;

  // --- Then iterations double from stage to stage, and the gap should halve about. Where it falls by less
  // than a tenth, more stages will not reach it, either.
  int first_stage = 64;
  double stall_ratio = 0.9;

  // --- Mean field closes the last half of the gap faster than PDHG: it is called as soon as the gap
  // is this multiple of the one asked for, and at the end of a stage; unless the labels are worse than
  // the dual value by more than this share of it, which mean field does not make up for.
  double call_mean_field = 2.0;
  double mean_field_reach = 0.02;
  int mean_field_iterations = 100;

  // --- Certificate
  // What bounding far pairs in groups may cost it, relative to the gap asked for and at most.
  double share_for_groups = 1.0 / 50.0;
  double max_far_tolerance = 1e-3;
  // A lower bound that is better than the labels' by less than this share of the gap asked for is left.
  double worth_verifying = 1.0 / 20.0;
  // kAuto accepts this many seconds of enumerating pairs, and this share of the time limit.
  double patience_seconds = 60.0;
  double certificate_share = 0.5;
};

// The first of the cutoffs, which rise, whose list can be built, used for a few iterations and verified
// within the limit; their numbers of pairs are given. The last one where none can.
std::size_t ChooseCutoff(DenseSize size, std::span<const double> pairs, double seconds);

// Where a solver of the upper bound stops so that the certificate, which counts far pairs as well, has
// the gap asked for.
double SolverGap(const DenseStrategy& strategy, double gap, bool certifies_exactly);

// Whether mean field from the labels can reach the dual value.
bool MeanFieldMayHelp(const DenseStrategy& strategy, double energy, double dual);

// Whether another stage is expected to bring the gap down.
bool Stalled(const DenseStrategy& strategy, int stage, double gap_before, double gap);

// --- Sparse models

// The method whose bound is the tightest that the time allows; kAuto where there is none, not even for the
// first bound of one, so that the unaries have to do.
Method ChooseSparse(const SparseSize& size, double temperature, double left);

// Throws TooLarge, with the number, what is left and what would do, unless the method's first bound fits.
void RequireTime(Method method, const SparseSize& size, double temperature, double left);

}  // namespace submarine::internal
