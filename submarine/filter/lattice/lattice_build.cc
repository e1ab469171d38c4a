#include "submarine/filter/lattice/lattice_build.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kMostPixels = 8192;  // of a chunk
constexpr std::size_t kShards = 8;         // tables of vertices filled side by side

// Large chunks share more; but there should be a few of them for the threads.
std::size_t ChunkSize(std::size_t num_pixels) {
  const std::size_t blocks = (num_pixels / 8 + kLocateBlock - 1) / kLocateBlock;
  return std::clamp<std::size_t>(blocks * kLocateBlock, 512, kMostPixels);
}

// Features relative to the middle of their box, times what LocatePoints wants.
struct Placement {
  std::array<double, kMaxFeatureDimension> centre{};
  std::array<double, kMaxFeatureDimension> factor{};
  std::array<double, kMaxFeatureDimension> half_width{};  // of the box, after the factor
};

Placement PlaceFeatures(const GaussianKernel& kernel, const LatticeStencil& stencil) {
  const std::size_t d = kernel.dimension();
  Placement place;
  std::array<double, kMaxFeatureDimension> least{};
  std::array<double, kMaxFeatureDimension> largest{};
  std::copy_n(kernel.features.data(), d, least.data());
  std::copy_n(kernel.features.data(), d, largest.data());
  for (std::size_t a = 1; a < kernel.size(); ++a) {
    const double* row = kernel.features.data() + a * d;
    for (std::size_t i = 0; i < d; ++i) {
      least[i] = std::min(least[i], row[i]);
      largest[i] = std::max(largest[i], row[i]);
    }
  }
  for (std::size_t i = 0; i < d; ++i) {
    place.centre[i] = 0.5 * (least[i] + largest[i]);
    place.factor[i] = stencil.scale / std::sqrt(static_cast<double>((i + 1) * (i + 2)));
    place.half_width[i] = 0.5 * (largest[i] - least[i]) * place.factor[i];
  }
  return place;
}

// Bounds on c_i over the box of the features, with room for the corners of a simplex and their
// neighbours. Throws when a coordinate leaves the integers that are exact.
LatticeBox BoundCells(const GaussianKernel& kernel, const Placement& place) {
  const int d = static_cast<int>(kernel.dimension());
  LatticeBox box;
  double sum = 0.0;
  for (int i = d; i >= 0; --i) {
    const double reach = i == 0 ? sum : sum + i * place.half_width[i - 1];
    if (reach > 1e8) {
      throw InvalidInput(fmt::format(
          "kernel \"{}\" has features that span {:.3g} lattice cells, expected fewer than 2e8: "
          "its sigma is too small for its range",
          kernel.name, 2.0 * reach));
    }
    const auto cells = static_cast<std::int64_t>(std::ceil(reach)) + 4;
    box.least[i] = -cells;
    box.radix[i] = 2 * cells + 1;
    if (i > 0) sum += place.half_width[i - 1];
  }
  return box;
}

double KeyBits(int dimension, const LatticeBox& box) {
  double bits = std::log2(dimension + 1.0);
  for (int i = 0; i < dimension; ++i) bits += std::log2(static_cast<double>(box.radix[i]));
  return bits;
}

// The simplices of one chunk of pixels.
template <class Key>
struct ChunkSimplices {
  std::vector<Key> base;         // key of the corner with remainder 0
  std::vector<Key> permutation;  // ranks, 5 bits each
  std::vector<Key> corner;       // `corners` keys each
};

template <class Key>
class Builder {
 public:
  Builder(const GaussianKernel& kernel, const LatticeStencil& stencil, const Placement& place,
          const LatticeBox& box, std::size_t max_bytes)
      : kernel_(kernel),
        stencil_(stencil),
        place_(place),
        keys_(stencil.dimension, box),
        d_(stencil.dimension),
        max_bytes_(max_bytes) {}

  Lattice Build() {
    CheckCount(kernel_.size() * kernel_.dimension() + kernel_.size());
    CheckBytes(0);
    lattice_.num_pixels = kernel_.size();
    lattice_.corners = static_cast<std::size_t>(d_) + 1;
    lattice_.simplex_of.resize(kernel_.size());
    lattice_.weight.resize(kernel_.size() * lattice_.corners);
    lattice_.chunk = ChunkSize(kernel_.size());
    chunks_.resize(lattice_.num_chunks());
    ParallelFor(kernel_.size(), lattice_.chunk,
                [&](std::size_t begin, std::size_t end) { LocateChunk(begin, end); });
    NumberVertices();
    FindNeighbours();
    return std::move(lattice_);
  }

