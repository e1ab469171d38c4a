// Estimates the memory of a dense solve, phase by phase, before it starts.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/filter/kernel/operator_options.h"
#include "submarine/filter/lattice/lattice_build.h"
#include "submarine/solve/method/method.h"
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

struct DenseDemand {
  DenseSize size;
  Method method = Method::kAuto;
  bool classic_updates = false;    // of mean field
  int iterations = 0;              // limit of Frank-Wolfe, whose proof grows with them
  double sample_neighbours = 0.0;  // per variable, in the sample that `auto` draws from long lists
  bool normalises = false;         // the model is copied for normalisation
  bool by_pairs = true;            // verified over all pairs, or
  bool by_operator = false;        // as the lattices apply them; if neither, not certified
  LatticeOptions lattice = {};
};

DenseMemory EstimateDenseMemory(const DenseDemand& demand, std::span<const WeightedKernel> kernels,
                                const PairMemory& pairs);

// Throws TooLarge, stating the estimate, the limit and what would fit, if the estimate exceeds the
// limit. `shrink` is the option that makes pictures smaller, if there is one.
void RequireMemory(const DenseMemory& memory, double variables, double max_bytes,
                   std::string_view shrink);

}  // namespace submarine::internal
