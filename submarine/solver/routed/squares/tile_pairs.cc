#include "submarine/solver/routed/squares/tile_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/simd/wide_registers.h"
#include "submarine/solver/routed/squares/product_kernels.h"
#include "submarine/solver/routed/squares/tile_kernels.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kChunks = 16;
constexpr double kCutoffStep = 1.2;
constexpr double kLeastRaised = 1e-3;
constexpr std::size_t kSampledRows = 256;
constexpr std::size_t kSlab = 256;

// What is left in a tile. Rounding may have left a hair less than nothing of a pair.
SUBMARINE_FOR_WIDE_REGISTERS float Sum(const float* __restrict weight) {
  float column[kTile] = {};
  for (std::size_t i = 0; i < kTile; ++i) {
    for (std::size_t j = 0; j < kTile; ++j)
      column[j] += weight[i * kTile + j] > 0.0F ? weight[i * kTile + j] : 0.0F;
  }
  float sum = 0.0F;
  for (const float of_column : column) sum += of_column;
  return sum;
}

SUBMARINE_FOR_WIDE_REGISTERS void SumRowsAndColumns(const float* __restrict weight, float factor,
                                                    float* __restrict of_row,
                                                    float* __restrict of_column) {
  std::fill(of_column, of_column + kTile, 0.0F);
  for (std::size_t i = 0; i < kTile; ++i) {
    float lanes[8] = {};
    for (std::size_t j = 0; j < kTile; j += 8) {
      for (std::size_t l = 0; l < 8; ++l) {
        const float w = weight[i * kTile + j + l];
        const float kept = w > 0.0F ? factor * w : 0.0F;
        lanes[l] += kept;
        of_column[j + l] += kept;
      }
    }
    of_row[i] = ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
                ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
  }
}

SUBMARINE_FOR_WIDE_REGISTERS float SumOfRow(const float* row) {
  float lanes[8] = {};
  for (std::size_t j = 0; j < kTile; j += 8) {
    for (std::size_t l = 0; l < 8; ++l) lanes[l] += row[j + l];
  }
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
         ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

// The upper halves of floats, rounded to the nearest.
SUBMARINE_FOR_WIDE_REGISTERS void Pack(const float* __restrict weight, float factor,
                                       std::uint16_t* __restrict stored) {
  for (std::size_t n = 0; n < kTile * kTile; ++n) {
    const float w = weight[n] > 0.0F ? factor * weight[n] : 0.0F;
    stored[n] = static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(w) + 0x8000U) >> 16);
  }
}

// Draws squares one after the other with probability min(1, left / level), about evenly among those that follow each
// other, with the factor that their expectation asks for.
class Draw {
 public:
  explicit Draw(float level) : level_(level) {}
  // 0: not drawn.
  float Factor(float left) {
    if (!(left < level_)) return left > 0.0F ? 1.0F : 0.0F;
    passed_ += left / level_;
    if (passed_ < 1.0) return 0.0F;
    passed_ -= 1.0;
    return level_ / left;
  }

 private:
  float level_;
  double passed_ = 0.5;
};

// The level by which about `count` of these are drawn; 0: all of them.
float LevelFor(double count, std::vector<float>* left) {
  if (static_cast<double>(left->size()) <= count) return 0.0F;
  std::sort(left->begin(), left->end(), std::greater<>());
  double rest = std::accumulate(left->begin(), left->end(), 0.0);
  // The first n for certain; of what the others hold, equal parts.
  for (std::size_t n = 0; static_cast<double>(n) < count; ++n) {
    const double level = rest / (count - static_cast<double>(n));
    if ((*left)[n] <= level) return static_cast<float>(level);
    rest -= (*left)[n];
  }
  return left->front();
}

// Those to look at: bit m for kernel m, where the boxes of two blocks are within this squared distance and products do not
// take its place.
std::uint32_t KernelsWithin(const std::vector<ReorderedKernel>& kernels, double squared,
                            double product_limit, std::size_t row, std::size_t column) {
  // Direct pairs of edges are always looked at.
  if (column <= row + 1) return (1U << kernels.size()) - 1U;
  std::uint32_t mask = 0;
  for (std::size_t m = 0; m < kernels.size(); ++m) {
    if (kernels[m].LeastSquared(row, column) <= static_cast<float>(squared) &&
        !IsProduct(kernels[m], row, column, product_limit))
      mask |= 1U << m;
  }
  return mask;
}

