// What a dense solve will hold, phase by phase, before it begins.
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

// Bytes. Every phase holds the model; the pairs are given up before the certificate.
struct DenseMemory {
  double model = 0.0;       // unaries and features: the caller's, and the copy that is normalised
  double preparing = 0.0;   // normalising kernels, building lists or lattices
  double solving = 0.0;     // pairs, marginals, potentials and costs
  double certifying = 0.0;  // evidence, and what the verifiers make of it
  double routing = 0.0;     // of listed pairs by `auto`, which does without where there is no room

  double Peak() const;  // without routing
  double PeakWithRouting() const;
};

// Of the pairs, as they will be applied.
struct PairMemory {
  double list_entries = 0.0;  // two of a pair; 0: no list
  std::vector<LatticeCounts> lattices = {};
};

struct DenseDemand {
  DenseSize size;
  Method method = Method::kAuto;
  bool classic_updates = false;    // of mean field
  int iterations = 0;              // of Frank-Wolfe at most: its proof grows with them
  double sample_neighbours = 0.0;  // of a variable, in the sample that `auto` draws of long lists
  bool normalises = false;         // the model is copied for it
  bool by_pairs = true;            // verified over all pairs, or
  bool by_operator = false;        // as the lattices apply them; neither: not certified
  LatticeOptions lattice = {};
};

DenseMemory EstimateDenseMemory(const DenseDemand& demand, std::span<const WeightedKernel> kernels,
                                const PairMemory& pairs);

// Throws TooLarge, with the number, the limit and what would fit, unless the estimate does. `shrink` is the option that
// makes pictures smaller, if there is one.
void RequireMemory(const DenseMemory& memory, double variables, double max_bytes,
                   std::string_view shrink);

}  // namespace submarine::internal
