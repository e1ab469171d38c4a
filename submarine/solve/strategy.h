// What `auto` decides, and what is refused before it starts, separate from the work itself: pure
// functions of sizes, bounds and limits, and their tuned constants.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include "submarine/solve/method/method.h"
#include "submarine/solve/method/times.h"

namespace submarine::internal {

// --- Dense models

struct DenseStrategy {
  // --- Upper bound
  // The most potentials whose convex combination proves it: the verifier's time grows with them.
  std::size_t max_hull_terms = 3;
  // The certificate also counts the pairs that the lists leave out; the solver aims at a smaller
  // gap than requested to make room for them. At the default cutoff they cost some 0.3% of the
  // bound.
  double share_for_solver = 0.5;
  double room_for_far_pairs = 0.004;
  // The least gain of an iteration of mean field, or of one more potential in a proof, relative to
  // the requested gap.
  double worthwhile_gain = 1.0 / 25.0;

  // --- A sample of the pairs comes first, with this many neighbours per variable on average. With
  // fewer, it takes longer to converge on all pairs afterwards; with more, pairs dominate the time
  // of an iteration. Gaps on the sample equal those on all pairs up to its noise, which is of size
  // gap_of_sample.
  double sample_neighbours = 96.0;
  double gap_of_sample = 0.03;
  // Before it, a few iterations on all pairs prove a first bound; later, all pairs are evaluated
  // after this many iterations on the sample, then after twice as many.
  int iterations_before_sample = 3;
  int first_look = 64;
  // Errors of the sample at single variables are corrected fastest with the step sizes of an
  // iteration this early.
  int balance_after_sample = 10;

  // --- Then iterations double from stage to stage, and the gap should about halve. If it falls by
  // less than a tenth, more stages will not reach the requested one.
  int first_stage = 64;
  double stall_ratio = 0.9;

  // --- Mean field closes the last half of the gap faster than PDHG: it is run as soon as the gap
  // is this multiple of the requested one, and at the end of a stage, unless the labels are worse
  // than the dual value by more than mean_field_reach of it, which mean field cannot make up for.
  double call_mean_field = 2.0;
  double mean_field_reach = 0.02;
  int mean_field_iterations = 100;

  // --- Certificate
  // The loss by bounding far pairs in groups, relative to the requested gap, and its upper limit.
  double share_for_groups = 1.0 / 50.0;
  double max_far_tolerance = 1e-3;
  // A lower bound that improves on the labels' by less than this fraction of the requested gap is
  // not verified.
  double worth_verifying = 1.0 / 20.0;
  // The plain bound gives way to routing once its dual value says that it leaves this share of the interval, and that is
  // wider than this, relative to its lower end.
  double share_left_by_plain = 0.5;
  double wide_interval = 0.05;
  // kAuto accepts this many seconds for enumerating pairs, and this fraction of the time limit.
  double patience_seconds = 60.0;
  // The same for routing, where no other bound is of any use.
  double routing_patience_seconds = 300.0;
  double certificate_share = 0.5;
};

// The first of the ascending cutoffs, given their numbers of pairs, whose list can be built, used
// for a few iterations and verified within the limit; the last one if none can.
std::size_t ChooseCutoff(DenseSize size, std::span<const double> pairs, double seconds);

// The gap at which a solver of the upper bound stops so that the certificate, which also counts far
// pairs, has the requested gap.
double SolverGap(const DenseStrategy& strategy, double gap, bool certifies_exactly);

// Whether mean field from the labels can reach the dual value.
bool MeanFieldMayHelp(const DenseStrategy& strategy, double energy, double dual);

// Whether no flow whatever brings the plain bound, which is at `upper` now, near the lower bound. With a `gap` that it may
// leave.
bool PlainLeavesTooMuch(const DenseStrategy& strategy, double upper, double dual, double lower,
                        double gap);

// Whether another stage is unlikely to reduce the gap.
bool Stalled(const DenseStrategy& strategy, int stage, double gap_before, double gap);

// --- Sparse models

// The method with the tightest bound that the time allows; kAuto if there is no time for the first
// bound of any, so that only the unaries' bound remains.
Method ChooseSparse(const SparseSize& size, double temperature, double left);

// Throws TooLarge, stating the time needed and the time left, unless the method's first bound fits.
void RequireTime(Method method, const SparseSize& size, double temperature, double left);

}  // namespace submarine::internal
