#include "submarine/filter/lattice/lattice_diagonal.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "submarine/base/parallel.h"

namespace submarine::internal {
namespace {

// One column of B at a time, at the few vertices where it is needed. The passes up to the middle
// one spread from the column's vertex; the later ones are evaluated backwards from where they are
// needed, each value once. Both stay within a few steps of the vertex. The vertices involved are
// numbered as slots; slot 0 stands for all others.
class BlurColumn {
 public:
  BlurColumn(const Lattice& lattice, const LatticeStencil& stencil)
      : lattice_(lattice), slot_of_(lattice.num_vertices, 0) {
    for (const double c : stencil.laziness) {
      const double p = stencil.NeighbourWeight(c);
      Pass pass{{}, static_cast<float>(p)};
      for (int present = 0; present <= stencil.neighbour_slots(); ++present) {
        pass.centre.push_back(
            static_cast<float>(c + stencil.kept * p * (stencil.neighbour_slots() - present)));
      }
      passes_.push_back(std::move(pass));
    }
    for (std::size_t k = 0; k < passes_.size(); ++k)
      fresh_.push_back(k <= passes_.size() / 2 ? 0.0F : kUnknown);
    vertex_.push_back(0);
    after_.assign(passes_.size(), 0.0F);
  }

  void Start(std::uint32_t v) {
    for (std::size_t slot = 1; slot < vertex_.size(); ++slot) slot_of_[vertex_[slot]] = 0;
    vertex_.resize(1);
    after_.resize(passes_.size());
    Spread(0, Slot(v), 1.0F);
    for (std::size_t k = 1; k <= passes_.size() / 2; ++k) {
      const auto reached = static_cast<std::uint32_t>(vertex_.size());
      for (std::uint32_t slot = 1; slot < reached; ++slot) Spread(k, slot, Value(k - 1, slot));
    }
  }

  float At(std::uint32_t v) { return After(passes_.size() - 1, v); }

 private:
  static constexpr float kUnknown = -1.0F;  // no entry of a product of passes is negative

  struct Pass {
    std::vector<float> centre;  // by the number of neighbours present
    float move;
  };

  std::uint32_t Slot(std::uint32_t v) {
    if (slot_of_[v] == 0) {
      slot_of_[v] = static_cast<std::uint32_t>(vertex_.size());
      vertex_.push_back(v);
      after_.insert(after_.end(), fresh_.begin(), fresh_.end());
    }
    return slot_of_[v];
  }
  // The value of the column after pass k.
  float& Value(std::size_t k, std::uint32_t slot) { return after_[slot * passes_.size() + k]; }

  std::uint32_t NeighboursOf(std::uint32_t v) const {
    return lattice_.neighbour_begin[v + 1] - lattice_.neighbour_begin[v];
  }
  const std::uint32_t* FirstNeighbour(std::uint32_t v) const {
    return lattice_.neighbour.data() + lattice_.neighbour_begin[v];
  }

  // Applies pass k to the amount at one vertex.
  void Spread(std::size_t k, std::uint32_t slot, float amount) {
    const std::uint32_t v = vertex_[slot];
    const std::uint32_t count = NeighboursOf(v);
    const std::uint32_t* neighbour = FirstNeighbour(v);
    Value(k, slot) += passes_[k].centre[count] * amount;
    for (std::uint32_t n = 0; n < count; ++n) {
      const std::uint32_t other = Slot(neighbour[n]);
      Value(k, other) += passes_[k].move * amount;
    }
  }

  float After(std::size_t k, std::uint32_t v) {
    if (k <= passes_.size() / 2) return Value(k, slot_of_[v]);
    const std::uint32_t slot = Slot(v);
    if (Value(k, slot) != kUnknown) return Value(k, slot);
    const std::uint32_t count = NeighboursOf(v);
    const std::uint32_t* neighbour = FirstNeighbour(v);
    float sum = 0.0F;
    for (std::uint32_t n = 0; n < count; ++n) sum += After(k - 1, neighbour[n]);
    const float value = passes_[k].centre[count] * After(k - 1, v) + passes_[k].move * sum;
    Value(k, slot) = value;
    return value;
  }

