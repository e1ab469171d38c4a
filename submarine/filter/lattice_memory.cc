#include "submarine/filter/lattice_memory.h"

#include <algorithm>

#include "submarine/base/parallel.h"
#include "submarine/filter/lattice/lattice_kernels.h"
#include "submarine/filter/lattice/lattice_parts.h"
#include "submarine/filter/lattice/lattice_reference.h"
#include "submarine/filter/lattice/lattice_stencil.h"

namespace submarine::internal {
namespace {

constexpr double kUnequal = 1.2;  // some parts have more rows than others

// The counts converted to double.
struct Sizes {
  explicit Sizes(const LatticeCounts& counts)
      : pixels(static_cast<double>(counts.pixels)),
        corners(static_cast<double>(counts.dimension + 1)),
        vertices(static_cast<double>(counts.vertices)),
        simplices(static_cast<double>(counts.simplices)),
        chunk_vertices(static_cast<double>(counts.chunk_vertices)),
        rows(static_cast<double>(counts.part_rows)) {}

  // As in BuildSplatParts.
  bool in_parts() const { return 2.0 * vertices <= pixels && 2.0 * rows <= pixels; }
  // The corners of a simplex form a cycle of neighbours, so it contributes 2 per corner, and no
  // vertex has more than 2 (d+1). Neighbours without a common simplex are rare, except where most
  // vertices have all.
  double neighbours() const { return 2.0 * corners * std::min(vertices, simplices); }
  double lattice() const {
    return pixels * (4.0 + 4.0 * corners) + 4.0 * simplices * corners + 4.0 * vertices +
           4.0 * neighbours();
  }

  double pixels;
  double corners;
  double vertices;
  double simplices;
  double chunk_vertices;
  double rows;
};

double Padded(std::size_t channels) { return static_cast<double>(PaddedChannels(channels)); }

std::size_t CellsOf(const LatticeOptions& options) {
  return static_cast<std::size_t>(options.levels) - 1;
}

// As in LatticeOperator::ColumnsAtATime.
std::size_t FlowColumns(const LatticeCounts& counts, std::size_t columns,
                        const LatticeOptions& options) {
  const std::size_t per_column =
      2 * std::max<std::size_t>(1, counts.vertices) * CellsOf(options) * sizeof(float);
  return std::min(columns, std::max<std::size_t>(1, options.flow_workspace_bytes / per_column));
}

}  // namespace

LatticeCounts CountLattice(const GaussianKernel& kernel, const LatticeOptions& options) {
  CheckLatticeOptions(options);
  CheckKernel(kernel);
  return CountLattice(LatticePoints(kernel),
                      MakeLatticeStencil(static_cast<int>(kernel.dimension()), options));
}

LatticeCounts MostOfLattice(std::size_t pixels, std::size_t dimension) {
  const std::size_t corners = pixels * (dimension + 1);
  return {.pixels = pixels,
          .dimension = dimension,
          .vertices = corners,
          .simplices = pixels,
          .chunk_vertices = corners,
          .part_rows = corners};
}

double LatticeHeldBytes(const LatticeCounts& counts, const LatticeUse& use,
                        const LatticeOptions& options) {
  const Sizes size(counts);
  double bytes = size.lattice();
  double table = Padded(use.columns);  // floats per vertex
  if (size.in_parts()) {
    bytes += 4.0 * size.simplices * size.corners + 4.0 * size.rows;
    // Of all cores, whatever the limit: estimates are part of results, which do not depend on it.
    const double at_once =
        static_cast<double>(PartsAtOnce(NumCores())) / static_cast<double>(counts.parts);
    bytes += 4.0 * size.rows * table * std::min(1.0, kUnequal * at_once);
  }
  if (use.flows || !size.in_parts())
    bytes += 8.0 * size.pixels * size.corners + 4.0 * size.vertices;
  if (use.flows)
    table = std::max(table, Padded(FlowColumns(counts, use.columns, options) * CellsOf(options)));
  bytes += 8.0 * size.vertices * table;  // front and back
  const double diagonal = options.self_terms && !use.flows ? 0.0 : 4.0;
  const double row_sums = use.flows ? 4.0 : 0.0;
  return bytes + size.pixels * (diagonal + row_sums);
}

double LatticeBuildBytes(const LatticeCounts& counts) {
  const Sizes size(counts);
  const double pixels = size.pixels * (4.0 + 4.0 * size.corners);
  // The simplices of the chunks (base, permutation, corners) and their vertices (key, place,
  // number), in vectors with spare capacity.
  constexpr double kGrown = 1.25;
  const double chunks =
      kGrown * size.simplices * (16.0 + 4.0 * size.corners) + kGrown * 16.0 * size.chunk_vertices;
  // Keys of the shards, then in two arrays for sorting, then sorted with their places.
  const double numbering = size.vertices * (8.0 + 2.0 * 16.0 + 4.0 + 8.0);
  const double vertices = 4.0 * size.simplices * size.corners;
  // Keys, neighbours upwards, then neighbours both ways.
  const double neighbours = size.vertices * (8.0 + 1.0 + 4.0 * size.corners + 4.0);
  return std::max(pixels + chunks + numbering + vertices, size.lattice() + neighbours);
}

double LatticeBytes(const LatticeCounts& counts) { return Sizes(counts).lattice(); }

double LatticeDiagonalBytes(const LatticeCounts& counts) {
  const Sizes size(counts);
  // B_ij of every simplex, the corners by vertex, which simplices share theirs, and columns of B.
  constexpr double kPasses = 3.0;
  return size.simplices * (2.0 * size.corners * (size.corners + 1.0) + 4.0 * size.corners + 9.0) +
         size.vertices * (10.0 + 4.0 * kPasses * static_cast<double>(NumCores()));
}

double LatticeFlowBytes(const LatticeCounts& counts, std::size_t columns,
                        const LatticeOptions& options) {
  // The start of each variable's entries, and one entry for every level above the least.
  return static_cast<double>(counts.pixels) *
         (8.0 + 8.0 * static_cast<double>(FlowColumns(counts, columns, options)));
}

double ReferenceHeldBytes(const LatticeCounts& counts) {
  const Sizes size(counts);
  return size.pixels * size.corners * (4.0 + 8.0 + 8.0) +
         size.vertices * (2.0 * size.corners * 4.0 + 4.0 + 8.0);
}

double ReferenceBuildBytes(const LatticeCounts& counts) {
  const Sizes size(counts);
  // Coordinates of the vertices and their hash table, in vectors with spare capacity; a batch of
  // simplices.
  constexpr double kBatch = 16384.0;
  return size.vertices * (1.5 * 8.0 * size.corners + 3.0 * 4.0) +
         std::min(kBatch, size.pixels) * size.corners * size.corners * 8.0;
}

double ReferenceProductBytes(const LatticeCounts& counts, std::size_t columns) {
  const double block = static_cast<double>(std::min(columns, LatticeReference::kBlock));
  return 2.0 * 8.0 * block *
         (static_cast<double>(counts.pixels) + static_cast<double>(counts.vertices));
}

double ReferenceSelfProductBytes(const LatticeCounts& counts, std::size_t columns) {
  const double block = static_cast<double>(std::min(columns, LatticeReference::kBlock));
  return 8.0 * (3.0 * block + 4.0) * static_cast<double>(counts.vertices);
}

}  // namespace submarine::internal