 private:
  void LocateChunk(std::size_t begin, std::size_t end) {
    ChunkSimplices<Key>& chunk = chunks_[begin / lattice_.chunk];
    std::vector<std::uint32_t> slots(2 * kMostPixels, kNone);
    std::vector<double> feature(static_cast<std::size_t>(d_) * kLocateBlock, 0.0);
    LocatedPoints located;
    std::uint32_t previous = kNone;
    for (std::size_t block = begin; block < end; block += kLocateBlock) {
      const std::size_t count = std::min(kLocateBlock, end - block);
      for (std::size_t p = 0; p < count; ++p) {
        const double* row = kernel_.features.data() + (block + p) * static_cast<std::size_t>(d_);
        for (int i = 0; i < d_; ++i) {
          feature[i * kLocateBlock + p] =
              QuantizeFeature((row[i] - place_.centre[i]) * place_.factor[i]);
        }
      }
      LocatePoints(feature.data(), d_, &located);
      for (std::size_t p = 0; p < count; ++p) {
        previous = FindSimplex(located, p, previous, &slots, &chunk);
        lattice_.simplex_of[block + p] = previous;
        StoreWeights(located, p, block + p);
      }
    }
  }

  std::uint32_t FindSimplex(const LocatedPoints& located, std::size_t p, std::uint32_t previous,
                            std::vector<std::uint32_t>* slots, ChunkSimplices<Key>* chunk) const {
    const Key base = keys_.Base(&located.cell[0][p], kLocateBlock);
    Key permutation = 0;
    for (int i = 0; i <= d_; ++i) {
      permutation = permutation << 5 | static_cast<Key>(located.rank[i][p]);
    }
    const auto matches = [&](std::uint32_t s) {
      return chunk->base[s] == base && chunk->permutation[s] == permutation;
    };
    if (previous != kNone && matches(previous)) return previous;
    const std::size_t mask = slots->size() - 1;
    std::size_t slot = (HashKey(static_cast<Key>(base + 0x632BE5AB * permutation)) >> 20) & mask;
    for (; (*slots)[slot] != kNone; slot = (slot + 1) & mask) {
      if (matches((*slots)[slot])) return (*slots)[slot];
    }
    (*slots)[slot] = static_cast<std::uint32_t>(chunk->base.size());
    chunk->base.push_back(base);
    chunk->permutation.push_back(permutation);
    std::array<int, kMaxCorners> of_rank;
    for (int i = 0; i <= d_; ++i) of_rank[located.rank[i][p]] = i;
    Key corner = base;
    for (int r = 0; r <= d_; ++r) {
      chunk->corner.push_back(corner);
      corner = keys_.NextCorner(corner, of_rank[d_ - r]);
    }
    return (*slots)[slot];
  }

  // Barycentric coordinates are differences of neighbouring sorted residuals.
  void StoreWeights(const LocatedPoints& located, std::size_t p, std::size_t a) {
    std::array<float, kMaxCorners> sorted;
    for (int i = 0; i <= d_; ++i) sorted[located.rank[i][p]] = located.residual[i][p];
    const float scale = static_cast<float>(std::sqrt(stencil_.amplitude)) *
                        (kernel_.scale.empty() ? 1.0F : static_cast<float>(kernel_.scale[a]));
    float* weight = lattice_.weight.data() + a * lattice_.corners;
    weight[0] = scale * std::max(0.0F, 1.0F + sorted[d_] - sorted[0]);
    for (int r = 1; r <= d_; ++r) {
      weight[r] = scale * std::max(0.0F, sorted[d_ - r] - sorted[d_ + 1 - r]);
    }
  }

