#include "submarine/routed/tile_pairs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/routed/tile_kernels.h"

namespace submarine {
namespace {

constexpr std::size_t kRoom = kTileStride;  // at either side of arrays over positions
constexpr std::size_t kChunks = 16;
constexpr double kCutoffStep = 1.5;

std::uint16_t UpperHalf(float w) {
  // Rounded to the nearest; weights are neither negative nor near the largest number.
  return static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(w) + 0x8000U) >> 16);
}

}  // namespace

std::vector<RoutedCut> DistinctCuts(const LabelSpace& labels) {
  const LabelCuts& cuts = *labels.cuts;
  const std::vector<double>& length = labels.metrics.front().length;
  std::vector<RoutedCut> distinct;
  for (int c = 0; c < cuts.num_cuts(); ++c) {
    const double l = length[static_cast<std::size_t>(c)];
    if (l == 0.0) continue;
    bool merged = false;
    for (RoutedCut& kept : distinct) {
      bool complement = true;
      for (int i = 0; i < cuts.num_labels() && complement; ++i)
        complement = cuts.contains(c, i) != cuts.contains(static_cast<int>(kept.cut), i);
      if (!complement || kept.complement != kept.cut) continue;
      kept.complement = static_cast<std::size_t>(c);
      kept.length += static_cast<float>(l);
      merged = true;
      break;
    }
    const auto cut = static_cast<std::size_t>(c);
    if (!merged) distinct.push_back({cut, cut, static_cast<float>(l)});
  }
  return distinct;
}

TilePairs::TilePairs(const DenseCrf& model, const RoutedPaths& paths,
                     const TilePairsOptions& options)
    : model_(model),
      size_(model.num_variables()),
      blocks_((size_ + kTile - 1) / kTile),
      paths_(paths),
      cuts_(DistinctCuts(model.labels())),
      cutoff_(options.cutoff) {
  CheckPaths(paths, size_);
  followers_ = paths.Followers();
  for (const WeightedKernel& weighted : PairWeights(model)) {
    const GaussianKernel& source = *weighted.kernel;
    if (!(weighted.factor > 0.0)) continue;
    Kernel kernel;
    kernel.dimension = source.dimension();
    kernel.stride = blocks_ * kTile + 2 * kRoom;
    kernel.coordinates.assign(kernel.dimension * kernel.stride, 0.0F);
    kernel.scale.assign(kernel.stride, 0.0F);
    kernel.low.assign(blocks_ * kernel.dimension, std::numeric_limits<float>::infinity());
    kernel.high.assign(blocks_ * kernel.dimension, -std::numeric_limits<float>::infinity());
    const double factor = std::sqrt(weighted.factor);
    for (std::size_t p = 0; p < size_; ++p) {
      const std::size_t a = paths.order[p];
      kernel.scale[kRoom + p] =
          static_cast<float>(factor * (source.scale.empty() ? 1.0 : source.scale[a]));
      for (std::size_t d = 0; d < kernel.dimension; ++d) {
        const auto f = static_cast<float>(source.features(a, d));
        kernel.coordinates[d * kernel.stride + kRoom + p] = f;
        const std::size_t at = p / kTile * kernel.dimension + d;
        kernel.low[at] = std::min(kernel.low[at], f);
        kernel.high[at] = std::max(kernel.high[at], f);
      }
    }
    kernels_.push_back(std::move(kernel));
  }
  FindTiles(options);
}