  const Lattice& lattice_;
  std::vector<Pass> passes_;
  std::vector<std::uint32_t> slot_of_;  // per vertex
  std::vector<std::uint32_t> vertex_;   // per slot
  std::vector<float> after_;            // per slot and pass
  std::vector<float> fresh_;            // per pass: `after_` of a new slot
};

// The indices record * corners + i of all simplex corners, grouped by vertex.
struct CornersByVertex {
  std::vector<std::uint32_t> begin;  // per vertex and one more
  std::vector<std::uint32_t> corner;
};

CornersByVertex ListCorners(const Lattice& lattice) {
  CornersByVertex lists;
  lists.begin.assign(lattice.num_vertices + 1, 0);
  for (const std::uint32_t v : lattice.simplex_vertex) ++lists.begin[v + 1];
  for (std::size_t v = 0; v < lattice.num_vertices; ++v) lists.begin[v + 1] += lists.begin[v];
  std::vector<std::uint32_t> next(lists.begin.begin(), lists.begin.end() - 1);
  lists.corner.resize(lattice.simplex_vertex.size());
  for (std::size_t k = 0; k < lists.corner.size(); ++k)
    lists.corner[next[lattice.simplex_vertex[k]]++] = static_cast<std::uint32_t>(k);
  return lists;
}

// B_ij of every simplex, i <= j, row by row, off-diagonal entries doubled.
std::vector<float> ComputeBlocks(const Lattice& lattice, const LatticeStencil& stencil) {
  const std::size_t corners = lattice.corners;
  const std::size_t entries = corners * (corners + 1) / 2;
  const CornersByVertex lists = ListCorners(lattice);
  std::vector<float> block(lattice.simplex_vertex.size() / corners * entries);
  // Every chunk clears an array over all vertices: use few chunks when there are many vertices.
  const std::size_t grain = std::max<std::size_t>(256, lattice.num_vertices / 32);
  ParallelFor(lattice.num_vertices, grain, [&](std::size_t begin, std::size_t end) {
    BlurColumn column(lattice, stencil);
    for (std::size_t v = begin; v < end; ++v) {
      column.Start(static_cast<std::uint32_t>(v));
      for (std::size_t k = lists.begin[v]; k < lists.begin[v + 1]; ++k) {
        const std::size_t record = lists.corner[k] / corners;
        const std::size_t i = lists.corner[k] % corners;
        const std::uint32_t* vertex = lattice.simplex_vertex.data() + record * corners;
        float* row = block.data() + record * entries + i * (2 * corners - i + 1) / 2;
        *row++ = column.At(vertex[i]);
        for (std::size_t j = i + 1; j < corners; ++j) *row++ = 2.0F * column.At(vertex[j]);
      }
    }
  });
  return block;
}

}  // namespace

std::vector<float> LatticeDiagonal(const Lattice& lattice, const LatticeStencil& stencil) {
  const std::size_t corners = lattice.corners;
  const std::size_t entries = corners * (corners + 1) / 2;
  const std::vector<float> block = ComputeBlocks(lattice, stencil);
  std::vector<float> diagonal(lattice.num_pixels);
  ParallelFor(lattice.num_pixels, 8192, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      const float* weight = lattice.weight.data() + a * corners;
      const float* entry = block.data() + lattice.simplex_of[a] * entries;
      float sum = 0.0F;
      for (std::size_t i = 0; i < corners; ++i) {
        float row = 0.0F;
        for (std::size_t j = i; j < corners; ++j) row += *entry++ * weight[j];
        sum += row * weight[i];
      }
      diagonal[a] = sum;
    }
  });
  return diagonal;
}

