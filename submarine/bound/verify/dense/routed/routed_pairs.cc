#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "submarine/base/parallel.h"
#include "submarine/bound/verify/dense/routed/kernel_on_paths_internal.h"
#include "submarine/bound/verify/dense/routed/routed_pairs_internal.h"
#include "submarine/bound/verify/dense/routed/routed_products_internal.h"
#include "submarine/bound/verify/dense/routed/routed_rows_internal.h"

namespace submarine::internal {
namespace {

using dense_verifier::ActiveCuts;
using dense_verifier::kUlp;
using dense_verifier::kUnderflow;
using dense_verifier::Progress;
using routed_rows::AddRow;
using routed_rows::AddScaled;
using routed_rows::AddWeights;
using routed_rows::DistanceRow;
using routed_rows::DropFar;
using routed_rows::FlowPair;
using routed_rows::FlowRow;
using routed_rows::KeepPositive;
using routed_rows::kHalo;
using routed_rows::kSide;
using routed_rows::kStride;
using routed_rows::PairDistance;
using routed_rows::RouteColumns;
using routed_rows::RouteRow;
using routed_rows::SquaredRow;
using routed_rows::SumRowsAndColumns;
using routed_rows::WeightedSum;
using routed_rows::WeightRow;

constexpr std::size_t kTasks = 64;
constexpr double kNever = -1.0;  // a threshold that no distance is below
// From this many cuts on, sums over the pairs of a square go pair by pair, all cuts at once, and
// negligible pairs are skipped: those whose kernel is below both kNegligible and the cutoff.
constexpr std::size_t kManyCuts = 8;
constexpr double kNegligible = 1e-3;

// Values at pairs of positions: (first row - bandwidth + r, first column - bandwidth + c).
struct Square {
  alignas(64) double value[kStride * kStride];
};

// Adds *from to the whole, and clears it.
void MoveTo(RoutedSums* whole, RoutedSums* from) {
  constexpr std::size_t kGrain = 1 << 16;
  const auto transfer = [](Matrix<double>* source, Matrix<double>* target) {
    ParallelFor(target->size(), kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t n = begin; n < end; ++n)
        target->data()[n] += std::exchange(source->data()[n], 0.0);
    });
  };
  transfer(&from->flow, &whole->flow);
  transfer(&from->edge, &whole->edge);
  whole->weight += std::exchange(from->weight, 0.0);
  whole->error += std::exchange(from->error, 0.0);
  whole->excess += std::exchange(from->excess, 0.0);
  whole->variation += std::exchange(from->variation, 0.0);
}

class PairSums {
 public:
  PairSums(const DenseCrf& model, const RoutedProof& proof, const Matrix<float>& dual_z,
           const PairOptions& options)
      : model_(model),
        proof_(proof),
        size_(model.num_variables()),
        blocks_((size_ + kSide - 1) / kSide),
        padded_(blocks_ * kSide + 2 * kHalo),
        bandwidth_(static_cast<std::size_t>(proof.routing.paths.bandwidth)),
        followers_(proof.routing.paths.Followers()),
        active_(ActiveCuts(model)),
        limit_(options.cutoff > 0.0 ? -2.0 * std::log(options.cutoff)
                                    : std::numeric_limits<double>::infinity()),
        product_limit_(-2.0 * std::log(proof.routing.product_cutoff)),
        many_cuts_(active_.size() >= kManyCuts),
        negligible_(std::max(limit_, -2.0 * std::log(kNegligible))) {
    for (const std::size_t c : active_) {
      length_.push_back(model.metric().length[c]);
      constexpr double kMost = 1e100;
      lengths_are_moderate_ = lengths_are_moderate_ && length_.back() <= kMost;
    }
    for (const GaussianKernel& kernel : model.kernels()) {
      if (kernel.weight > 0.0)
        kernels_.push_back(PlaceKernel(model, kernel, proof.routing.paths.order));
    }
    PlaceEvidence();
    if (dual_z.size() > 0) dual_z_ = Placed(dual_z);
  }

