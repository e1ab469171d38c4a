// The pairs of a dense model in squares of kTile x kTile positions on paths. Near variables follow each other
// there, so that most squares are either full of pairs or empty, and what a pair's neighbours on the path
// have in common with it stands beside it: routing costs a few minima per pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "submarine/base/aligned_memory.h"
#include "submarine/base/matrix.h"
#include "submarine/extension/routing.h"
#include "submarine/solver/routed/squares/product_kernels.h"
#include "submarine/solver/routed/squares/reordered_kernels.h"
#include "submarine/solver/routed/squares/routing_layout.h"

namespace submarine::internal {

inline constexpr double kCutoffForRounds = 0.2;
inline constexpr double kCutoffForTime = 0.9;

struct TilePairsOptions {
  double cutoff = 1e-3;  // squares of which all kernel values are below this are left out
  std::size_t max_bytes = std::size_t{4} << 30;
  // The cutoff is raised towards kCutoffForRounds while there are more squares than are enough, and towards
  // kCutoffForTime while there are more than there may be.
  double enough_tiles = std::numeric_limits<double>::infinity();
  double most_tiles = std::numeric_limits<double>::infinity();
  // Of Routing: kernels that are products in a square are not looked at here.
  double product_limit = 0.0;
  double product_cutoff = 0.05;
  bool by_square = false;
};

// How many squares there are to look at, and how many are products, by these options without any limits; estimated from a
// sample of their rows.
struct SquareCounts {
  double tiles = 0.0;
  double products = 0.0;
};
double SquareBytes(const SquareCounts& counts, bool by_square);
SquareCounts EstimateSquares(const std::vector<ReorderedKernel>& kernels, std::size_t blocks,
                             const TilePairsOptions& options);

struct TileRoutes;
struct TileScratch;

class TilePairs {
 public:
  // Raises the cutoff until the squares fit the memory, if possible. The kernels, placed on these paths, must outlive
  // this.
  TilePairs(const std::vector<ReorderedKernel>& kernels, const RoutedPaths& paths,
            const std::vector<RoutedCut>& cuts, const TilePairsOptions& options);

  std::size_t size() const { return size_; }
  double cutoff() const { return cutoff_; }
  std::size_t num_tiles() const { return tiles_.size(); }
  std::size_t num_kept() const;  // squares kept for flows since the last Route

  // Routes as planned for the paths given; from then on flows are on what is left. Throws Interrupted once `on_progress` is
  // false. Squares that it has not come to once `is_late` are left out.
  void Route(const RoutingLayout& layout, const std::function<bool(double done)>& on_progress = {},
             const std::function<bool()>& is_late = {});
  // The same with a sample of the squares, about `squares_per_block` for every block: drawn by their weights and scaled, so that every
  // sum over pairs has the right expectation. Edge weights and flows are estimates then.
  void RouteSample(const RoutingLayout& layout, double squares_per_block);
  // W of the edge from position p to p + m at (p, m - 1), direct pairs included.
  const Matrix<double>& edge_weights() const { return edge_weights_; }
  // What routing leaves of all pairs together.
  double residual_weight() const { return residual_weight_; }

  // Flows look at a sample of what is left, drawn by that, until LookAtAll or the next Route. False where there are no more
  // squares than `squares_per_block`.
  bool UseSample(double squares_per_block);
  void LookAtAll();

  // flow(c, p) = sum_q (w - u)_pq clip(v_cp - v_cq, -1, 1); one row per distinct cut, columns are positions.
  void Flow(const Matrix<float>& v, Matrix<float>* flow) const;

 private:
  struct Placed {
    std::uint32_t row;  // blocks, row <= column
    std::uint32_t column;
    std::uint32_t kernels;  // bit m: kernel m takes part
  };
  struct Drawn {
    std::uint32_t kept;  // index into Kept::left
    float factor;
  };
  struct Kept {
    std::vector<float> left;   // in each square
    std::vector<Drawn> drawn;  // those that flows look at

    void DrawAll();
    void DrawSample(float level);
  };
  // Squares of which all pairs are kept, and those that flows take as a whole.
  struct Chunk {
    Kept by_pair;
    std::vector<std::uint32_t> tiles;
    std::vector<std::unique_ptr<std::uint16_t[]>> slabs;  // kSlab tiles each
    Kept by_square;
    std::vector<ResidualBlock> squares;

    void Clear();
  };
  void RouteOne(const RoutingLayout& layout, const Placed& tile, TileScratch* scratch) const;
  struct Gains;
  // Squares drawn by this level of their weights, or all of them.
  void RouteSquares(const RoutingLayout& layout, std::optional<float> level,
                    const std::function<bool(double)>& on_progress,
                    const std::function<bool()>& is_late);
  void RouteChunk(const RoutingLayout& layout, std::optional<float> level, std::size_t chunk,
                  Gains* gains);
  void FindMasses();
  void TakeDirectPairs(std::size_t first, std::size_t second, TileRoutes* routes,
                       Matrix<double>* gain) const;
  static void Keep(std::size_t tile, const float* weights, float left, float factor, Chunk* chunk);
  static void KeepWhole(const Placed& tile, const float* weights, float factor, Chunk* chunk);
  void FindTiles(const TilePairsOptions& options);
  void RaiseCutoff(double most_tiles, double largest_cutoff);
  std::vector<Placed> TilesAt(double cutoff) const;
  double EstimateTiles() const;
  std::uint32_t KernelsWithin(double squared, std::size_t row, std::size_t column) const;

  std::size_t size_;
  std::size_t blocks_;
  RoutedPaths paths_;
  std::vector<std::uint32_t> followers_;
  std::vector<RoutedCut> cuts_;
  const std::vector<ReorderedKernel>& kernels_;
  double product_limit_;
  bool by_square_;
  double cutoff_;
  std::vector<Placed> tiles_;
  std::vector<float> mass_;         // of each, all its pairs; empty until a sample is asked for
  std::vector<std::size_t> chunk_;  // tiles of one task, by their row
  std::vector<Chunk> kept_;         // what flows look at
  Matrix<double> edge_weights_;
  double residual_weight_ = 0.0;
  mutable std::vector<std::vector<float>> sums_;  // of flows, one for each task
};

}  // namespace submarine::internal
