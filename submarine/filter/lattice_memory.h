// What lattices take, from what CountLattice found: before any is built. In double, as sums of estimates are.
#pragma once

#include <cstddef>

#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/filter/kernel/operator_options.h"
#include "submarine/filter/lattice/lattice_build.h"

namespace submarine::internal {

// Throws InvalidInput like LatticeOperator; the kernel need not be normalised yet.
LatticeCounts CountLattice(const GaussianKernel& kernel, const LatticeOptions& options);

// How a lattice is used: products of this many columns; with flows also AddFlow and TotalVariation of them.
struct LatticeUse {
  std::size_t columns = 1;
  bool flows = false;
};

// LatticeOperator::bytes() once it has been used.
double LatticeHeldBytes(const LatticeCounts& counts, const LatticeUse& use,
                        const LatticeOptions& options);
// Before that, and at most at a time while it is built.
double LatticeBytes(const LatticeCounts& counts);
double LatticeBuildBytes(const LatticeCounts& counts);
// What finding its diagonal adds for a while.
double LatticeDiagonalBytes(const LatticeCounts& counts);
// That a call of AddFlow or TotalVariation adds for its own duration.
double LatticeFlowBytes(const LatticeCounts& counts, std::size_t columns,
                        const LatticeOptions& options);

// LatticeReference: what it holds, what building adds to that, and what filtering as many columns as it takes
// at a time adds, the columns given and the result included.
double ReferenceHeldBytes(const LatticeCounts& counts);
double ReferenceBuildBytes(const LatticeCounts& counts);
double ReferenceProductBytes(const LatticeCounts& counts, std::size_t columns);

}  // namespace submarine::internal