  RoutedSums Sum(const Progress& progress) const {
    // Every task has one of kTasks rows, so that all variables have their share of what is left out where progress
    // ends early, and sums of its own, which are added in a fixed order.
    const std::size_t tasks = std::min(kTasks, blocks_);
    // The sums of running tasks take memory; their number does not change the result.
    const std::size_t at_once =
        std::clamp<std::size_t>(2 * std::thread::hardware_concurrency(), 4, 8);
    RoutedSums total(blocks_ * kSide, active_.size(), bandwidth_);
    std::vector<RoutedSums> sums(std::min(at_once, tasks),
                                 RoutedSums(blocks_ * kSide, active_.size(), bandwidth_));
    for (std::size_t first = 0; first < tasks; first += at_once) {
      const std::size_t batch = std::min(at_once, tasks - first);
      ParallelFor(batch, 1, [&](std::size_t from, std::size_t to) {
        for (std::size_t n = from; n < to; ++n) AddRows(first + n, tasks, blocks_, &sums[n]);
      });
      for (std::size_t n = 0; n < batch; ++n) MoveTo(&total, &sums[n]);
      const std::size_t done = first + batch;
      if (progress.Continues(static_cast<double>(done) / static_cast<double>(tasks))) continue;
      // Those of the edges are looked at in any case.
      total.complete = done == tasks;
      ParallelFor(sums.size(), 1, [&](std::size_t n, std::size_t) {
        for (std::size_t task = done + n; task < tasks; task += sums.size())
          AddRows(task, tasks, 2, &sums[n]);
      });
      for (RoutedSums& part : sums) MoveTo(&total, &part);
      break;
    }
    const double squares = 0.5 * static_cast<double>(blocks_) * static_cast<double>(blocks_ + 1);
    // At a variable; and over all pairs: square by square, task by task.
    const auto at_variable =
        static_cast<double>(kernels_.size() * (size_ + kTasks) * (2 + proof_.flows.size()));
    const double over_pairs = static_cast<double>(kSide * kSide + 2 * kTasks) + squares / kTasks +
                              static_cast<double>(blocks_);
    total.roundings = 16.0 + std::max(at_variable, over_pairs);
    return total;
  }

 private:
  struct Scratch {
    std::vector<Square> weights;  // of each kernel
    // By active cut: sums over the rows and the columns of a square, flows between them.
    std::vector<double> in_row;
    std::vector<double> in_column;
    std::vector<double> q;
  };

  void PlaceEvidence() {
    const Routing& routing = proof_.routing;
    threshold_.assign(bandwidth_ * padded_, kNever);
    for (std::size_t p = 0; p < size_; ++p) {
      for (std::size_t m = 1; m <= bandwidth_ && m <= followers_[p]; ++m) {
        // A threshold of NaN routes nothing.
        threshold_[(m - 1) * padded_ + kHalo + p] = routing.everywhere()
                                                        ? std::numeric_limits<double>::infinity()
                                                        : routing.threshold(p, m - 1);
      }
    }
    if (!routing.everywhere()) {
      z_ = Placed(routing.z);
      PlaceMeans();
    }
    double shares = 0.0;
    for (const FlowTerm& term : proof_.flows) {
      v_.push_back(Placed(term.v));
      shares += term.share;
    }
    share_scale_ = 1.0 / std::max(1.0, shares);
  }

  void PlaceMeans() {
    mean_z_.assign(blocks_ * active_.size(), 0.0F);
    for (std::size_t b = 0; b < blocks_; ++b) {
      const std::size_t count = std::min(kSide, size_ - b * kSide);
      for (std::size_t c = 0; c < active_.size(); ++c) {
        double sum = 0.0;
        for (std::size_t n = 0; n < count; ++n)
          sum += proof_.routing.z(proof_.routing.paths.order[b * kSide + n], active_[c]);
        mean_z_[b * active_.size() + c] = static_cast<float>(sum / static_cast<double>(count));
      }
    }
  }