double Raised(double cutoff, double largest) {
  return std::min(largest, std::max(kLeastRaised, kCutoffStep * cutoff));
}

}  // namespace

double SquareBytes(const SquareCounts& counts, bool by_square) {
  constexpr double kWhole = 2.0 * sizeof(ResidualBlock) + 48.0;  // arrays grow by doubling; lists
  constexpr double kAllPairs = kTile * kTile * sizeof(std::uint16_t);
  return counts.tiles * (by_square ? kWhole : kAllPairs) + counts.products * sizeof(ResidualBlock);
}

SquareCounts EstimateSquares(const std::vector<ReorderedKernel>& kernels, std::size_t blocks,
                             const TilePairsOptions& options) {
  const double farthest = -2.0 * std::log(options.cutoff);
  const auto farthest_product = static_cast<float>(-2.0 * std::log(options.product_cutoff));
  const std::size_t rows = std::min(blocks, kSampledRows);
  std::vector<SquareCounts> found(rows);
  ParallelFor(rows, 1, [&](std::size_t k, std::size_t) {
    const std::size_t row = (2 * k + 1) * blocks / (2 * rows);
    for (std::size_t column = row; column < blocks; ++column) {
      if (KernelsWithin(kernels, farthest, options.product_limit, row, column) != 0)
        found[k].tiles += 1.0;
      for (const ReorderedKernel& kernel : kernels) {
        if (kernel.LeastSquared(row, column) <= farthest_product &&
            IsProduct(kernel, row, column, options.product_limit))
          found[k].products += 1.0;
      }
    }
  });
  SquareCounts counts;
  const double share = static_cast<double>(blocks) / static_cast<double>(rows);
  for (const SquareCounts& of_row : found) {
    counts.tiles += share * of_row.tiles;
    counts.products += share * of_row.products;
  }
  return counts;
}

TilePairs::TilePairs(const std::vector<ReorderedKernel>& kernels, const RoutedPaths& paths,
                     const std::vector<RoutedCut>& cuts, const TilePairsOptions& options)
    : size_(paths.order.size()),
      blocks_(NumBlocks(size_)),
      paths_(paths),
      followers_(paths.Followers()),
      cuts_(cuts),
      kernels_(kernels),
      product_limit_(options.product_limit),
      by_square_(options.by_square),
      cutoff_(options.cutoff) {
  FindTiles(options);
}

std::uint32_t TilePairs::KernelsWithin(double squared, std::size_t row, std::size_t column) const {
  return submarine::internal::KernelsWithin(kernels_, squared, product_limit_, row, column);
}

std::vector<TilePairs::Placed> TilePairs::TilesAt(double cutoff) const {
  const double farthest = -2.0 * std::log(cutoff);
  std::vector<std::vector<Placed>> found(blocks_);
  ParallelFor(blocks_, 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      for (std::size_t column = row; column < blocks_; ++column) {
        const std::uint32_t mask = KernelsWithin(farthest, row, column);
        if (mask != 0) {
          found[row].push_back(
              {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(column), mask});
        }
      }
    }
  });
  std::vector<Placed> tiles;
  for (const std::vector<Placed>& of_row : found)
    tiles.insert(tiles.end(), of_row.begin(), of_row.end());
  return tiles;
}

double TilePairs::EstimateTiles() const {
  return EstimateSquares(kernels_, blocks_, {.cutoff = cutoff_, .product_limit = product_limit_})
      .tiles;
}

void TilePairs::RaiseCutoff(double most_tiles, double largest_cutoff) {
  while (cutoff_ < largest_cutoff && EstimateTiles() > most_tiles)
    cutoff_ = Raised(cutoff_, largest_cutoff);
}