namespace {

constexpr std::size_t kSumGrain = 8192;

// Calls body(integral constant) with the number of corners if it is a common one, else 0. Short
// loops are slow unless their length is known at compile time.
template <class Body>
void WithCorners(std::size_t corners, const Body& body) {
  switch (corners) {
    case 3:  // position
      return body(std::integral_constant<std::size_t, 3>());
    case 6:  // position and three colours
      return body(std::integral_constant<std::size_t, 6>());
    default:
      return body(std::integral_constant<std::size_t, 0>());
  }
}

// A column of ones after splatting and blurring, at the vertices.
std::vector<float> BlurredOnes(const Lattice& lattice, const LatticeStencil& stencil) {
  const std::size_t m = lattice.num_vertices;
  LargeArray<float> at_corner(lattice.simplex_vertex.size());  // of every simplex
  WithCorners(lattice.corners, [&](auto known) {
    const std::size_t corners = known() == 0 ? lattice.corners : known();
    ParallelFor(lattice.num_chunks(), 1, [&](std::size_t chunk, std::size_t) {
      std::fill(at_corner.data() + lattice.FirstRecord(chunk) * corners,
                at_corner.data() + lattice.FirstRecord(chunk + 1) * corners, 0.0F);
      const std::size_t end = std::min(lattice.num_pixels, (chunk + 1) * lattice.chunk);
      for (std::size_t a = chunk * lattice.chunk; a < end; ++a) {
        const float* weight = lattice.weight.data() + a * corners;
        float* sum = at_corner.data() + lattice.simplex_of[a] * corners;
        for (std::size_t i = 0; i < corners; ++i) sum[i] += weight[i];
      }
    });
  });
  std::vector<float> z(m, 0.0F);
  for (std::size_t k = 0; k < at_corner.size(); ++k) z[lattice.simplex_vertex[k]] += at_corner[k];
  std::vector<float> blurred(m);
  for (std::size_t k = 0; k < stencil.laziness.size(); ++k) {
    const BlurPass pass = MakeBlurPass(lattice, stencil, k, 1.0);
    ParallelFor(m, 8192, [&](std::size_t begin, std::size_t end) {
      scalar::BlurVertices(pass, z.data(), 1, begin, end, blurred.data());
    });
    z.swap(blurred);
  }
  return z;
}

// Calls take(a, row sum of a, number of corners) for all pixels.
template <class Take>
void ForRowSums(const Lattice& lattice, const LatticeStencil& stencil, const Take& take) {
  const std::vector<float> z = BlurredOnes(lattice, stencil);
  WithCorners(lattice.corners, [&](auto known) {
    const std::size_t corners = known() == 0 ? lattice.corners : known();
    ParallelFor(lattice.num_pixels, kSumGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t a = begin; a < end; ++a) {
        const float* weight = lattice.weight.data() + a * corners;
        const std::uint32_t* vertex =
            lattice.simplex_vertex.data() + lattice.simplex_of[a] * corners;
        float sum = 0.0F;
        for (std::size_t i = 0; i < corners; ++i) sum += weight[i] * z[vertex[i]];
        take(a, sum, corners);
      }
    });
  });
}

}  // namespace

std::vector<float> LatticeRowSums(const Lattice& lattice, const LatticeStencil& stencil) {
  std::vector<float> sums(lattice.num_pixels);
  ForRowSums(lattice, stencil, [&](std::size_t a, float sum, std::size_t) { sums[a] = sum; });
  return sums;
}

void NormaliseByRowSums(const LatticeStencil& stencil, Lattice* lattice) {
  constexpr float kNoPixel = 1e-20F;  // pydensecrf adds this
  ForRowSums(*lattice, stencil, [&](std::size_t a, float sum, std::size_t corners) {
    const float r = 1.0F / std::sqrt(sum + kNoPixel);
    float* weight = lattice->weight.data() + a * corners;
    for (std::size_t i = 0; i < corners; ++i) weight[i] *= r;
  });
}

}  // namespace submarine::internal