  // The active cuts by position: cut by cut or, where there are many, position by position.
  std::vector<float> Placed(const Matrix<float>& by_variable) const {
    std::vector<float> placed(active_.size() * padded_, 0.0F);
    for (std::size_t p = 0; p < size_; ++p) {
      const auto row = by_variable.row(proof_.routing.paths.order[p]);
      for (std::size_t c = 0; c < active_.size(); ++c)
        placed[many_cuts_ ? (kHalo + p) * active_.size() + c : c * padded_ + kHalo + p] =
            row[active_[c]];
    }
    return placed;
  }
  const float* CutsAt(const std::vector<float>& placed, std::size_t padded_position) const {
    return placed.data() + padded_position * active_.size();
  }

  // The weights of a kernel in a square and its margin, 0 for a variable with itself; adds their
  // error.
  void Weights(const KernelOnPaths& kernel, std::size_t row, std::size_t column, Square* square,
               RoutedSums* sums) const {
    const std::size_t side = kSide + 2 * bandwidth_;
    const std::size_t column0 = kHalo + column * kSide - bandwidth_;
    double point[kMaxFeatureDimension];
    alignas(64) double x[kStride];
    alignas(64) double weights[kStride] = {};  // by column
    alignas(64) double far_weights[kStride] = {};
    for (std::size_t r = 0; r < side; ++r) {
      const std::size_t p = kHalo + row * kSide - bandwidth_ + r;
      double* w = square->value + r * kStride;
      if (kernel.scale[p] == 0.0) {
        std::fill(w, w + side, 0.0);
        continue;
      }
      for (std::size_t d = 0; d < kernel.dimension; ++d)
        point[d] = kernel.features[d * kernel.stride + p];
      SquaredRow(kernel.features.data() + column0, kernel.stride, kernel.dimension, point, side, x);
      WeightRow(x, kernel.scale.data() + column0, kernel.scale[p], kernel.factor, side, w);
      if (p >= column0 && p < column0 + side) w[p - column0] = 0.0;
      if (many_cuts_) DropFar(x, negligible_, side, w);
      AddWeights(w, x, side, weights, far_weights);
    }
    double weight = 0.0;
    double far = 0.0;
    for (std::size_t c = 0; c < side; ++c) {
      weight += weights[c];
      far += far_weights[c];
    }
    sums->weight += weight;
    sums->excess += kernel.excess * weight;
    // Distance and exp as in dense_verifier; for routed amounts one rounding per part and a few
    // more.
    const double roundings = 48.0 + 8.0 * static_cast<double>(bandwidth_);
    sums->error +=
        1.01 * (roundings * weight + 0.5 * static_cast<double>(kernel.dimension + 3) * far +
                kernel.feature_error / kUlp * (weight + far)) +
        kUnderflow * static_cast<double>(kStride * kStride);
  }

  // D of the pairs in a square and its margin; with many cuts, only of pairs with nonzero weight.
  void Distances(std::size_t row, std::size_t column, const Square& weights, Square* square) const {
    const std::size_t side = kSide + 2 * bandwidth_;
    const std::size_t row0 = kHalo + row * kSide - bandwidth_;
    const std::size_t column0 = kHalo + column * kSide - bandwidth_;
    for (std::size_t r = 0; r < side; ++r) {
      double* sum = square->value + r * kStride;
      if (!many_cuts_) {
        DistanceRow(z_.data(), padded_, row0 + r, column0, length_.data(), length_.size(), side,
                    sum);
        continue;
      }
      std::fill(sum, sum + side, 0.0);
      for (std::size_t c = 0; c < side; ++c) {
        if (weights.value[r * kStride + c] > 0.0)
          sum[c] = PairDistance(CutsAt(z_, row0 + r), CutsAt(z_, column0 + c), length_.data(),
                                length_.size());
      }
    }
  }