std::vector<TilePairs::Placed> TilePairs::TilesAt(double cutoff) const {
  const auto farthest = static_cast<float>(-2.0 * std::log(cutoff));
  std::vector<std::vector<Placed>> found(blocks_);
  ParallelFor(blocks_, 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      for (std::size_t column = row; column < blocks_; ++column) {
        std::uint32_t mask = 0;
        for (std::size_t m = 0; m < kernels_.size(); ++m) {
          const Kernel& kernel = kernels_[m];
          const std::size_t dim = kernel.dimension;
          float squared = 0.0F;
          for (std::size_t d = 0; d < dim; ++d) {
            const float apart =
                std::max({0.0F, kernel.low[row * dim + d] - kernel.high[column * dim + d],
                          kernel.low[column * dim + d] - kernel.high[row * dim + d]});
            squared += apart * apart;
          }
          if (squared <= farthest) mask |= 1U << m;
        }
        // Direct pairs of edges are always looked at.
        if (column <= row + 1) mask = (1U << kernels_.size()) - 1U;
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

void TilePairs::FindTiles(const TilePairsOptions& options) {
  const double limit =
      static_cast<double>(options.max_bytes) / (kTile * kTile * sizeof(std::uint16_t));
  tiles_ = TilesAt(cutoff_);
  while (static_cast<double>(tiles_.size()) > limit && cutoff_ < 0.5) {
    cutoff_ = std::min(0.5, kCutoffStep * cutoff_);
    tiles_ = TilesAt(cutoff_);
  }
  chunk_.push_back(0);
  for (std::size_t k = 1; k <= kChunks; ++k) {
    const std::size_t end = k == kChunks ? tiles_.size() : tiles_.size() * k / kChunks;
    if (end > chunk_.back()) chunk_.push_back(end);
  }
  weight_.resize(tiles_.size() * kTile * kTile);
  empty_.resize(tiles_.size());
}

void TilePairs::Route(const Routing& routing, const std::function<bool(double)>& on_progress) {
  CheckRouting(routing, size_, static_cast<std::size_t>(model_.num_cuts()));
  const int thickness = paths_.thickness;
  const auto k = static_cast<std::size_t>(thickness);
  const std::size_t stride = blocks_ * kTile + 2 * kRoom;
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  std::vector<float> threshold(k * stride, kNever);
  for (std::size_t p = 0; p < size_; ++p) {
    for (std::size_t m = 1; m <= k && m <= followers_[p]; ++m) {
      threshold[(m - 1) * stride + kRoom + p] =
          routing.everywhere() ? std::numeric_limits<float>::infinity() : routing.threshold(p, m - 1);
    }
  }
  std::vector<float> z;
  std::vector<float> length;
  for (const RoutedCut& cut : cuts_) length.push_back(cut.length);
  if (!routing.everywhere()) {
    z.assign(cuts_.size() * stride, 0.0F);
    for (std::size_t c = 0; c < cuts_.size(); ++c) {
      for (std::size_t p = 0; p < size_; ++p)
        z[c * stride + kRoom + p] = routing.z(paths_.order[p], cuts_[c].cut);
    }
  }
  TileRule shared;
  for (std::size_t m = 0; m < k; ++m) shared.threshold[m] = threshold.data() + m * stride + kRoom;
  const auto part = static_cast<float>(routing.share / (4.0 * thickness));

  edge_weights_ = Matrix<double>(size_, k);
  residual_degrees_.assign(size_, 0.0F);
  std::vector<Matrix<double>> gains(chunk_.size() - 1);
  std::vector<std::vector<float>> degrees(chunk_.size() - 1);
  // Sums are kept apart by chunk and added in order: the same for any number of threads.
  const auto do_chunk = [&](std::size_t n) {
    Matrix<double> gain(size_ + kTile, k);
    std::vector<float> degree(blocks_ * kTile, 0.0F);
    Tile weights;
    Tile distance;
    TileRoutes routes;
    TileRule rule = shared;
    if (!routing.everywhere()) rule.distance = &distance;
    for (std::size_t t = chunk_[n]; t < chunk_[n + 1]; ++t) {
      const Placed& tile = tiles_[t];
      const auto row = static_cast<std::ptrdiff_t>(tile.row * kTile);
      const auto column = static_cast<std::ptrdiff_t>(tile.column * kTile);
      const bool diagonal = tile.row == tile.column;
      std::fill(std::begin(routes.residual), std::end(routes.residual), 0.0F);
      std::fill(std::begin(routes.row_gain), std::end(routes.row_gain), 0.0F);
      std::fill(std::begin(routes.column_gain), std::end(routes.column_gain), 0.0F);
      if (!routing.everywhere()) {
        DistanceTile(z.data() + kRoom, stride, cuts_.size(), length.data(), row, column, thickness,
                     &distance);
      }
      for (std::size_t m = 0; m < kernels_.size(); ++m) {
        if ((tile.kernels >> m & 1U) == 0) continue;
        const Kernel& kernel = kernels_[m];
        GaussianTile(kernel.coordinates.data() + kRoom, kernel.stride, kernel.dimension,
                     kernel.scale.data() + kRoom, row, column, thickness, &weights);
        RouteTile(weights, rule, part, row, column, thickness, &routes);
      }
      const auto first = static_cast<std::size_t>(row);
      const auto second = static_cast<std::size_t>(column);
      for (std::size_t m = 0; m < k; ++m) {
        for (std::size_t i = 0; i < kTile; ++i) {
          if (first + i < size_) gain(first + i, m) += routes.row_gain[m * kTile + i];
          if (!diagonal && second + i < size_)
            gain(second + i, m) += routes.column_gain[m * kTile + i];
        }
      }
      float largest = 0.0F;
      std::uint16_t* stored = weight_.data() + t * kTile * kTile;
      const bool near = second <= first + kTile;
      for (std::size_t i = 0; i < kTile; ++i) {
        float sum = 0.0F;
        for (std::size_t j = 0; j < kTile; ++j) {
          // Rounding may leave a hair less than nothing.
          float left = std::max(0.0F, routes.residual[i * kTile + j]);
          if (near) {
            const std::size_t p = first + i;
            const std::size_t q = second + j;
            if (p >= q) {
              left = 0.0F;
            } else if (p < size_ && q - p <= k && q - p <= followers_[p]) {
              gain(p, q - p - 1) += left;
              left = 0.0F;
            }
          }
          stored[i * kTile + j] = UpperHalf(left);
          largest = std::max(largest, left);
          sum += left;
          degree[second + j] += left;
        }
        degree[first + i] += sum;
      }
      empty_[t] = largest == 0.0F;
    }
    gains[n] = std::move(gain);
    degrees[n] = std::move(degree);
  };
  const std::size_t chunks = chunk_.size() - 1;
  constexpr std::size_t kBatch = 4;
  for (std::size_t first = 0; first < chunks; first += kBatch) {
    const std::size_t count = std::min(kBatch, chunks - first);
    ParallelFor(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t n = begin; n < end; ++n) do_chunk(first + n);
    });
    for (std::size_t n = first; n < first + count; ++n) {
      for (std::size_t p = 0; p < size_; ++p) {
        for (std::size_t m = 0; m < k; ++m) edge_weights_(p, m) += gains[n](p, m);
        residual_degrees_[p] += degrees[n][p];
      }
      gains[n] = {};
      degrees[n] = {};
    }
    if (on_progress && !on_progress(static_cast<double>(first + count) / static_cast<double>(chunks)))
      throw Interrupted("routing was interrupted before it was complete");
  }
}

void TilePairs::Flow(const Matrix<float>& v, Matrix<float>* flow) const {
  const std::size_t padded = blocks_ * kTile;
  const std::size_t cuts = cuts_.size();
  std::vector<float> potential(cuts * padded, 0.0F);
  for (std::size_t c = 0; c < cuts; ++c)
    std::copy(v.row(c).begin(), v.row(c).end(), potential.begin() + static_cast<std::ptrdiff_t>(c * padded));
  const std::size_t chunks = chunk_.size() - 1;
  std::vector<std::vector<float>> sums(chunks);
  ParallelFor(chunks, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t n = begin; n < end; ++n) {
      std::vector<float>& sum = sums[n];
      sum.assign(cuts * padded, 0.0F);
      for (std::size_t t = chunk_[n]; t < chunk_[n + 1]; ++t) {
        if (empty_[t]) continue;
        const std::size_t row = tiles_[t].row * kTile;
        const std::size_t column = tiles_[t].column * kTile;
        const std::uint16_t* weights = weight_.data() + t * kTile * kTile;
        for (std::size_t c = 0; c < cuts; ++c) {
          FlowTile(weights, potential.data() + c * padded + row,
                   potential.data() + c * padded + column, sum.data() + c * padded + row,
                   sum.data() + c * padded + column);
        }
      }
    }
  });
  if (flow->rows() != cuts || flow->cols() != size_) *flow = Matrix<float>(cuts, size_);
  ParallelFor(size_, 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = 0; c < cuts; ++c) {
      for (std::size_t p = begin; p < end; ++p) {
        double sum = 0.0;
        for (std::size_t n = 0; n < chunks; ++n) sum += sums[n][c * padded + p];
        (*flow)(c, p) = static_cast<float>(sum);
      }
    }
  });
}

}  // namespace submarine
