#include "submarine/filter/lattice/lattice_diagonal.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "submarine/base/parallel.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kFlagGrain = 8192;

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

// One column of B at a time, at the few vertices where it is needed. The passes up to the middle
// one spread from the column's vertex; the later ones are evaluated backwards from where they are
// needed, each value once. Both stay within a few steps of the vertex.
class BlurColumn {
 public:
  BlurColumn(const Lattice& lattice, const LatticeStencil& stencil)
      : lattice_(lattice), middle_(stencil.laziness.size() / 2) {
    for (const double c : stencil.laziness) {
      const double p = stencil.NeighbourWeight(c);
      Pass pass{{}, static_cast<float>(p)};
      for (int present = 0; present <= stencil.neighbour_slots(); ++present) {
        pass.centre.push_back(
            static_cast<float>(c + stencil.kept * p * (stencil.neighbour_slots() - present)));
      }
      pass.after.assign(lattice.num_vertices, passes_.size() <= middle_ ? 0.0F : kUnknown);
      passes_.push_back(std::move(pass));
    }
  }

  void Start(std::uint32_t v) {
    for (std::size_t k = 0; k < passes_.size(); ++k) {
      for (const std::uint32_t u : passes_[k].known)
        passes_[k].after[u] = k <= middle_ ? 0.0F : kUnknown;
      passes_[k].known.clear();
    }
    Spread(v, 1.0F, &passes_[0]);
    for (std::size_t k = 1; k <= middle_; ++k) {
      for (const std::uint32_t u : passes_[k - 1].known)
        Spread(u, passes_[k - 1].after[u], &passes_[k]);
    }
  }

  float At(std::uint32_t v) { return After(passes_.size() - 1, v); }

 private:
  static constexpr float kUnknown = -1.0F;  // no entry of a product of passes is negative

  struct Pass {
    std::vector<float> centre;  // by the number of neighbours present
    float move;
    std::vector<float> after = {};          // the column after this pass, per vertex, where known
    std::vector<std::uint32_t> known = {};  // without those that came out as 0
  };

  std::uint32_t NeighboursOf(std::uint32_t v) const {
    return lattice_.neighbour_begin[v + 1] - lattice_.neighbour_begin[v];
  }
  const std::uint32_t* FirstNeighbour(std::uint32_t v) const {
    return lattice_.neighbour.data() + lattice_.neighbour_begin[v];
  }

  static void Add(std::uint32_t v, float amount, Pass* pass) {
    float& value = pass->after[v];
    if (value == 0.0F && amount > 0.0F) pass->known.push_back(v);
    value += amount;
  }

  // Applies a pass to the amount at one vertex.
  void Spread(std::uint32_t v, float amount, Pass* pass) const {
    const std::uint32_t count = NeighboursOf(v);
    const std::uint32_t* neighbour = FirstNeighbour(v);
    Add(v, pass->centre[count] * amount, pass);
    for (std::uint32_t n = 0; n < count; ++n) Add(neighbour[n], pass->move * amount, pass);
  }

  float After(std::size_t k, std::uint32_t v) {
    Pass& pass = passes_[k];
    float& value = pass.after[v];
    if (k <= middle_ || value != kUnknown) return value;
    const std::uint32_t count = NeighboursOf(v);
    const std::uint32_t* neighbour = FirstNeighbour(v);
    if (k - 1 > middle_) {
      After(k - 1, v);
      for (std::uint32_t n = 0; n < count; ++n) After(k - 1, neighbour[n]);
    }
    const float* before = passes_[k - 1].after.data();
    float sum = 0.0F;
    for (std::uint32_t n = 0; n < count; ++n) sum += before[neighbour[n]];
    value = pass.centre[count] * before[v] + pass.move * sum;
    pass.known.push_back(v);
    return value;
  }

  const Lattice& lattice_;
  const std::size_t middle_;
  std::vector<Pass> passes_;
};