  // Of the edges that begin at positions from kHalo before a block to its end, at (m - 1, position): they are routed over
  // h where D(a,h) + D(b,h) is below.
  struct Limits {
    double of_edge[kMaxBandwidth][kStride];
  };
  // Where squares may be routed as a whole, edges that cross from block to block are routed over all of the other block or
  // none of it, by the mean z of its positions: the same in all squares that they are part of.
  void LimitsOver(std::size_t block, std::size_t over, Limits* limits) const {
    const std::size_t first = block * kSide;
    if (IsWhole(block, over) && !z_.empty()) {
      LimitsOfWhole(block, over, limits);
      return;
    }
    for (std::size_t m = 1; m <= bandwidth_; ++m) {
      const double* source = threshold_.data() + (m - 1) * padded_ + first;
      std::copy_n(source, kHalo + kSide, limits->of_edge[m - 1]);
      if (!proof_.routing.crosses_by_block() || z_.empty()) continue;
      for (const std::size_t border : {kHalo, kHalo + kSide}) {
        for (std::size_t n = border - m; n < border; ++n) {
          double& limit = limits->of_edge[m - 1][n];
          const bool routes =
              DistanceToBlock(first + n, over) + DistanceToBlock(first + n + m, over) < limit;
          limit = routes ? std::numeric_limits<double>::infinity() : kNever;
        }
      }
    }
  }

  // Where D may be infinite, edges that cross would be routed in whole squares, and not in those next to them.
  bool IsWhole(std::size_t block, std::size_t over) const {
    return proof_.routing.by_square && lengths_are_moderate_ &&
           std::max(block, over) > std::min(block, over) + 1;
  }

  // Of a square whose routes are those over all of the other block or none of it: no edge is decided pair by pair.
  void LimitsOfWhole(std::size_t block, std::size_t over, Limits* limits) const {
    const std::size_t first = block * kSide;
    double distance[kStride] = {};
    for (std::size_t n = kHalo - bandwidth_; n < kHalo + kSide + bandwidth_; ++n)
      distance[n] = DistanceToBlock(first + n, over);
    for (std::size_t m = 1; m <= bandwidth_; ++m) {
      const double* source = threshold_.data() + (m - 1) * padded_ + first;
      for (std::size_t n = kHalo - m; n < kHalo + kSide; ++n) {
        const bool routes = distance[n] + distance[n + m] < source[n];
        limits->of_edge[m - 1][n] = routes ? std::numeric_limits<double>::infinity() : kNever;
      }
    }
  }

  // D between a position, counted from kHalo before the first, and the mean of a block.
  double DistanceToBlock(std::size_t padded_position, std::size_t block) const {
    const float* mean = mean_z_.data() + block * active_.size();
    if (many_cuts_)
      return PairDistance(CutsAt(z_, padded_position), mean, length_.data(), length_.size());
    double sum = 0.0;
    for (std::size_t c = 0; c < active_.size(); ++c)
      sum += length_[c] * std::abs(static_cast<double>(z_[c * padded_ + padded_position]) -
                                   static_cast<double>(mean[c]));
    return sum;
  }

  bool IsProduct(const KernelOnPaths& kernel, std::size_t row, std::size_t column) const {
    const double most = proof_.routing.product_limit;
    return most > 0.0 && column > row + 1 && kernel.is_moderate && lengths_are_moderate_ &&
           kernel.radius[row] + kernel.radius[column] <= kMostRadii &&
           kernel.LargestCross(row, column) <= most;
  }

