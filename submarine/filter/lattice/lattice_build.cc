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

constexpr std::size_t kMostPixels = 8192;  // in a chunk
constexpr std::size_t kShards = 8;         // hash tables of vertices, filled in parallel
constexpr std::size_t kMostParts = 64;     // with more parts, a vertex has more rows
constexpr std::size_t kManyPixels = std::size_t{1} << 18;  // from here on, count one shard

template <class Key>
std::size_t ShardOf(Key key) {
  static_assert(kShards == 8);
  return HashKey(key) >> 61;
}

// Larger chunks share more simplices, but the threads need several chunks.
std::size_t ChunkSize(std::size_t num_pixels) {
  const std::size_t blocks = (num_pixels / 8 + kLocateBlock - 1) / kLocateBlock;
  return std::clamp<std::size_t>(blocks * kLocateBlock, 512, kMostPixels);
}

// Features relative to the middle of their bounding box, times the factor that LocatePoints
// expects.
struct Placement {
  std::array<double, kMaxFeatureDimension> centre{};
  std::array<double, kMaxFeatureDimension> factor{};
  std::array<double, kMaxFeatureDimension> half_width{};  // of the box, times the factor
};

constexpr std::size_t kBoxRows = 8;  // rows at a time, which the compiler keeps in registers

// Widens the box [*least, *largest] to contain rows begin..end-1.
template <class T>
void WidenBox(const Matrix<T>& features, std::size_t begin, std::size_t end, double* least,
              double* largest) {
  const std::size_t d = features.cols();
  std::array<T, kBoxRows * kMaxFeatureDimension> low;
  std::array<T, kBoxRows * kMaxFeatureDimension> high;
  const T* first = features.data() + begin * d;
  for (std::size_t k = 0; k < kBoxRows * d; ++k) low[k] = high[k] = first[k % d];
  std::size_t a = begin;
  for (; a + kBoxRows <= end; a += kBoxRows) {
    const T* rows = features.data() + a * d;
    for (std::size_t k = 0; k < kBoxRows * d; ++k) {
      low[k] = rows[k] < low[k] ? rows[k] : low[k];
      high[k] = rows[k] > high[k] ? rows[k] : high[k];
    }
  }
  for (; a < end; ++a) {
    for (std::size_t i = 0; i < d; ++i) {
      low[i] = std::min(low[i], features(a, i));
      high[i] = std::max(high[i], features(a, i));
    }
  }
  for (std::size_t k = 0; k < kBoxRows * d; ++k) {
    least[k % d] = std::min(least[k % d], static_cast<double>(low[k]));
    largest[k % d] = std::max(largest[k % d], static_cast<double>(high[k]));
  }
}

Placement PlaceFeatures(const LatticePoints& points, const LatticeStencil& stencil) {
  struct Box {
    std::array<double, kMaxFeatureDimension> least;
    std::array<double, kMaxFeatureDimension> largest;
  };
  const std::size_t d = points.dimension();
  const std::size_t grain = 1 << 15;
  std::vector<Box> boxes((points.size() + grain - 1) / grain);
  ParallelFor(points.size(), grain, [&](std::size_t begin, std::size_t end) {
    Box& box = boxes[begin / grain];
    box.least.fill(std::numeric_limits<double>::infinity());
    box.largest.fill(-std::numeric_limits<double>::infinity());
    if (points.wide != nullptr) {
      WidenBox(*points.wide, begin, end, box.least.data(), box.largest.data());
    } else {
      WidenBox(*points.narrow, begin, end, box.least.data(), box.largest.data());
    }
  });
  Placement place;
  for (std::size_t i = 0; i < d; ++i) {
    double least = boxes[0].least[i];
    double largest = boxes[0].largest[i];
    for (const Box& box : boxes) {
      least = std::min(least, box.least[i]);
      largest = std::max(largest, box.largest[i]);
    }
    place.centre[i] = stencil.by_axes ? 0.0 : 0.5 * (least + largest);
    place.factor[i] = stencil.scale / std::sqrt(static_cast<double>((i + 1) * (i + 2)));
    place.half_width[i] =
        std::max(largest - place.centre[i], place.centre[i] - least) * place.factor[i];
  }
  return place;
}