// Far from the borders of the lattice all simplices have the same B_ij: those of which no path of
// three passes between two corners meets a vertex without all its neighbours, because the corners'
// neighbours have all of theirs.
std::vector<char> FindInner(const Lattice& lattice, const LatticeStencil& stencil) {
  const std::size_t corners = lattice.corners;
  std::vector<char> inner(lattice.simplex_vertex.size() / corners, 0);
  if (stencil.laziness.size() > 3) return inner;
  const std::size_t m = lattice.num_vertices;
  std::vector<char> full(m);
  std::vector<char> deep(m);
  const std::uint32_t* begin = lattice.neighbour_begin.data();
  const auto slots = static_cast<std::uint32_t>(stencil.neighbour_slots());
  for (std::size_t v = 0; v < m; ++v) full[v] = begin[v + 1] - begin[v] == slots ? 1 : 0;
  ParallelFor(m, kFlagGrain, [&](std::size_t first, std::size_t last) {
    for (std::size_t v = first; v < last; ++v) {
      const std::uint32_t* neighbour = lattice.neighbour.data();
      deep[v] = full[v] != 0 && std::all_of(neighbour + begin[v], neighbour + begin[v + 1],
                                            [&](std::uint32_t u) { return full[u] != 0; });
    }
  });
  ParallelFor(inner.size(), kFlagGrain, [&](std::size_t first, std::size_t last) {
    for (std::size_t record = first; record < last; ++record) {
      const std::uint32_t* vertex = lattice.simplex_vertex.data() + record * corners;
      inner[record] =
          std::all_of(vertex, vertex + corners, [&](std::uint32_t v) { return deep[v] != 0; });
    }
  });
  return inner;
}

// B_ij of the simplices, i <= j, row by row, off-diagonal entries doubled. Their order is that of
// their first corners, so that blocks of a vertex and of those near it are close to each other.
struct Blocks {
  std::vector<std::uint32_t> block_of;  // per record of a simplex; inner ones share a block
  LargeArray<std::uint32_t> vertex;     // of the corners, block by block
  LargeArray<float> entry;
};

void NumberBlocks(const Lattice& lattice, const std::vector<char>& inner, Blocks* blocks) {
  const std::size_t corners = lattice.corners;
  const auto shared =
      static_cast<std::size_t>(std::find(inner.begin(), inner.end(), 1) - inner.begin());
  const auto for_own = [&](const auto& take) {
    for (std::size_t record = 0; record < inner.size(); ++record) {
      if (inner[record] == 0 || record == shared)
        take(record, lattice.simplex_vertex.data() + record * corners);
    }
  };
  std::vector<std::uint32_t> next(lattice.num_vertices + 1, 0);
  for_own([&](std::size_t, const std::uint32_t* vertex) { ++next[vertex[0] + 1]; });
  for (std::size_t v = 0; v < lattice.num_vertices; ++v) next[v + 1] += next[v];
  blocks->vertex.resize(next.back() * corners);
  blocks->block_of.resize(inner.size());
  for_own([&](std::size_t record, const std::uint32_t* vertex) {
    const std::uint32_t block = next[vertex[0]]++;
    blocks->block_of[record] = block;
    std::copy_n(vertex, corners, blocks->vertex.data() + block * corners);
  });
  for (std::size_t record = shared; record < inner.size(); ++record) {
    if (inner[record] != 0) blocks->block_of[record] = blocks->block_of[shared];
  }
}

// The indices block * corners + i of all corners, grouped by vertex.
struct CornersByVertex {
  std::vector<std::uint32_t> begin;  // per vertex and one more
  std::vector<std::uint32_t> corner;
};

CornersByVertex ListCorners(const LargeArray<std::uint32_t>& vertex, std::size_t num_vertices) {
  CornersByVertex lists;
  lists.begin.assign(num_vertices + 1, 0);
  for (const std::uint32_t v : vertex) ++lists.begin[v + 1];
  for (std::size_t v = 0; v < num_vertices; ++v) lists.begin[v + 1] += lists.begin[v];
  std::vector<std::uint32_t> next(lists.begin.begin(), lists.begin.end() - 1);
  lists.corner.resize(vertex.size());
  for (std::size_t k = 0; k < vertex.size(); ++k)
    lists.corner[next[vertex[k]]++] = static_cast<std::uint32_t>(k);
  return lists;
}

