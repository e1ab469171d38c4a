#include "submarine/filter/lattice_diagonal.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "submarine/base/parallel.h"

namespace submarine {
namespace {

// All corners of a simplex at once: what each of them spreads to a vertex is a row of kWide
// numbers, the rows of the few vertices that are reached lie together, and `row_of` finds them. Row
// 0 stays zero and stands for all other vertices, so that sums over neighbours need no branch.
template <std::size_t kWide>
class SimplexBlocks {
 public:
  SimplexBlocks(const Lattice& lattice, const LatticeStencil& stencil)
      : lattice_(lattice), stencil_(stencil), row_of_(lattice.num_vertices, 0) {}

  // B_ij of one simplex, i <= j, row by row, off-diagonal entries doubled.
  void Compute(const std::uint32_t* vertex, float* block) {
    reached_.assign(1, 0);
    rows_.assign(lattice_.corners + 1, Row{});
    for (std::size_t i = 0; i < lattice_.corners; ++i) {
      reached_.push_back(vertex[i]);
      row_of_[vertex[i]] = static_cast<std::uint32_t>(i + 1);
      rows_[i + 1][i] = 1.0F;
    }
    const std::size_t half = stencil_.laziness.size() / 2;
    for (std::size_t k = 0; k < half; ++k) Spread(stencil_.laziness[k]);
    std::array<Row, kWide> products = {};
    AddProducts(stencil_.laziness[half], &products);
    for (std::size_t i = 0; i < lattice_.corners; ++i) {
      for (std::size_t j = i; j < lattice_.corners; ++j) {
        *block++ = (i == j ? 1.0F : 2.0F) * products[i][j];
      }
    }
    for (const std::uint32_t v : reached_) row_of_[v] = 0;
  }

 private:
  using Row = std::array<float, kWide>;

  float Centre(std::uint32_t v, double laziness) const {
    const auto present =
        static_cast<double>(lattice_.neighbour_begin[v + 1] - lattice_.neighbour_begin[v]);
    return static_cast<float>(laziness + stencil_.kept * stencil_.NeighbourWeight(laziness) *
                                             (stencil_.neighbour_slots() - present));
  }

  static void AddScaled(float factor, const Row& from, Row* to) {
    for (std::size_t l = 0; l < kWide; ++l) (*to)[l] += factor * from[l];
  }

  void Spread(double laziness) {
    const auto move = static_cast<float>(stencil_.NeighbourWeight(laziness));
    const std::size_t before = reached_.size();
    source_ = rows_;
    for (std::size_t r = 1; r < before; ++r) {
      const float centre = Centre(reached_[r], laziness);
      for (float& x : rows_[r]) x *= centre;
    }
    for (std::size_t r = 1; r < before; ++r) {
      const std::uint32_t v = reached_[r];
      for (std::uint32_t n = lattice_.neighbour_begin[v]; n < lattice_.neighbour_begin[v + 1];
           ++n) {
        const std::uint32_t other = lattice_.neighbour[n];
        std::uint32_t& row = row_of_[other];
        if (row == 0) {
          row = static_cast<std::uint32_t>(reached_.size());
          reached_.push_back(other);
          rows_.push_back(Row{});
        }
        AddScaled(move, source_[r], &rows_[row]);
      }
    }
  }

  // products_ij += sum_v y_iv (C y_j)_v.
  void AddProducts(double laziness, std::array<Row, kWide>* products) const {
    const auto move = static_cast<float>(stencil_.NeighbourWeight(laziness));
    for (std::size_t r = 1; r < reached_.size(); ++r) {
      const std::uint32_t v = reached_[r];
      Row sum = {};
      for (std::uint32_t n = lattice_.neighbour_begin[v]; n < lattice_.neighbour_begin[v + 1];
           ++n) {
        const Row& other = rows_[row_of_[lattice_.neighbour[n]]];
        for (std::size_t l = 0; l < kWide; ++l) sum[l] += other[l];
      }
      for (float& x : sum) x *= move;
      AddScaled(Centre(v, laziness), rows_[r], &sum);
      for (std::size_t i = 0; i < lattice_.corners; ++i) {
        AddScaled(rows_[r][i], sum, &(*products)[i]);
      }
    }
  }

