#include "submarine/solver/routed/routed_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "submarine/solver/routed/banded_chain.h"
#include "submarine/solver/routed/routed_policy.h"
#include "submarine/solver/routed/squares/reordered_kernels.h"

namespace submarine::internal {
namespace {

using Policy = RoutedPolicy;

int MostBandwidth(const DenseCrf& model) {
  if (model.num_labels() <= Policy::kFewLabels) return 1;
  return Policy::kBandwidthOfStates + (model.num_variables() <= Policy::kFewVariables ? 1 : 0);
}

// Of both directions, in double.
double PathBytes(const DenseCrf& model, int bandwidth) {
  return 2.0 * sizeof(double) * static_cast<double>(model.num_variables()) *
         std::pow(model.num_labels(), bandwidth);
}

class Planner {
 public:
  Planner(const DenseCrf& model, const RoutedOptions& options, const Stopwatch& clock,
          RoutedTimes* times)
      : model_(model), options_(options), clock_(clock), times_(*times) {}

  RoutesPlan Plan() && {
    plan_.paths = Paths(options_.products != RoutedProducts::kNever);
    plan_.seconds = SecondsForSquares();
    plan_.squares = ChooseSquares();
    return std::move(plan_);
  }

 private:
  // The larger the bandwidth, the less disagreement costs, and the longer sums take.
  int Bandwidth() const {
    if (options_.bandwidth > 0) return options_.bandwidth;
    int bandwidth = DefaultBandwidth(model_.num_labels());
    const LabelSpace& labels = model_.labels();
    if (!IsNearlyPotts(CutDistance(*labels.cuts, model_.metric().length))) return bandwidth;
    const double seconds = std::min(options_.planned_seconds, options_.time_limit_seconds);
    const auto fits = [&](int k) {
      return std::pow(model_.num_labels(), k) <= Policy::kMostStates &&
             PathBytes(model_, k) <= static_cast<double>(options_.max_path_bytes) &&
             Policy::kLearnIterations * times_.PathSeconds(k) <= Policy::kShareOfPaths * seconds;
    };
    while (bandwidth < MostBandwidth(model_) && fits(bandwidth + 1)) ++bandwidth;
    return bandwidth;
  }

  RoutedPaths Paths(bool in_blocks) {
    plan_.order = in_blocks ? VariableOrder::kBlocks : VariableOrder::kSpanning;
    RoutedPaths paths = MakePath(model_, plan_.order, Bandwidth());
    CutLongPaths(Policy::kLeastPathPiece, &paths);
    times_.bandwidth = paths.bandwidth;
    return paths;
  }

  double SecondsForSquares() const {
    return std::max(
        0.0, std::min(options_.planned_seconds, options_.time_limit_seconds) - clock_.Seconds());
  }

  // All pairs of squares with kernels above a cutoff where there is time for that, or where products would not save much;
  // otherwise products where they are good bounds, which leaves few squares to look at. Chooses paths that fit.
  TilePairsOptions ChooseSquares() {
    TilePairsOptions squares{
        .cutoff = options_.cutoff,
        .max_bytes = options_.max_bytes,
        .enough_tiles = std::max(0.0, plan_.seconds - times_.SampleSeconds(Policy::kRounds)) /
                        times_.LearnTileSeconds(),
        .most_tiles = plan_.seconds / times_.LeastTileSeconds(),
        .by_square = options_.by_square};
    if (options_.products == RoutedProducts::kNever) return squares;
    const std::vector<ReorderedKernel> kernels = ReorderKernels(model_, plan_.paths);
    const std::size_t blocks = NumBlocks(model_.num_variables());
    // With the cutoff for plenty of time, whatever was chosen for less.
    TilePairsOptions full = squares;
    full.cutoff = std::min(squares.cutoff, Policy::kCutoffForAll);
    const SquareCounts all = EstimateSquares(kernels, blocks, full);
    const bool has_room =
        all.tiles <= squares.enough_tiles &&
        SquareBytes(all, squares.by_square) <= static_cast<double>(squares.max_bytes);
    if (options_.products == RoutedProducts::kWhereTimeIsShort &&
        (has_room || !ProductsSaveTime(kernels, blocks))) {
      plan_.paths = Paths(false);
      plan_.seconds = SecondsForSquares();
      squares.most_tiles = plan_.seconds / times_.LeastTileSeconds();
      return squares;
    }
    squares.product_limit = Policy::kProductLimit;
    squares.enough_tiles = squares.most_tiles = std::numeric_limits<double>::infinity();
    const int bandwidth = Bandwidth();
    const auto fits = [&](const Policy::Squares& candidate) {
      times_.bandwidth = plan_.paths.bandwidth = candidate.banded ? bandwidth : 1;
      squares.cutoff = candidate.cutoff;
      squares.product_cutoff = candidate.product_cutoff;
      const SquareCounts counts = EstimateSquares(kernels, blocks, squares);
      double seconds =
          counts.tiles * times_.LeastTileSeconds() + counts.products * times_.LeastProductSeconds();
      if (candidate.banded) seconds *= Policy::kBandedRounds;
      if (candidate.learns) {
        seconds = counts.tiles * times_.LearnTileSeconds() +
                  counts.products * times_.LearnProductSeconds() +
                  times_.SampleSeconds(Policy::kLeastRounds);
      }
      return seconds <= plan_.seconds &&
             SquareBytes(counts, squares.by_square) <= static_cast<double>(squares.max_bytes);
    };
    // Then ever larger kernel values.
    if (std::none_of(Policy::kSquares.begin(), Policy::kSquares.end(), fits)) {
      Policy::Squares least = Policy::kSquares.back();
      while (!fits(least) && least.cutoff < kCutoffForTime) {
        least.cutoff = std::min(kCutoffForTime, Policy::kRaise * least.cutoff);
        least.product_cutoff =
            std::min(kCutoffForTime, Policy::kRaiseProducts * least.product_cutoff);
      }
    }
    return squares;
  }

  bool ProductsSaveTime(const std::vector<ReorderedKernel>& kernels, std::size_t blocks) const {
    TilePairsOptions squares{.cutoff = kCutoffForRounds};
    const double all = EstimateSquares(kernels, blocks, squares).tiles * times_.LeastTileSeconds();
    squares.product_limit = Policy::kProductLimit;
    const SquareCounts counts = EstimateSquares(kernels, blocks, squares);
    return counts.tiles * times_.LeastTileSeconds() +
               counts.products * times_.LeastProductSeconds() <=
           Policy::kShareOfProducts * all;
  }

  const DenseCrf& model_;
  const RoutedOptions& options_;
  const Stopwatch& clock_;
  RoutedTimes& times_;
  RoutesPlan plan_;
};

}  // namespace

double MostPathBytes(const DenseCrf& model) {
  int bandwidth = DefaultBandwidth(model.num_labels());
  while (bandwidth < MostBandwidth(model) &&
         std::pow(model.num_labels(), bandwidth + 1) <= Policy::kMostStates)
    ++bandwidth;
  return PathBytes(model, bandwidth);
}

RoutesPlan PlanRoutes(const DenseCrf& model, const RoutedOptions& options, const Stopwatch& clock,
                      RoutedTimes* times) {
  return Planner(model, options, clock, times).Plan();
}

}  // namespace submarine::internal