  routed_products::Block ProductBlock(const KernelOnPaths& kernel, std::size_t block,
                                      std::size_t over) const {
    routed_products::Block result;
    const std::size_t first = block * kSide;
    result.features = kernel.features.data() + first;
    result.scale = kernel.scale.data() + first;
    result.log_scale = kernel.log_scale.data() + first;
    result.centre = kernel.centre.data() + block * kernel.dimension;
    result.radius = kernel.radius[block];
    Limits limits;
    LimitsOver(block, over, &limits);
    double distance[kStride] = {};
    for (std::size_t n = kHalo; n < kHalo + kSide && !z_.empty(); ++n)
      distance[n] = DistanceToBlock(first + n, over);
    for (std::size_t m = 1; m <= bandwidth_; ++m) {
      double* edge = result.edge[m - 1];
      // The limits of those that cross are infinite.
      for (std::size_t n = kHalo - m; n < kHalo + kSide; ++n)
        edge[n] = distance[n] + distance[n + m] < limits.of_edge[m - 1][n] ? 1.0 : 0.0;
      for (std::size_t n = 0; n < kSide; ++n)
        result.count[n] += edge[kHalo + n] + edge[kHalo + n - m];
    }
    return result;
  }

  // Routes over a square without looking at its pairs, and flows on what that leaves.
  void AddProduct(const KernelOnPaths& kernel, std::size_t row, std::size_t column,
                  Scratch* scratch, RoutedSums* sums) const {
    const routed_products::Square square{
        kernel.dimension, kernel.stride,
        bandwidth_,       proof_.routing.share / (4.0 * static_cast<double>(bandwidth_)),
        kernel.factor,    kernel.LargestCross(row, column)};
    routed_products::Result of_rows;
    routed_products::Result of_columns;
    const double weight = std::exp(square.cross) *
                          SumProducts(square, ProductBlock(kernel, row, column),
                                      ProductBlock(kernel, column, row), &of_rows, &of_columns);
    sums->weight += weight;
    sums->excess += kernel.excess * weight;
    double apart = 0.0;
    for (std::size_t d = 0; d < kernel.dimension; ++d) {
      const double between =
          kernel.centre[row * kernel.dimension + d] - kernel.centre[column * kernel.dimension + d];
      apart += between * between;
    }
    const double farthest = std::sqrt(apart) + kernel.radius[row] + kernel.radius[column];
    // Twice: edges that cross have an end beyond the square.
    sums->error += 2.02 * weight *
                       (routed_products::kRoundings +
                        kernel.feature_error / kUlp * (1.0 + farthest * farthest)) +
                   kUnderflow * static_cast<double>(kStride * kStride);
    for (std::size_t n = 0; n < kSide; ++n) {
      for (std::size_t m = 0; m < bandwidth_; ++m) {
        sums->edge(row * kSide + n, m) += of_rows.gain[m][n];
        sums->edge(column * kSide + n, m) += of_columns.gain[m][n];
      }
    }
    AddWholeFlows(row, column, of_rows.left, of_columns.left, scratch, sums);
  }

  // The same flow between all positions of two blocks: that of their mean potentials. What it may vary at most, for the
  // dual value, is the difference of their mean z. Of no more roundings than flows pair by pair, as sums over a square take
  // the place of sums over its pairs.
  void AddWholeFlows(std::size_t row, std::size_t column, const double* of_rows,
                     const double* of_columns, Scratch* scratch, RoutedSums* sums) const {
    double in_rows = 0.0;
    double in_columns = 0.0;
    for (std::size_t n = 0; n < kSide; ++n) {
      in_rows += of_rows[n];
      in_columns += of_columns[n];
    }
    if (!(in_rows > 0.0 && in_columns > 0.0)) return;
    const std::size_t cuts = active_.size();
    std::vector<double>& in_row = scratch->in_row;
    std::vector<double>& in_column = scratch->in_column;
    std::vector<double>& q = scratch->q;
    q.assign(cuts, 0.0);
    for (std::size_t t = 0; t < v_.size(); ++t) {
      WeightedSums(v_[t], row, of_rows, &in_row);
      WeightedSums(v_[t], column, of_columns, &in_column);
      const bool clip = proof_.flows[t].shape == FlowShape::kClip;
      for (std::size_t c = 0; c < cuts; ++c) {
        const double apart = in_row[c] / in_rows - in_column[c] / in_columns;
        const double of_term = clip ? std::clamp(apart, -1.0, 1.0)
                                    : static_cast<double>((apart > 0.0) - (apart < 0.0));
        if (std::isfinite(of_term)) q[c] += proof_.flows[t].share * share_scale_ * of_term;
      }
    }
    for (std::size_t n = 0; n < kSide; ++n) {
      AddScaled(q.data(), of_rows[n], cuts, sums->flow.row(row * kSide + n).data());
      AddScaled(q.data(), -of_columns[n], cuts, sums->flow.row(column * kSide + n).data());
    }
    if (dual_z_.empty()) return;
    WeightedSums(dual_z_, row, of_rows, &in_row);
    WeightedSums(dual_z_, column, of_columns, &in_column);
    for (std::size_t c = 0; c < cuts; ++c)
      sums->variation += length_[c] * std::abs(in_row[c] - in_column[c]);
  }