  // Each shard numbers the keys whose hash it owns; sorting makes the final numbers independent of
  // all that.
  void NumberVertices() {
    const std::size_t corners = lattice_.corners;
    std::vector<std::size_t> first(chunks_.size() + 1, 0);
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      first[c + 1] = first[c] + chunks_[c].base.size();
    }
    const std::size_t records = first.back();
    CheckCount(records * corners);
    std::vector<std::uint32_t>& vertex = lattice_.simplex_vertex;
    vertex.resize(records * corners);
    std::vector<std::vector<Key>> shard_keys(kShards);
    ParallelFor(kShards, 1, [&](std::size_t shard, std::size_t) {
      constexpr std::size_t kAhead = 8;
      KeyNumbering<Key> numbering(records / kShards);
      std::vector<std::uint32_t> mine;
      for (std::size_t c = 0; c < chunks_.size(); ++c) {
        const std::vector<Key>& corner = chunks_[c].corner;
        // Which keys are ours is as good as random: no branch that could be guessed wrong.
        mine.resize(corner.size() + kAhead + 1);
        std::size_t count = 0;
        for (std::size_t k = 0; k < corner.size(); ++k) {
          mine[count] = static_cast<std::uint32_t>(k);
          count += HashKey(corner[k]) >> 61 == shard ? 1 : 0;
        }
        std::uint32_t* out = vertex.data() + first[c] * corners;
        for (std::size_t n = 0; n < count; ++n) {
          numbering.Prefetch(HashKey(corner[mine[std::min(n + kAhead, count - 1)]]));
          out[mine[n]] = numbering.Number(corner[mine[n]], HashKey(corner[mine[n]]));
        }
      }
      shard_keys[shard] = numbering.keys();
    });
    std::array<std::size_t, kShards + 1> offset{};
    for (std::size_t s = 0; s < kShards; ++s) offset[s + 1] = offset[s] + shard_keys[s].size();
    std::vector<NumberedKey<Key>> items(offset[kShards]);
    for (std::size_t s = 0; s < kShards; ++s) {
      for (std::size_t k = 0; k < shard_keys[s].size(); ++k) {
        items[offset[s] + k] = {shard_keys[s][k], static_cast<std::uint32_t>(offset[s] + k)};
      }
    }
    RadixSort(&items, keys_.end());
    std::vector<std::uint32_t> position(items.size());
    sorted_.resize(items.size());
    for (std::size_t v = 0; v < items.size(); ++v) {
      position[items[v].number] = static_cast<std::uint32_t>(v);
      sorted_[v] = items[v].key;
    }
    lattice_.num_vertices = items.size();
    CheckBytes(items.size());
    ParallelFor(chunks_.size(), 1, [&](std::size_t c, std::size_t) {
      std::uint32_t* out = vertex.data() + first[c] * corners;
      const std::vector<Key>& corner = chunks_[c].corner;
      for (std::size_t k = 0; k < corner.size(); ++k) {
        out[k] = position[offset[HashKey(corner[k]) >> 61] + out[k]];
      }
      const std::size_t end = std::min(kernel_.size(), (c + 1) * lattice_.chunk);
      for (std::size_t a = c * lattice_.chunk; a < end; ++a) {
        lattice_.simplex_of[a] += static_cast<std::uint32_t>(first[c]);
      }
    });
    chunks_.clear();
  }

  void CheckCount(std::size_t count) const {
    if (count >= std::numeric_limits<std::uint32_t>::max()) {
      throw TooLarge(
          fmt::format("kernel \"{}\" would need {} lattice corners, expected fewer than 2^32",
                      kernel_.name, count));
    }
  }

  void CheckBytes(std::size_t vertices) const {
    const std::size_t bytes = LatticeBytes(kernel_.size(), kernel_.dimension(), vertices);
    if (bytes > max_bytes_) {
      throw TooLarge(fmt::format(
          "kernel \"{}\" needs about {} MiB for a lattice of {} variables, expected at most {} MiB",
          kernel_.name, bytes >> 20, kernel_.size(), max_bytes_ >> 20));
    }
  }

  // Adding u_j keeps the order of keys among vertices with r >= 1 and among those with r = 0: each
  // axis is a merge of the list of vertices with itself.
  void FindNeighbours() {
    const std::size_t m = sorted_.size();
    std::vector<std::uint8_t> inside(m);
    for (std::size_t v = 0; v < m; ++v) inside[v] = keys_.Remainder(sorted_[v]) != 0;
    std::vector<std::uint32_t> up(lattice_.corners * m, kNone);
    ParallelFor(lattice_.corners, 1, [&](std::size_t j, std::size_t) {
      const std::array<Key, 2> step = {keys_.StepAcross(static_cast<int>(j)),
                                       keys_.StepInside(static_cast<int>(j))};
      std::array<std::size_t, 2> at{};
      for (std::size_t v = 0; v < m; ++v) {
        const Key target = sorted_[v] + step[inside[v]];
        std::size_t& candidate = at[inside[v]];
        while (candidate < m && sorted_[candidate] < target) ++candidate;
        if (candidate < m && sorted_[candidate] == target) {
          up[j * m + v] = static_cast<std::uint32_t>(candidate);
        }
      }
    });
    ListNeighbours(up);
  }

  void ListNeighbours(const std::vector<std::uint32_t>& up) {
    const std::size_t m = sorted_.size();
    std::vector<std::uint32_t>& begin = lattice_.neighbour_begin;
    begin.assign(m + 1, 0);
    for (std::size_t k = 0; k < up.size(); ++k) {
      if (up[k] == kNone) continue;
      ++begin[k % m + 1];
      ++begin[up[k] + 1];
    }
    CheckCount(2 * up.size());
    for (std::size_t v = 0; v < m; ++v) begin[v + 1] += begin[v];
    lattice_.neighbour.resize(begin[m]);
    std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
    for (std::size_t j = 0; j < lattice_.corners; ++j) {
      for (std::size_t v = 0; v < m; ++v) {
        const std::uint32_t other = up[j * m + v];
        if (other == kNone) continue;
        lattice_.neighbour[next[v]++] = other;
        lattice_.neighbour[next[other]++] = static_cast<std::uint32_t>(v);
      }
    }
  }

  const GaussianKernel& kernel_;
  const LatticeStencil& stencil_;
  const Placement& place_;
  LatticeKeys<Key> keys_;
  int d_;
  std::size_t max_bytes_;
  Lattice lattice_;
  std::vector<ChunkSimplices<Key>> chunks_;
  std::vector<Key> sorted_;
};

}  // namespace