  const Lattice& lattice_;
  const LatticeStencil& stencil_;
  std::vector<std::uint32_t> row_of_;   // per vertex
  std::vector<std::uint32_t> reached_;  // the vertices that have rows
  std::vector<Row> rows_;
  std::vector<Row> source_;
};

// Simplices ordered by their corners, equal ones (of pixels far apart in order) once: neighbours in
// this order share most of the vertices that they reach.
struct DistinctSimplices {
  std::vector<std::uint32_t> example;  // one simplex of each kind
  std::vector<std::uint32_t> kind_of;  // per simplex
};

DistinctSimplices SortSimplices(const Lattice& lattice) {
  const std::size_t corners = lattice.corners;
  const std::size_t count = lattice.simplex_vertex.size() / corners;
  const auto vertices = [&](std::uint32_t s) { return &lattice.simplex_vertex[s * corners]; };
  std::vector<std::uint32_t> begin(lattice.num_vertices + 1, 0);
  for (std::uint32_t s = 0; s < count; ++s) ++begin[*vertices(s) + 1];
  for (std::size_t v = 0; v < lattice.num_vertices; ++v) begin[v + 1] += begin[v];
  std::vector<std::uint32_t> order(count);
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (std::uint32_t s = 0; s < count; ++s) order[next[*vertices(s)]++] = s;
  constexpr std::size_t kGrain = 4096;
  ParallelFor(lattice.num_vertices, kGrain, [&](std::size_t first, std::size_t last) {
    for (std::size_t v = first; v < last; ++v) {
      std::sort(order.begin() + begin[v], order.begin() + begin[v + 1],
                [&](std::uint32_t s, std::uint32_t t) {
                  return std::lexicographical_compare(vertices(s), vertices(s) + corners,
                                                      vertices(t), vertices(t) + corners);
                });
    }
  });
  DistinctSimplices distinct;
  distinct.kind_of.resize(count);
  for (const std::uint32_t s : order) {
    if (distinct.example.empty() ||
        !std::equal(vertices(s), vertices(s) + corners, vertices(distinct.example.back()))) {
      distinct.example.push_back(s);
    }
    distinct.kind_of[s] = static_cast<std::uint32_t>(distinct.example.size() - 1);
  }
  return distinct;
}

template <std::size_t kWide>
void ComputeBlocks(const Lattice& lattice, const LatticeStencil& stencil,
                   const DistinctSimplices& distinct, std::size_t entries,
                   std::vector<float>* block) {
  // Every chunk clears an array of all vertices: few chunks when there are many of those.
  const std::size_t grain = std::max<std::size_t>(512, distinct.example.size() / 32);
  ParallelFor(distinct.example.size(), grain, [&](std::size_t begin, std::size_t end) {
    SimplexBlocks<kWide> blocks(lattice, stencil);
    for (std::size_t k = begin; k < end; ++k) {
      blocks.Compute(&lattice.simplex_vertex[distinct.example[k] * lattice.corners],
                     block->data() + k * entries);
    }
  });
}

}  // namespace

std::vector<float> LatticeDiagonal(const Lattice& lattice, const LatticeStencil& stencil) {
  const std::size_t corners = lattice.corners;
  const std::size_t entries = corners * (corners + 1) / 2;
  const DistinctSimplices distinct = SortSimplices(lattice);
  std::vector<float> block(distinct.example.size() * entries);
  if (corners <= 4) {
    ComputeBlocks<4>(lattice, stencil, distinct, entries, &block);
  } else if (corners <= 8) {
    ComputeBlocks<8>(lattice, stencil, distinct, entries, &block);
  } else {
    ComputeBlocks<20>(lattice, stencil, distinct, entries, &block);
  }
  std::vector<float> diagonal(lattice.num_pixels);
  ParallelFor(lattice.num_pixels, 8192, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      const float* weight = lattice.weight.data() + a * corners;
      const float* entry = block.data() + distinct.kind_of[lattice.simplex_of[a]] * entries;
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

}  // namespace submarine
