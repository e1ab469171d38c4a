// Estimated times in seconds, by which limits are kept, and the constants behind them. Measured on
// two cores and rounded up; pure functions of sizes. On other machines they are off by the ratio of
// the speeds, so that callers keep looking at the clock.
#pragma once

#include <cstddef>

#include "submarine/labels/label_cuts.h"
#include "submarine/model/dense_crf.h"
#include "submarine/model/factor_graph.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::internal {

// --- Dense models

// The sizes that determine time and memory.
struct DenseSize {
  double variables = 0.0;
  double labels = 0.0;
  double cuts = 0.0;   // of positive length
  double pairs = 0.0;  // unordered, in a list
};
DenseSize SizeOf(const DenseCrf& model, double pairs);
DenseSize SizeOf(std::size_t num_variables, const LabelSpace& labels);

double ListSeconds(const DenseSize& size);
double LatticeSeconds(const DenseSize& size);  // to build it
double IterationSeconds(const DenseSize& size);
double CertificateSeconds(const DenseSize& size);
// The part of it that the upper bound takes.
double UpperCertificateSeconds(const DenseSize& size);
// The same with the largest groups of pairs: the least time that is ever kept for a certificate.
double CoarseCertificateSeconds(const DenseSize& size);
// For the bounds that the unaries alone prove.
double UnaryCertificateSeconds(const DenseSize& size);

// Until a solver has a first bound: with less time there is none.
double LeastSeconds(const DenseSize& size);
// The same where lattices apply the kernels: `corners` is d + 1, summed over the kernels.
double IterationSecondsByLattice(const DenseSize& size, double corners, double levels);
double LeastSecondsByLattice(const DenseSize& size, double corners, double levels);

// One pass over all pairs of variables; routing and its verifier make several.
double RoutingPassSeconds(double variables);

// --- Sparse models and tables

struct SparseSize {
  double variables = 0.0;
  double labels = 0.0;
  double edges = 0.0;
  double cuts = 0.0;
  double in_cuts = 0.0;  // sum of the sizes of all cuts' sets, which verifiers visit
  // Energies of edges are so large compared with T that products of probabilities may underflow:
  // verifying a forest then takes an exponential for every pair of labels.
  bool far_apart = false;
  double page_fault_factor =
      1.0;  // factor of the measured time of new memory over kNewMemorySeconds
};
SparseSize SizeOf(const SparseCrf& model, double temperature);

struct SparseCostEstimate {
  double flow_certificate = 0.0;    // upper bound by flows and its dual value
  double forest_certificate = 0.0;  // upper bound by forests: all pairs of labels of every edge
  double lower_certificate = 0.0;   // mean field's value
  double forest_sweep = 0.0;        // a sweep of mean field between trees, and its memory
  double forest_lower = 0.0;        // its certificate
};
SparseCostEstimate SparseCosts(const SparseSize& size);
// Of the upper bound by forests that hold every edge once, and by `more_forests` spanning ones.
double ForestCertificateSeconds(const SparseSize& size, int more_forests);
double TableCertificateSeconds(const FactorGraph& graph);

// What a method does until it has a first bound and a verifier has confirmed it.
enum class SparseWork { kUnaries, kFlows, kForests, kMeanField };
struct SparseDemand {
  SparseWork work = SparseWork::kUnaries;
  // Memory used for the first time: matrices of variables x labels and of edges x cuts.
  double marginals = 1.0;
  double flows = 0.0;
  double sweeps = 0.0;  // over the edges of forests
};
double FirstBoundSeconds(const SparseDemand& demand, const SparseSize& size);
// One iteration of PDHG.
double IterationSeconds(const SparseSize& size);
// Writing to this much new memory for the first time.
double NewMemorySeconds(double bytes);
// Exact inference with this many table entries.
double EliminationSeconds(double table_entries);

// --- Limits

// What a call may overrun its time limit by: a tenth of it or two seconds, whichever is more.
double Overrun(double limit);
// Whether to start work that takes this many seconds when `left` seconds of the time limit remain.
bool FitsTime(double seconds, double left);

}  // namespace submarine::internal