std::size_t Lattice::bytes() const {
  return Bytes(simplex_of) + Bytes(simplex_vertex) + Bytes(weight) + Bytes(neighbour_begin) +
         Bytes(neighbour);
}

std::size_t SplatLists::bytes() const { return Bytes(begin) + Bytes(entry); }

std::size_t LatticeBytes(std::size_t num_pixels, std::size_t dimension, std::size_t num_vertices) {
  const std::size_t corners = dimension + 1;
  // What is built after the keys are gone (lattice_parts.h) takes less than they did.
  // Pixel: its simplex, its weights, at most one record of keys (two names, corners), corners,
  // splat entries. Vertex: keys while they are sorted, neighbours upwards, neighbours both ways,
  // list heads.
  const std::size_t pixel = 4 + 4 * corners + 16 * (2 + corners) + 4 * corners + 8 * corners;
  const std::size_t vertex = 112 + 4 * corners + 8 * corners + 16;
  return num_pixels * pixel + num_vertices * vertex;
}

Lattice BuildLattice(const GaussianKernel& kernel, const LatticeStencil& stencil,
                     std::size_t max_bytes) {
  const Placement place = PlaceFeatures(kernel, stencil);
  const LatticeBox box = BoundCells(kernel, place);
  const double bits = KeyBits(stencil.dimension, box);
  constexpr int kMostRanksIn64Bits = 12;
  if (bits < 63.0 && stencil.dimension < kMostRanksIn64Bits) {
    return Builder<std::uint64_t>(kernel, stencil, place, box, max_bytes).Build();
  }
  if (bits >= 127.0) {
    throw InvalidInput(fmt::format(
        "kernel \"{}\" has features of dimension {} that span 2^{:.0f} lattice vertices, expected "
        "fewer than 2^127: its sigma is too small for its range",
        kernel.name, stencil.dimension, bits));
  }
  return Builder<UInt128>(kernel, stencil, place, box, max_bytes).Build();
}

SplatLists BuildSplatLists(const Lattice& lattice) {
  constexpr std::size_t kLookAhead = kLatticeLanes;
  const std::size_t m = lattice.num_vertices;
  const std::size_t corners = lattice.corners;
  SplatLists lists;
  lists.begin.assign(m + 1, 0);
  std::vector<std::uint32_t> uses(lattice.simplex_vertex.size() / corners, 0);
  for (const std::uint32_t s : lattice.simplex_of) ++uses[s];
  for (std::size_t k = 0; k < lattice.simplex_vertex.size(); ++k) {
    lists.begin[lattice.simplex_vertex[k] + 1] += uses[k / corners];
  }
  for (std::size_t v = 0; v < m; ++v) lists.begin[v + 1] += lists.begin[v];
  lists.entry.resize(lattice.num_pixels * corners + kLookAhead, SplatEntry{0, 0.0F});
  std::vector<std::uint32_t> next(lists.begin.begin(), lists.begin.end() - 1);
  for (std::size_t a = 0; a < lattice.num_pixels; ++a) {
    const std::uint32_t* vertex = lattice.simplex_vertex.data() + lattice.simplex_of[a] * corners;
    for (std::size_t i = 0; i < corners; ++i) {
      lists.entry[next[vertex[i]]++] = {static_cast<std::uint32_t>(a),
                                        lattice.weight[a * corners + i]};
    }
  }
  return lists;
}

}  // namespace submarine::internal