// Bounds on c_i over the box of the features, with room for the corners of a simplex and their
// neighbours. Throws when a coordinate exceeds the range of exact integers.
LatticeBox BoundCells(const LatticePoints& points, const Placement& place) {
  const int d = static_cast<int>(points.dimension());
  LatticeBox box;
  double sum = 0.0;
  for (int i = d; i >= 0; --i) {
    const double reach = i == 0 ? sum : sum + i * place.half_width[i - 1];
    if (reach > 1e8) {
      throw InvalidInput(fmt::format(
          "kernel \"{}\" has features that span {:.3g} lattice cells, expected fewer than 2e8: "
          "its sigma is too small for its range",
          points.name, 2.0 * reach));
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

// The simplices of one chunk of pixels, and their vertices.
template <class Key>
struct ChunkSimplices {
  std::vector<Key> base;              // key of the corner with remainder 0
  std::vector<Key> permutation;       // ranks, 5 bits each
  std::vector<std::uint32_t> corner;  // `corners` per simplex, as indices into `vertex`
  std::vector<Key> vertex;            // without repetitions
  // Shard s has the vertices in_shard[shard_begin[s]..shard_begin[s+1]].
  std::vector<std::uint32_t> in_shard;
  std::array<std::uint32_t, kShards + 1> shard_begin{};
  std::vector<std::uint32_t> number;  // of a vertex, first within its shard, then in the lattice

  void SortByShard() {
    for (const Key key : vertex) ++shard_begin[ShardOf(key) + 1];
    for (std::size_t s = 0; s < kShards; ++s) shard_begin[s + 1] += shard_begin[s];
    std::array<std::uint32_t, kShards> next;
    std::copy_n(shard_begin.data(), kShards, next.data());
    in_shard.resize(vertex.size());
    for (std::size_t v = 0; v < vertex.size(); ++v)
      in_shard[next[ShardOf(vertex[v])]++] = static_cast<std::uint32_t>(v);
    number.resize(vertex.size());
  }
};

// kD is the dimension, or 0 if unknown at compile time: short loops are slow unless their length is
// known.
template <class Key, int kD>
class Builder {
 public:
  Builder(const LatticePoints& points, const LatticeStencil& stencil, const Placement& place,
          const LatticeBox& box, std::size_t max_bytes)
      : points_(points),
        stencil_(stencil),
        place_(place),
        keys_(stencil.dimension, box),
        some_d_(stencil.dimension),
        max_bytes_(max_bytes) {}

  Lattice Build() {
    CheckCount(points_.size() * points_.dimension() + points_.size());
    CheckBytes(0);
    lattice_.num_pixels = points_.size();
    lattice_.corners = corners();
    lattice_.simplex_of.resize(points_.size());
    lattice_.weight.resize(points_.size() * lattice_.corners);
    lattice_.chunk = ChunkSize(points_.size());
    chunks_.resize(lattice_.num_chunks());
    ParallelFor(points_.size(), lattice_.chunk, [&](std::size_t begin, std::size_t end) {
      const auto store = [&](const LocatedPoints& located, std::size_t block, std::size_t count) {
        StoreWeights(located, block, count);
      };
      const auto place = [&](std::size_t a, std::uint32_t s) { lattice_.simplex_of[a] = s; };
      LocateChunk(begin, end, place, store);
      chunks_[begin / lattice_.chunk].SortByShard();
    });
    NumberVertices();
    FindNeighbours();
    return std::move(lattice_);
  }

  LatticeCounts Count() {
    LatticeCounts counts{.pixels = points_.size(), .dimension = points_.dimension()};
    lattice_.num_pixels = points_.size();
    lattice_.chunk = ChunkSize(points_.size());
    chunks_.resize(lattice_.num_chunks());
    const bool one_shard = points_.size() > kManyPixels;
    std::vector<std::size_t> simplices(chunks_.size());
    std::vector<std::size_t> vertices(chunks_.size());
    ParallelFor(points_.size(), lattice_.chunk, [&](std::size_t begin, std::size_t end) {
      const auto ignore = [](auto&&...) {};
      LocateChunk(begin, end, ignore, ignore);
      ChunkSimplices<Key>& chunk = chunks_[begin / lattice_.chunk];
      simplices[begin / lattice_.chunk] = chunk.base.size();
      vertices[begin / lattice_.chunk] = chunk.vertex.size();
      if (one_shard) std::erase_if(chunk.vertex, [](Key key) { return ShardOf(key) != 0; });
      chunk = {.vertex = std::vector<Key>(chunk.vertex)};  // the rest is not needed
    });
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      counts.simplices += simplices[c];
      counts.chunk_vertices += vertices[c];
    }
    CountDistinct(&counts);
    if (one_shard) {
      counts.vertices *= kShards;
      counts.part_rows *= kShards;
    }
    return counts;
  }

 private:
  // Counts the vertices that the chunks have kept.
  void CountDistinct(LatticeCounts* counts) const {
    const std::size_t part_chunks = ChunksOfPart(chunks_.size());
    KeyNumbering<Key> numbering(4096);
    std::vector<std::size_t> part_of;  // the last part that had a vertex, counted from 1
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      for (const Key key : chunks_[c].vertex) {
        const std::uint32_t v = numbering.Number(key, HashKey(key));
        if (v == part_of.size()) part_of.push_back(0);
        const std::size_t part = c / part_chunks + 1;
        counts->part_rows += part_of[v] != part ? 1 : 0;
        part_of[v] = part;
      }
    }
    counts->vertices = part_of.size();
    counts->parts = (chunks_.size() + part_chunks - 1) / part_chunks;
  }

  int d() const { return kD > 0 ? kD : some_d_; }
  std::size_t corners() const { return static_cast<std::size_t>(d()) + 1; }

  // Working memory for finding the simplices of a chunk.
  struct Search {
    std::vector<std::uint32_t> slots = std::vector<std::uint32_t>(2 * kMostPixels, kNone);
    KeyNumbering<Key> vertices{kMostPixels / 8};
    std::uint32_t last = kNone;  // the simplex of the previous point
  };

  // Calls place(a, simplex) for every pixel, with simplices numbered within their chunk, and
  // store(located, first pixel, count) for every block of pixels.
  template <class Place, class Store>
  void LocateChunk(std::size_t begin, std::size_t end, const Place& place, const Store& store) {
    if (points_.wide != nullptr) {
      LocateRows(*points_.wide, begin, end, place, store);
    } else {
      LocateRows(*points_.narrow, begin, end, place, store);
    }
  }

  template <class T, class Place, class Store>
  void LocateRows(const Matrix<T>& features, std::size_t begin, std::size_t end, const Place& place,
                  const Store& store) {
    ChunkSimplices<Key>& chunk = chunks_[begin / lattice_.chunk];
    Search search;
    std::vector<double> feature(static_cast<std::size_t>(d()) * kLocateBlock, 0.0);
    LocatedPoints located;
    for (std::size_t block = begin; block < end; block += kLocateBlock) {
      const std::size_t count = std::min(kLocateBlock, end - block);
      for (std::size_t p = 0; p < count; ++p) {
        const T* row = features.data() + (block + p) * static_cast<std::size_t>(d());
        for (int i = 0; i < d(); ++i) {
          feature[i * kLocateBlock + p] =
              QuantizeFeature((static_cast<double>(row[i]) - place_.centre[i]) * place_.factor[i]);
        }
      }
      LocatePoints(feature.data(), d(), &located);
      for (std::size_t p = 0; p < count; ++p) {
        if (located.repeats[p] == 0) FindSimplex(located, p, &search, &chunk);
        place(block + p, search.last);
      }
      store(located, block, count);
    }
    chunk.vertex = search.vertices.keys();
  }

  void FindSimplex(const LocatedPoints& located, std::size_t p, Search* search,
                   ChunkSimplices<Key>* chunk) const {
    const Key base = keys_.template Base<kD>(&located.cell[0][p], kLocateBlock);
    Key permutation = 0;
    for (int i = 0; i <= d(); ++i) {
      permutation = permutation << 5 | static_cast<Key>(located.rank[i][p]);
    }
    std::vector<std::uint32_t>& slots = search->slots;
    const std::uint32_t before = search->last;
    const std::size_t mask = slots.size() - 1;
    std::size_t slot = (HashKey(static_cast<Key>(base + 0x632BE5AB * permutation)) >> 20) & mask;
    for (; slots[slot] != kNone; slot = (slot + 1) & mask) {
      search->last = slots[slot];
      if (chunk->base[search->last] == base && chunk->permutation[search->last] == permutation)
        return;
    }
    AddSimplex(located, p, base, before, search, chunk);
    chunk->base.push_back(base);
    chunk->permutation.push_back(permutation);
    search->last = slots[slot] = static_cast<std::uint32_t>(chunk->base.size() - 1);
  }

  // Adds the corners of a new simplex. It is mostly adjacent to the simplex of the previous point,
  // and adjacent simplices share all corners but one, with the same remainders.
  void AddSimplex(const LocatedPoints& located, std::size_t p, Key base, std::uint32_t before,
                  Search* search, ChunkSimplices<Key>* chunk) const {
    std::array<int, kMaxCorners> of_rank;
    for (int i = 0; i <= d(); ++i) of_rank[located.rank[i][p]] = i;
    const std::size_t first = chunk->corner.size();
    chunk->corner.resize(first + corners());
    std::uint32_t* number = chunk->corner.data() + first;
    const std::uint32_t* known = chunk->corner.data() + (before == kNone ? 0 : before * corners());
    Key corner = base;
    for (int r = 0; r <= d(); ++r) {
      number[r] = before != kNone && search->vertices.keys()[known[r]] == corner
                      ? known[r]
                      : search->vertices.Number(corner, HashKey(corner));
      corner = keys_.NextCorner(corner, of_rank[d() - r]);
    }
  }

  void StoreWeights(const LocatedPoints& located, std::size_t block, std::size_t count) {
    const auto amplitude = static_cast<float>(std::sqrt(stencil_.amplitude));
    float* weight = lattice_.weight.data() + block * lattice_.corners;
    for (std::size_t p = 0; p < count; ++p) {
      const float scale =
          amplitude * (points_.scale.empty() ? 1.0F : static_cast<float>(points_.scale[block + p]));
      for (std::size_t r = 0; r < corners(); ++r) *weight++ = scale * located.weight[r][p];
    }
  }

  // Each shard numbers the keys whose hashes belong to it; sorting makes the final numbers
  // independent of this.
  void NumberVertices() {
    const std::size_t corners = lattice_.corners;
    std::vector<std::size_t> first(chunks_.size() + 1, 0);
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      first[c + 1] = first[c] + chunks_[c].base.size();
      lattice_.chunk_vertices += chunks_[c].vertex.size();
    }
    const std::size_t records = first.back();
    CheckCount(records * corners);
    const std::vector<std::vector<Key>> shard_keys = NumberWithinShards();
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
    lattice_.simplex_vertex.resize(records * corners);
    ParallelFor(chunks_.size(), 1, [&](std::size_t c, std::size_t) {
      ChunkSimplices<Key>& chunk = chunks_[c];
      for (std::size_t s = 0; s < kShards; ++s) {
        for (std::size_t k = chunk.shard_begin[s]; k < chunk.shard_begin[s + 1]; ++k) {
          std::uint32_t& number = chunk.number[chunk.in_shard[k]];
          number = position[offset[s] + number];
        }
      }
      std::uint32_t* out = lattice_.simplex_vertex.data() + first[c] * corners;
      for (std::size_t k = 0; k < chunk.corner.size(); ++k) out[k] = chunk.number[chunk.corner[k]];
      const std::size_t end = std::min(points_.size(), (c + 1) * lattice_.chunk);
      for (std::size_t a = c * lattice_.chunk; a < end; ++a) {
        lattice_.simplex_of[a] += static_cast<std::uint32_t>(first[c]);
      }
    });
    chunks_.clear();
  }

  // Returns the keys of every shard in the order of their numbers.
  std::vector<std::vector<Key>> NumberWithinShards() {
    std::vector<std::vector<Key>> shard_keys(kShards);
    ParallelFor(kShards, 1, [&](std::size_t shard, std::size_t) {
      constexpr std::size_t kAhead = 8;
      std::size_t most = 0;
      for (const ChunkSimplices<Key>& chunk : chunks_)
        most = std::max<std::size_t>(most, chunk.shard_begin[shard + 1] - chunk.shard_begin[shard]);
      KeyNumbering<Key> numbering(2 * most);
      for (ChunkSimplices<Key>& chunk : chunks_) {
        const std::uint32_t* mine = chunk.in_shard.data() + chunk.shard_begin[shard];
        const std::size_t count = chunk.shard_begin[shard + 1] - chunk.shard_begin[shard];
        for (std::size_t n = 0; n < count; ++n) {
          numbering.Prefetch(HashKey(chunk.vertex[mine[std::min(n + kAhead, count - 1)]]));
          const Key key = chunk.vertex[mine[n]];
          chunk.number[mine[n]] = numbering.Number(key, HashKey(key));
        }
      }
      shard_keys[shard] = numbering.keys();
    });
    return shard_keys;
  }

  void CheckCount(std::size_t count) const {
    if (count >= std::numeric_limits<std::uint32_t>::max()) {
      throw TooLarge(
          fmt::format("kernel \"{}\" would need {} lattice corners, expected fewer than 2^32",
                      points_.name, count));
    }
  }

  void CheckBytes(std::size_t vertices) const {
    const std::size_t bytes = LatticeBytes(points_.size(), points_.dimension(), vertices);
    if (bytes > max_bytes_) {
      throw TooLarge(fmt::format(
          "kernel \"{}\" needs about {} MiB for a lattice of {} variables, expected at most {} MiB",
          points_.name, bytes >> 20, points_.size(), max_bytes_ >> 20));
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
    if (stencil_.by_axes) {
      ListNeighboursByAxes(up);
    } else {
      ListNeighbours(up);
    }
  }

  void ListNeighboursByAxes(const std::vector<std::uint32_t>& up) {
    const std::size_t m = sorted_.size();
    CheckCount(2 * up.size());
    lattice_.neighbour_begin.reserve(lattice_.corners * (m + 1));
    lattice_.neighbour.reserve(2 * (up.size() - std::count(up.begin(), up.end(), kNone)));
    std::vector<std::uint32_t> down(m);
    for (std::size_t j = 0; j < lattice_.corners; ++j) {
      std::fill(down.begin(), down.end(), kNone);
      for (std::size_t v = 0; v < m; ++v) {
        if (up[j * m + v] != kNone) down[up[j * m + v]] = static_cast<std::uint32_t>(v);
      }
      for (std::size_t v = 0; v < m; ++v) {
        lattice_.neighbour_begin.push_back(static_cast<std::uint32_t>(lattice_.neighbour.size()));
        if (up[j * m + v] != kNone) lattice_.neighbour.push_back(up[j * m + v]);
        if (down[v] != kNone) lattice_.neighbour.push_back(down[v]);
      }
      lattice_.neighbour_begin.push_back(static_cast<std::uint32_t>(lattice_.neighbour.size()));
    }
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

  const LatticePoints& points_;
  const LatticeStencil& stencil_;
  const Placement& place_;
  LatticeKeys<Key> keys_;
  int some_d_;
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
  // Anything built after the keys are freed (lattice_parts.h) takes less than the keys did. Pixel:
  // its simplex, its weights, at most one record of keys (base, permutation, corners), corners,
  // splat entries. Vertex: keys while they are sorted, neighbours upwards, neighbours both ways,
  // list heads.
  const std::size_t pixel = 4 + 4 * corners + 16 * (2 + corners) + 4 * corners + 8 * corners;
  const std::size_t vertex = 112 + 4 * corners + 8 * corners + 16;
  return num_pixels * pixel + num_vertices * vertex;
}

std::size_t ChunksOfPart(std::size_t num_chunks) {
  return (num_chunks + kMostParts - 1) / kMostParts;
}

namespace {

// Calls use(builder) with keys as wide as the features need and, for common dimensions, a dimension
// known at compile time.
template <class Use>
auto WithBuilder(const LatticePoints& points, const LatticeStencil& stencil, std::size_t max_bytes,
                 const Use& use) {
  const Placement place = PlaceFeatures(points, stencil);
  const LatticeBox box = BoundCells(points, place);
  const double bits = KeyBits(stencil.dimension, box);
  constexpr int kMostRanksIn64Bits = 12;
  if (bits < 63.0 && stencil.dimension < kMostRanksIn64Bits) {
    switch (stencil.dimension) {
      case 2:  // position
        return use(Builder<std::uint64_t, 2>(points, stencil, place, box, max_bytes));
      case 5:  // position and three colours
        return use(Builder<std::uint64_t, 5>(points, stencil, place, box, max_bytes));
      default:
        return use(Builder<std::uint64_t, 0>(points, stencil, place, box, max_bytes));
    }
  }
  if (bits >= 127.0) {
    throw InvalidInput(fmt::format(
        "kernel \"{}\" has features of dimension {} that span 2^{:.0f} lattice vertices, expected "
        "fewer than 2^127: its sigma is too small for its range",
        points.name, stencil.dimension, bits));
  }
  return use(Builder<UInt128, 0>(points, stencil, place, box, max_bytes));
}

}  // namespace

Lattice BuildLattice(const LatticePoints& points, const LatticeStencil& stencil,
                     std::size_t max_bytes) {
  return WithBuilder(points, stencil, max_bytes, [](auto&& builder) { return builder.Build(); });
}

LatticeCounts CountLattice(const LatticePoints& points, const LatticeStencil& stencil) {
  return WithBuilder(points, stencil, 0, [](auto&& builder) { return builder.Count(); });
}

BlurPass MakeBlurPass(const Lattice& lattice, const LatticeStencil& stencil, std::size_t k,
                      double scale) {
  if (stencil.by_axes) {
    return {lattice.neighbour_begin.data() + k * (lattice.num_vertices + 1),
            lattice.neighbour.data(), static_cast<float>(scale), 0.0F,
            static_cast<float>(0.5 * scale)};
  }
  const double c = stencil.laziness[k];
  const double p = stencil.NeighbourWeight(c);
  return {lattice.neighbour_begin.data(), lattice.neighbour.data(),
          static_cast<float>(scale * (c + stencil.kept * p * stencil.neighbour_slots())),
          static_cast<float>(scale * stencil.kept * p), static_cast<float>(scale * p)};
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
