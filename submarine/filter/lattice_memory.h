// The memory that lattices need, estimated from the counts of CountLattice before any is built.
#pragma once

#include <cstddef>

#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/filter/kernel/operator_options.h"
#include "submarine/filter/lattice/lattice_build.h"

namespace submarine::internal {

// Throws InvalidInput like LatticeOperator; the kernel need not be normalised yet.
LatticeCounts CountLattice(const GaussianKernel& kernel, const LatticeOptions& options);

// The most that a lattice can have of everything.
LatticeCounts MostOfLattice(std::size_t pixels, std::size_t dimension);

// How a lattice is used: products with this many columns; with flows also AddFlow and
// TotalVariation.
struct LatticeUse {
  std::size_t columns = 1;
  bool flows = false;
};

// LatticeOperator::bytes() once it has been used.
double LatticeHeldBytes(const LatticeCounts& counts, const LatticeUse& use,
                        const LatticeOptions& options);
// LatticeOperator::bytes() before its first use, and the peak while it is built.
double LatticeBytes(const LatticeCounts& counts);
double LatticeBuildBytes(const LatticeCounts& counts);
// Temporary memory for finding its diagonal.
double LatticeDiagonalBytes(const LatticeCounts& counts);
// Temporary memory of a call of AddFlow or TotalVariation.
double LatticeFlowBytes(const LatticeCounts& counts, std::size_t columns,
                        const LatticeOptions& options);

// LatticeReference: what it holds; what building it adds; and what filtering as many columns as it
// takes at a time adds, including input and result.
double ReferenceHeldBytes(const LatticeCounts& counts);
double ReferenceBuildBytes(const LatticeCounts& counts);
double ReferenceProductBytes(const LatticeCounts& counts, std::size_t columns);
// The same for products at the vertices (LatticeReference::SelfProducts).
double ReferenceSelfProductBytes(const LatticeCounts& counts, std::size_t columns);

}  // namespace submarine::internal