void TilePairs::FindTiles(const TilePairsOptions& options) {
  RaiseCutoff(options.enough_tiles, kCutoffForRounds);
  RaiseCutoff(options.most_tiles, kCutoffForTime);
  const double limit =
      static_cast<double>(options.max_bytes) / SquareBytes({.tiles = 1.0}, by_square_);
  constexpr double kCutoffForMemory = 0.5;
  RaiseCutoff(limit, kCutoffForMemory);
  tiles_ = TilesAt(cutoff_);
  while (static_cast<double>(tiles_.size()) > limit && cutoff_ < kCutoffForMemory) {
    cutoff_ = Raised(cutoff_, kCutoffForMemory);
    tiles_ = TilesAt(cutoff_);
  }
  if (static_cast<double>(tiles_.size()) > limit) {
    throw TooLarge(fmt::format(
        "routing would hold {:.2g} GB of pairs, more than the {:.2g} GB that it may have; a "
        "smaller picture, or "
        "more memory, would do",
        SquareBytes({.tiles = static_cast<double>(tiles_.size())}, by_square_) / 1e9,
        static_cast<double>(options.max_bytes) / 1e9));
  }
  chunk_.push_back(0);
  for (std::size_t k = 1; k <= kChunks; ++k) {
    const std::size_t end = k == kChunks ? tiles_.size() : tiles_.size() * k / kChunks;
    if (end > chunk_.back()) chunk_.push_back(end);
  }
}

std::size_t TilePairs::num_kept() const {
  std::size_t count = 0;
  for (const Chunk& chunk : kept_) count += chunk.tiles.size() + chunk.squares.size();
  return count;
}

struct TileScratch {
  Tile weights;
  Tile distance;
  TileRoutes routes;
};

// The sums of all kernels; what is left of pairs below the diagonal and of direct ones is still in it.
void TilePairs::RouteOne(const RoutingLayout& layout, const Placed& tile,
                         TileScratch* scratch) const {
  TileRoutes& routes = scratch->routes;
  std::fill(std::begin(routes.residual), std::end(routes.residual), 0.0F);
  std::fill(std::begin(routes.row_gain), std::end(routes.row_gain), 0.0F);
  std::fill(std::begin(routes.column_gain), std::end(routes.column_gain), 0.0F);
  const auto row = static_cast<std::ptrdiff_t>(tile.row * kTile);
  const auto column = static_cast<std::ptrdiff_t>(tile.column * kTile);
  TileRule rule;
  layout.LimitsOver(tile.row, tile.column, rule.row_limit);
  layout.LimitsOver(tile.column, tile.row, rule.column_limit);
  if (!layout.z.empty() && !layout.Whole(tile.row, tile.column)) {
    DistanceTile(layout.z.data() + kRoom, layout.stride, cuts_.size(), layout.length.data(), row,
                 column, paths_.bandwidth, &scratch->distance);
    rule.distance = &scratch->distance;
  }
  for (std::size_t m = 0; m < kernels_.size(); ++m) {
    if ((tile.kernels >> m & 1U) == 0) continue;
    const ReorderedKernel& kernel = kernels_[m];
    GaussianTile(kernel.coordinates.data() + kRoom, kernel.stride, kernel.dimension,
                 kernel.scale.data() + kRoom, row, column, paths_.bandwidth, &scratch->weights);
    RouteTile(scratch->weights, rule, layout.part, paths_.bandwidth, &routes);
  }
}

struct TilePairs::Gains {
  Matrix<double> of_edges;
  double left = 0.0;
};

void TilePairs::RouteChunk(const RoutingLayout& layout, std::optional<float> level,
                           std::size_t chunk, Gains* gains) {
  const std::size_t k = layout.bandwidth;
  gains->of_edges = Matrix<double>(blocks_ * kTile, k);
  Matrix<double>& gain = gains->of_edges;
  TileScratch scratch;
  TileRoutes& routes = scratch.routes;
  Draw draw(level.value_or(0.0F));
  Chunk& kept = kept_[chunk];
  kept.Clear();
  for (std::size_t t = chunk_[chunk]; t < chunk_[chunk + 1]; ++t) {
    const std::size_t first = tiles_[t].row * kTile;
    const std::size_t second = tiles_[t].column * kTile;
    const bool near = second <= first + kTile;
    const float factor = level && !near ? draw.Factor(mass_[t]) : 1.0F;
    if (factor == 0.0F) continue;
    RouteOne(layout, tiles_[t], &scratch);
    for (std::size_t i = 0; i < kTile; ++i) {
      for (std::size_t m = 0; m < k; ++m) {
        gain(first + i, m) += factor * routes.row_gain[m * kTile + i];
        if (first != second) gain(second + i, m) += factor * routes.column_gain[m * kTile + i];
      }
    }
    if (near) TakeDirectPairs(first, second, &routes, &gain);
    const float of_tile = Sum(routes.residual);
    gains->left += factor * of_tile;
    if (layout.Whole(tiles_[t].row, tiles_[t].column)) {
      KeepWhole(tiles_[t], routes.residual, factor, &kept);
    } else if (of_tile > 0.0F) {
      Keep(t, routes.residual, of_tile, factor, &kept);
    }
  }
}