template <class Corners>
void ComputeBlocks(const Lattice& lattice, const LatticeStencil& stencil, Corners corners,
                   Blocks* blocks) {
  const std::size_t entries = corners * (corners + 1) / 2;
  blocks->entry.resize(blocks->vertex.size() / corners * entries);
  const CornersByVertex lists = ListCorners(blocks->vertex, lattice.num_vertices);
  // Every task clears arrays over all vertices: use few when there are many vertices.
  const std::size_t grain = std::max<std::size_t>(256, lattice.num_vertices / 32);
  ParallelFor(lattice.num_vertices, grain, [&](std::size_t begin, std::size_t end) {
    if (lists.begin[begin] == lists.begin[end]) return;
    BlurColumn column(lattice, stencil);
    for (std::size_t v = begin; v < end; ++v) {
      if (lists.begin[v] == lists.begin[v + 1]) continue;
      column.Start(static_cast<std::uint32_t>(v));
      for (std::size_t k = lists.begin[v]; k < lists.begin[v + 1]; ++k) {
        const std::size_t block = lists.corner[k] / corners;
        const std::size_t i = lists.corner[k] % corners;
        const std::uint32_t* vertex = blocks->vertex.data() + block * corners;
        float* row = blocks->entry.data() + block * entries + i * (2 * corners - i + 1) / 2;
        *row++ = column.At(vertex[i]);
        for (std::size_t j = i + 1; j < corners; ++j) *row++ = 2.0F * column.At(vertex[j]);
      }
    }
  });
}

}  // namespace

std::vector<float> LatticeDiagonal(const Lattice& lattice, const LatticeStencil& stencil) {
  Blocks blocks;
  NumberBlocks(lattice, FindInner(lattice, stencil), &blocks);
  std::vector<float> diagonal(lattice.num_pixels);
  WithCorners(lattice.corners, [&](auto known) {
    const std::size_t corners = known() == 0 ? lattice.corners : known();
    if constexpr (known() == 0) {
      ComputeBlocks(lattice, stencil, corners, &blocks);
    } else {
      ComputeBlocks(lattice, stencil, known, &blocks);
    }
    const std::size_t entries = corners * (corners + 1) / 2;
    ParallelFor(lattice.num_pixels, 8192, [&](std::size_t begin, std::size_t end) {
      for (std::size_t a = begin; a < end; ++a) {
        const float* weight = lattice.weight.data() + a * corners;
        const float* entry = blocks.entry.data() + blocks.block_of[lattice.simplex_of[a]] * entries;
        float sum = 0.0F;
        for (std::size_t i = 0; i < corners; ++i) {
          float row = 0.0F;
          for (std::size_t j = i; j < corners; ++j) row += *entry++ * weight[j];
          sum += row * weight[i];
        }
        diagonal[a] = sum;
      }
    });
  });
  return diagonal;
}

namespace {

constexpr std::size_t kSumGrain = 8192;

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
      for (std::size_t v = begin; v < end; ++v) {
        float sum = 0.0F;
        for (std::size_t k2 = pass.begin[v]; k2 < pass.begin[v + 1]; ++k2)
          sum += z[pass.neighbour[k2]];
        const auto present = static_cast<float>(pass.begin[v + 1] - pass.begin[v]);
        blurred[v] = (pass.centre - pass.per_present * present) * z[v] + pass.move * sum;
      }
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

namespace {

// factor(a, row sum) for all pixels.
template <class Factor>
void ScaleWeights(const LatticeStencil& stencil, const Factor& factor, Lattice* lattice) {
  ForRowSums(*lattice, stencil, [&](std::size_t a, float sum, std::size_t corners) {
    const float r = factor(a, sum);
    float* weight = lattice->weight.data() + a * corners;
    for (std::size_t i = 0; i < corners; ++i) weight[i] *= r;
  });
}

}  // namespace

void NormaliseByRowSums(const LatticeStencil& stencil, Lattice* lattice,
                        std::vector<double>* scale) {
  if (scale != nullptr) scale->resize(lattice->num_pixels);
  const auto factor = [&](std::size_t a, float sum) {
    const double r = 1.0 / std::sqrt(static_cast<double>(sum));
    if (scale != nullptr) (*scale)[a] = r;
    return static_cast<float>(r);
  };
  ScaleWeights(stencil, factor, lattice);
}

void NormaliseClassic(const LatticeStencil& stencil, Lattice* lattice) {
  constexpr float kNoPixel = 1e-20F;  // pydensecrf adds this
  ScaleWeights(
      stencil, [](std::size_t, float sum) { return 1.0F / std::sqrt(sum + kNoPixel); }, lattice);
}

}  // namespace submarine::internal
