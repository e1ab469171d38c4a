// How the Gaussian kernels of a dense model are applied.
#pragma once

#include <cstddef>
#include <functional>

#include "submarine/base/names.h"

namespace submarine {

// The permutohedral lattice (docs/filters.md).
struct LatticeOptions {
  int half_steps = 0;      // passes before the middle one; 0: max(1, (d+1)/6), rounded
  double laziness = -1.0;  // c of those passes, in [0,1); negative: chosen by dimension
  double kept = 0.2;       // fraction of the flow to a missing vertex that stays, in [0,1]

  // Flows and total variations (docs/filters.md): at most this many nodes per column, 2..64.
  int levels = 16;

  // Leave k_aa in products, as pydensecrf does: saves computing the diagonal, but K is then not
  // that of a model, whose energy has no self terms.
  bool self_terms = false;

  // Construction and every call throw TooLarge rather than hold more than this.
  std::size_t max_bytes = std::size_t{8} << 30;
  // Flows and total variations take the columns in groups that need about this much.
  std::size_t flow_workspace_bytes = std::size_t{256} << 20;
};

enum class OperatorKind { kAuto, kNeighbourList, kLattice, kBruteForce };
template <>
NameTable<OperatorKind> Names();

struct OperatorOptions {
  OperatorKind kind = OperatorKind::kAuto;
  double cutoff = 0.001;  // of neighbour lists
  LatticeOptions lattice = {};
  std::size_t max_bytes = std::size_t{8} << 30;  // for all parts together
  // Called from time to time while lists are built, with the fraction done; return false to give
  // up, which throws Interrupted.
  std::function<bool(double done)> on_progress = {};
};

}  // namespace submarine