void TilePairs::Chunk::Clear() {
  tiles.clear();
  squares.clear();
  by_pair.left.clear();
  by_square.left.clear();
}

void TilePairs::Route(const RoutingLayout& layout, const std::function<bool(double)>& on_progress,
                      const std::function<bool()>& is_late) {
  RouteSquares(layout, std::nullopt, on_progress, is_late);
}

void TilePairs::RouteSample(const RoutingLayout& layout, double squares_per_block) {
  if (mass_.empty()) FindMasses();
  std::vector<float> masses = mass_;
  const float level = LevelFor(0.5 * squares_per_block * static_cast<double>(blocks_), &masses);
  RouteSquares(layout, level, {}, {});
}

void TilePairs::RouteSquares(const RoutingLayout& layout, std::optional<float> level,
                             const std::function<bool(double)>& on_progress,
                             const std::function<bool()>& is_late) {
  const std::size_t k = layout.bandwidth;
  // Sums are kept apart by chunk and added in order: the same for any number of threads.
  const std::size_t chunks = chunk_.size() - 1;
  std::vector<Gains> gains(chunks);
  kept_.resize(chunks);
  edge_weights_ = Matrix<double>(size_, k);
  constexpr std::size_t kBatch = 4;
  residual_weight_ = 0.0;
  for (std::size_t first = 0; first < chunks; first += kBatch) {
    const std::size_t count = std::min(kBatch, chunks - first);
    ParallelFor(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t n = begin; n < end; ++n)
        RouteChunk(layout, level, first + n, &gains[first + n]);
    });
    for (std::size_t n = first; n < first + count; ++n) {
      for (std::size_t p = 0; p < size_; ++p) {
        for (std::size_t m = 0; m < k; ++m) edge_weights_(p, m) += gains[n].of_edges(p, m);
      }
      residual_weight_ += gains[n].left;
      gains[n] = {};
    }
    if (on_progress &&
        !on_progress(static_cast<double>(first + count) / static_cast<double>(chunks)))
      throw Interrupted("routing was interrupted before it was complete");
    if (is_late && is_late()) {
      for (std::size_t n = first + count; n < chunks; ++n) kept_[n].Clear();
      break;
    }
  }
  LookAtAll();
}

void TilePairs::FindMasses() {
  mass_.resize(tiles_.size());
  ParallelFor(tiles_.size(), 256, [&](std::size_t begin, std::size_t end) {
    Tile weights;
    for (std::size_t t = begin; t < end; ++t) {
      const Placed& tile = tiles_[t];
      for (std::size_t m = 0; m < kernels_.size(); ++m) {
        if ((tile.kernels >> m & 1U) == 0) continue;
        const ReorderedKernel& kernel = kernels_[m];
        GaussianTile(kernel.coordinates.data() + kRoom, kernel.stride, kernel.dimension,
                     kernel.scale.data() + kRoom, static_cast<std::ptrdiff_t>(tile.row * kTile),
                     static_cast<std::ptrdiff_t>(tile.column * kTile), 0, &weights);
        for (std::size_t i = 0; i < kTile; ++i)
          mass_[t] += SumOfRow(weights.value + i * kTileStride);
      }
    }
  });
}

// Pairs below the diagonal are those above it; what is left of pairs that are edges belongs to these.
void TilePairs::TakeDirectPairs(std::size_t first, std::size_t second, TileRoutes* routes,
                                Matrix<double>* gain) const {
  const auto k = static_cast<std::size_t>(paths_.bandwidth);
  for (std::size_t i = 0; i < kTile; ++i) {
    for (std::size_t j = 0; j < kTile; ++j) {
      const std::size_t p = first + i;
      const std::size_t q = second + j;
      float& left = routes->residual[i * kTile + j];
      if (p >= q) {
        left = 0.0F;
      } else if (p < size_ && q - p <= k && q - p <= followers_[p]) {
        (*gain)(p, q - p - 1) += std::max(0.0F, left);
        left = 0.0F;
      }
    }
  }
}