  // Of the active cuts, over the positions of a block.
  void WeightedSums(const std::vector<float>& placed, std::size_t block, const double* weight,
                    std::vector<double>* sums) const {
    const std::size_t first = kHalo + block * kSide;
    sums->assign(active_.size(), 0.0);
    for (std::size_t n = 0; n < kSide && many_cuts_; ++n)
      AddScaled(CutsAt(placed, first + n), weight[n], active_.size(), sums->data());
    for (std::size_t c = 0; c < active_.size() && !many_cuts_; ++c) {
      for (std::size_t n = 0; n < kSide; ++n)
        (*sums)[c] += weight[n] * placed[c * padded_ + first + n];
    }
  }

  // Moves what the edges of the rows use from `left` to `gain`.
  void RouteEdgesOfRows(const Square& w, const Square& d, std::size_t row, const Limits& limits,
                        double part, double* left, Matrix<double>* gain) const {
    alignas(64) double ignored[kSide] = {};
    alignas(64) double ignored_next[kSide] = {};
    for (std::size_t m = 1; m <= bandwidth_; ++m) {
      const double* limit = limits.of_edge[m - 1] + kHalo;
      for (std::size_t r = bandwidth_ - m; r < bandwidth_ + kSide; ++r) {
        const std::size_t at = r * kStride + bandwidth_;
        const std::size_t next = at + m * kStride;
        const bool first_inside = r >= bandwidth_;
        const bool second_inside = r + m < bandwidth_ + kSide;
        double* first = first_inside ? left + (r - bandwidth_) * kStride + bandwidth_ : ignored;
        double* second =
            second_inside ? left + (r + m - bandwidth_) * kStride + bandwidth_ : ignored_next;
        const double used = RouteRow(w.value + at, w.value + next, d.value + at, d.value + next,
                                     *(limit + r - bandwidth_), part, first, second);
        if (first_inside) (*gain)(row * kSide + r - bandwidth_, m - 1) += used;
      }
    }
  }

  // The same for the edges of the columns; `gain` may be null.
  void RouteEdgesOfColumns(const Square& w, const Square& d, std::size_t column,
                           const Limits& limits, double part, double* left,
                           Matrix<double>* gain) const {
    for (std::size_t m = 1; m <= bandwidth_; ++m) {
      const std::size_t first = bandwidth_ - m;
      const std::size_t count = kSide + m;
      const double* limit = limits.of_edge[m - 1] + kHalo - m;
      alignas(64) double gains[kStride] = {};
      for (std::size_t i = 0; i < kSide; ++i) {
        const std::size_t at = (i + bandwidth_) * kStride + first;
        RouteColumns(w.value + at, d.value + at, limit, m, count, part, left + i * kStride + first,
                     gains);
      }
      if (gain == nullptr) continue;
      for (std::size_t j = 0; j < kSide; ++j) (*gain)(column * kSide + j, m - 1) += gains[m + j];
    }
  }

