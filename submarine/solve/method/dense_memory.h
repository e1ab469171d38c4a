// Estimates the memory of a dense solve, phase by phase, before it starts.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/filter/kernel/operator_options.h"
#include "submarine/filter/lattice/lattice_build.h"
#include "submarine/solve/method/times.h"

namespace submarine::internal {

// In bytes. Every phase holds the model; the pairs are freed before certification.
struct DenseMemory {
  double model = 0.0;       // unaries and features: the caller's, and the normalised copy
  double preparing = 0.0;   // normalising kernels, building lists or lattices
  double solving = 0.0;     // pairs, marginals, potentials and costs
  double certifying = 0.0;  // evidence, and the verifiers' working memory
  double routing = 0.0;     // of listed pairs by `auto`, which skips it if there is no room

  double Peak() const;  // without routing
  double PeakWithRouting() const;
};

// The representation of the pairs.
struct PairMemory {
  double list_entries = 0.0;  // two per pair; 0: no list
  std::vector<LatticeCounts> lattices = {};
};

// The number of N x L and N x cuts matrices of single precision held, without the unaries.
struct DenseHeld {
  double labels = 0.0;
  double cuts = 0.0;
};

// What a method holds beside the model and its pairs.
struct DenseMethodMemory {
  DenseHeld solving;
  DenseHeld evidence;                // of its certificate
  bool proof_per_iteration = false;  // one more matrix of cuts in both for every iteration
  bool upper_bound = true;           // not only a lower one
  bool draws_sample = false;         // of listed pairs, and may route them
};

// What a method is, to those who plan for it.
struct DenseMethodTraits {
  DenseMethodMemory memory = {};
  int iterations = 1000;         // the default limit
  bool applies_flows = true;     // calls AddFlow of the operator, not only AddProduct
  bool zero_temperature = true;  // accepts T = 0
};

struct DenseDemand {
  DenseSize size;
  DenseMethodMemory method;
  bool classic_updates = false;    // of methods without an upper bound
  int iterations = 0;              // their limit
  double sample_neighbours = 0.0;  // per variable, in a sample of long lists
  bool normalises = false;         // the model is copied for normalisation
  bool by_pairs = true;            // verified over all pairs, or
  bool by_operator = false;        // as the lattices apply them; if neither, not certified
  LatticeOptions lattice = {};
};

DenseMemory EstimateDenseMemory(const DenseDemand& demand, std::span<const WeightedKernel> kernels,
                                const PairMemory& pairs);

// Throws TooLarge, stating the estimate, the limit and what would fit, if the estimate exceeds the
// limit.
void RequireMemory(const DenseMemory& memory, double variables, double max_bytes);

}  // namespace submarine::internal