void TilePairs::Keep(std::size_t tile, const float* weights, float left, float factor,
                     Chunk* chunk) {
  const std::size_t at = chunk->tiles.size();
  // Room that an earlier routing has needed is still there.
  if (at / kSlab >= chunk->slabs.size())
    chunk->slabs.emplace_back(
        new std::uint16_t[kSlab * kTile * kTile]);  // left unset: it is filled at once
  Pack(weights, factor, chunk->slabs[at / kSlab].get() + at % kSlab * kTile * kTile);
  chunk->tiles.push_back(static_cast<std::uint32_t>(tile));
  chunk->by_pair.left.push_back(factor * left);
}

void TilePairs::KeepWhole(const Placed& tile, const float* weights, float factor, Chunk* chunk) {
  float of_row[kTile];
  float of_column[kTile];
  SumRowsAndColumns(weights, factor, of_row, of_column);
  const auto square = MakeResidualBlock(tile.row, tile.column, of_row, of_column);
  if (!square) return;
  chunk->squares.push_back(*square);
  chunk->by_square.left.push_back(1.0F / square->over_rows);
}

void TilePairs::Kept::DrawAll() {
  drawn.resize(left.size());
  for (std::size_t n = 0; n < drawn.size(); ++n) drawn[n] = {static_cast<std::uint32_t>(n), 1.0F};
}

void TilePairs::Kept::DrawSample(float level) {
  drawn.clear();
  Draw draw(level);
  for (std::size_t n = 0; n < left.size(); ++n) {
    const float factor = draw.Factor(left[n]);
    if (factor > 0.0F) drawn.push_back({static_cast<std::uint32_t>(n), factor});
  }
}

void TilePairs::LookAtAll() {
  for (Chunk& chunk : kept_) {
    chunk.by_pair.DrawAll();
    chunk.by_square.DrawAll();
  }
}

bool TilePairs::UseSample(double squares_per_block) {
  std::vector<float> left;
  for (const Chunk& chunk : kept_) {
    for (const Kept* kept : {&chunk.by_pair, &chunk.by_square})
      left.insert(left.end(), kept->left.begin(), kept->left.end());
  }
  const float level = LevelFor(0.5 * squares_per_block * static_cast<double>(blocks_), &left);
  if (level == 0.0F) {
    LookAtAll();
    return false;
  }
  for (Chunk& chunk : kept_) {
    chunk.by_pair.DrawSample(level);
    chunk.by_square.DrawSample(level);
  }
  return true;
}

void TilePairs::Flow(const Matrix<float>& v, Matrix<float>* flow) const {
  const std::size_t padded = blocks_ * kTile;
  const std::size_t cuts = cuts_.size();
  std::vector<float> potential(cuts * padded, 0.0F);
  for (std::size_t c = 0; c < cuts; ++c)
    std::copy(v.row(c).begin(), v.row(c).end(),
              potential.begin() + static_cast<std::ptrdiff_t>(c * padded));
  sums_.resize(kept_.size());
  ParallelFor(kept_.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t n = begin; n < end; ++n) {
      std::vector<float>& sum = sums_[n];
      sum.assign(cuts * padded, 0.0F);
      for (const auto& [k, factor] : kept_[n].by_pair.drawn) {
        const Placed& tile = tiles_[kept_[n].tiles[k]];
        const std::size_t row = tile.row * kTile;
        const std::size_t column = tile.column * kTile;
        const std::uint16_t* weights = kept_[n].slabs[k / kSlab].get() + k % kSlab * kTile * kTile;
        for (std::size_t c = 0; c < cuts; ++c) {
          FlowTile(weights, factor, potential.data() + c * padded + row,
                   potential.data() + c * padded + column, sum.data() + c * padded + row,
                   sum.data() + c * padded + column);
        }
      }
      for (const auto& [k, factor] : kept_[n].by_square.drawn)
        FlowSquare(kept_[n].squares[k], factor, cuts, padded, potential.data(), sum.data());
    }
  });
  if (flow->rows() != cuts || flow->cols() != size_) *flow = Matrix<float>(cuts, size_);
  ParallelFor(size_, 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = 0; c < cuts; ++c) {
      for (std::size_t p = begin; p < end; ++p) {
        double sum = 0.0;
        for (const std::vector<float>& part : sums_) sum += part[c * padded + p];
        (*flow)(c, p) = static_cast<float>(sum);
      }
    }
  });
}

}  // namespace submarine::internal