  // Rows first, first + step, ..., of each the first `columns` squares from the diagonal on.
  void AddRows(std::size_t first, std::size_t step, std::size_t columns, RoutedSums* sums) const {
    Scratch scratch{std::vector<Square>(kernels_.size()), {}, {}, {}};
    for (std::size_t row = first; row < blocks_; row += step) {
      for (std::size_t column = row; column < std::min(row + columns, blocks_); ++column)
        AddSquare(row, column, &scratch, sums);
    }
  }

  void AddSquare(std::size_t row, std::size_t column, Scratch* scratch, RoutedSums* sums) const {
    const bool near = column <= row + 1;
    const double part = proof_.routing.share / (4.0 * static_cast<double>(bandwidth_));
    std::vector<Square>& w = scratch->weights;
    std::size_t used = 0;
    for (const KernelOnPaths& kernel : kernels_) {
      const double least = near ? 0.0 : kernel.LeastSquared(row, column);
      if (IsProduct(kernel, row, column)) {
        if (least <= product_limit_) AddProduct(kernel, row, column, scratch, sums);
      } else if (near || least <= limit_) {
        Weights(kernel, row, column, &w[used++], sums);
      }
    }
    if (used == 0) return;
    const std::size_t side = kSide + 2 * bandwidth_;
    Square all;  // sum over kernels
    for (std::size_t r = 0; r < side; ++r) {
      double* sum = all.value + r * kStride;
      std::copy_n(w[0].value + r * kStride, side, sum);
      for (std::size_t k = 1; k < used; ++k) AddRow(w[k].value + r * kStride, side, sum);
    }
    Limits row_limits;
    Limits column_limits;
    LimitsOver(row, column, &row_limits);
    LimitsOver(column, row, &column_limits);
    Square d;
    const bool whole = IsWhole(row, column);
    if (proof_.routing.everywhere() || whole) {
      std::fill(std::begin(d.value), std::end(d.value), 0.0);
    } else {
      Distances(row, column, all, &d);
    }
    // Includes the columns of the margin, whose results are not used.
    alignas(64) double wide[kSide * kStride];
    for (std::size_t i = 0; i < kSide; ++i)
      std::copy_n(all.value + (i + bandwidth_) * kStride, side, wide + i * kStride);
    for (std::size_t k = 0; k < used; ++k) {
      RouteEdgesOfRows(w[k], d, row, row_limits, part, wide, &sums->edge);
      // In a square on the diagonal the edges of its columns are already counted with its rows.
      RouteEdgesOfColumns(w[k], d, column, column_limits, part, wide,
                          row == column ? nullptr : &sums->edge);
    }
    alignas(64) double left[kSide * kSide];
    for (std::size_t i = 0; i < kSide; ++i)
      KeepPositive(wide + i * kStride + bandwidth_, left + i * kSide);
    if (whole) {
      double of_rows[kSide] = {};
      double of_columns[kSide] = {};
      SumRowsAndColumns(left, of_rows, of_columns);
      AddWholeFlows(row, column, of_rows, of_columns, scratch, sums);
      return;
    }
    if (near) TakeDirectPairs(row, column, left, &sums->edge);
    AddFlows(row, column, left, &sums->flow);
    if (!dual_z_.empty()) sums->variation += Variation(row, column, left);
  }

  // Of what is left of the pairs of a square, under the distribution of the dual value.
  double Variation(std::size_t row, std::size_t column, const double* left) const {
    double variation = 0.0;
    for (std::size_t i = 0; i < kSide; ++i) {
      const double* of_row = left + i * kSide;
      const std::size_t own = kHalo + row * kSide + i;
      const std::size_t first = kHalo + column * kSide;
      alignas(64) double apart[kSide];
      if (many_cuts_) {
        for (std::size_t j = 0; j < kSide; ++j) {
          apart[j] = of_row[j] > 0.0
                         ? PairDistance(CutsAt(dual_z_, own), CutsAt(dual_z_, first + j),
                                        length_.data(), length_.size())
                         : 0.0;
        }
      } else {
        DistanceRow(dual_z_.data(), padded_, own, first, length_.data(), length_.size(), kSide,
                    apart);
      }
      variation += WeightedSum(of_row, apart);
    }
    return variation;
  }

  // Moves what is left of pairs that are edges to these edges, and counts every pair once.
  void TakeDirectPairs(std::size_t row, std::size_t column, double* left,
                       Matrix<double>* edge) const {
    for (std::size_t i = 0; i < kSide; ++i) {
      const std::size_t p = row * kSide + i;
      for (std::size_t j = 0; j < kSide; ++j) {
        const std::size_t q = column * kSide + j;
        double& of_pair = left[i * kSide + j];
        if (q <= p) {
          of_pair = 0.0;
        } else if (q < size_ && q - p <= bandwidth_ && q - p <= followers_[p]) {
          (*edge)(p, q - p - 1) += of_pair;
          of_pair = 0.0;
        }
      }
    }
  }

  void AddFlows(std::size_t row, std::size_t column, const double* left,
                Matrix<double>* flow) const {
    alignas(64) double of_columns[kSide];
    for (std::size_t t = 0; t < v_.size(); ++t) {
      const FlowTerm& term = proof_.flows[t];
      const double share = term.share * share_scale_;
      const bool clip = term.shape == FlowShape::kClip;
      if (many_cuts_) {
        for (std::size_t i = 0; i < kSide; ++i) {
          for (std::size_t j = 0; j < kSide; ++j) {
            if (left[i * kSide + j] == 0.0) continue;
            FlowPair(share * left[i * kSide + j], CutsAt(v_[t], kHalo + row * kSide + i),
                     CutsAt(v_[t], kHalo + column * kSide + j), clip, active_.size(),
                     flow->row(row * kSide + i).data(), flow->row(column * kSide + j).data());
          }
        }
        continue;
      }
      for (std::size_t c = 0; c < active_.size(); ++c) {
        const float* v = v_[t].data() + c * padded_ + kHalo;
        std::fill(std::begin(of_columns), std::end(of_columns), 0.0);
        for (std::size_t i = 0; i < kSide; ++i) {
          (*flow)(row * kSide + i, c) += FlowRow(left + i * kSide, v + column * kSide,
                                                 v[row * kSide + i], clip, share, of_columns);
        }
        for (std::size_t j = 0; j < kSide; ++j) (*flow)(column * kSide + j, c) += of_columns[j];
      }
    }
  }

  const DenseCrf& model_;
  const RoutedProof& proof_;
  std::size_t size_;
  std::size_t blocks_;
  std::size_t padded_;
  std::size_t bandwidth_;
  std::vector<std::uint32_t> followers_;
  std::vector<std::size_t> active_;
  double limit_;                      // squared distances beyond which squares are left out, and
  double product_limit_;              // those that are products
  bool lengths_are_moderate_ = true;  // D is finite
  bool many_cuts_;
  double negligible_;           // squared distance
  std::vector<double> length_;  // of the active cuts
  std::vector<KernelOnPaths> kernels_;
  std::vector<double> threshold_;  // bandwidth x padded
  std::vector<float> z_;           // see Placed
  std::vector<float> mean_z_;      // blocks x active cuts
  std::vector<std::vector<float>> v_;
  std::vector<float> dual_z_;
  double share_scale_ = 1.0;
};

}  // namespace

RoutedSums SumRoutedPairs(const DenseCrf& model, const RoutedProof& proof,
                          const Matrix<float>& dual_z, const PairOptions& options,
                          const Progress& progress) {
  return PairSums(model, proof, dual_z, options).Sum(progress);
}

}  // namespace submarine::internal
