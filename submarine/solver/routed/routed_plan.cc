#include "submarine/solver/routed/routed_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "submarine/solver/routed/banded_chain.h"
#include "submarine/solver/routed/squares/reordered_kernels.h"

namespace submarine::internal {
namespace {

// Of paths where most labels are equally far from each other: states of a position, bandwidth, share of the time.
constexpr double kMostStates = 512.0;
constexpr int kBandwidthOfStates = 2;  // 3 where there are few variables, as pairs take longer too
constexpr std::size_t kFewVariables = 30000;
constexpr int kFewLabels = 3;  // DefaultBandwidth is as much as pays
constexpr double kShareOfPaths = 0.6;
constexpr double kRaise = 1.2;  // cutoffs, step by step
constexpr double kRaiseProducts = 1.3;
constexpr double kBandedRounds =
    1.4;  // a single round on banded chains is worth it with time to spare
constexpr double kCutoffForAll = 0.05;
constexpr double kProductLimit = 1.0;
// Products are worth what they cost in tightness where they leave at most this share of the time.
constexpr double kShareOfProducts = 0.65;
constexpr std::size_t kLeastPathPiece = 8192;

int MostBandwidth(const DenseCrf& model) {
  if (model.num_labels() <= kFewLabels) return 1;
  return kBandwidthOfStates + (model.num_variables() <= kFewVariables ? 1 : 0);
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
      return std::pow(model_.num_labels(), k) <= kMostStates &&
             PathBytes(model_, k) <= static_cast<double>(options_.max_path_bytes) &&
             kLearnIterations * times_.PathSeconds(k) <= kShareOfPaths * seconds;
    };
    while (bandwidth < MostBandwidth(model_) && fits(bandwidth + 1)) ++bandwidth;
    return bandwidth;
  }

  RoutedPaths Paths(bool in_blocks) {
    plan_.order = in_blocks ? VariableOrder::kBlocks : options_.order;
    RoutedPaths paths = MakePath(model_, plan_.order, Bandwidth());
    CutLongPaths(kLeastPathPiece, &paths);
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
        .enough_tiles = std::max(0.0, plan_.seconds - times_.SampleSeconds(kRounds)) /
                        times_.LearnTileSeconds(),
        .most_tiles = plan_.seconds / times_.LeastTileSeconds(),
        .by_square = options_.by_square};
    if (options_.products == RoutedProducts::kNever) return squares;
    const std::vector<ReorderedKernel> kernels = ReorderKernels(model_, plan_.paths);
    const std::size_t blocks = NumBlocks(model_.num_variables());
    // With the cutoff for plenty of time, whatever was chosen for less.
    TilePairsOptions full = squares;
    full.cutoff = std::min(squares.cutoff, kCutoffForAll);
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
    squares.product_limit = kProductLimit;
    squares.enough_tiles = squares.most_tiles = std::numeric_limits<double>::infinity();
    // The first of these that there is time and memory for; then ever larger kernel values.
    struct Candidate {
      bool banded;
      bool learns;  // two rounds
      double cutoff;
      double product_cutoff;
    };
    constexpr Candidate kCandidates[] = {{true, true, 0.05, 0.05}, {true, true, 0.1, 0.05},
                                         {true, true, 0.2, 0.1},   {true, false, 0.2, 0.1},
                                         {false, true, 0.1, 0.05}, {false, true, 0.2, 0.1},
                                         {false, false, 0.2, 0.05}};
    const int bandwidth = Bandwidth();
    const auto fits = [&](const Candidate& candidate) {
      times_.bandwidth = plan_.paths.bandwidth = candidate.banded ? bandwidth : 1;
      squares.cutoff = candidate.cutoff;
      squares.product_cutoff = candidate.product_cutoff;
      const SquareCounts counts = EstimateSquares(kernels, blocks, squares);
      double seconds =
          counts.tiles * times_.LeastTileSeconds() + counts.products * times_.LeastProductSeconds();
      if (candidate.banded) seconds *= kBandedRounds;
      if (candidate.learns) {
        seconds = counts.tiles * times_.LearnTileSeconds() +
                  counts.products * times_.LearnProductSeconds() +
                  times_.SampleSeconds(kLeastRounds);
      }
      return seconds <= plan_.seconds &&
             SquareBytes(counts, squares.by_square) <= static_cast<double>(squares.max_bytes);
    };
    if (std::none_of(std::begin(kCandidates), std::end(kCandidates), fits)) {
      Candidate least = kCandidates[std::size(kCandidates) - 1];
      while (!fits(least) && least.cutoff < kCutoffForTime) {
        least.cutoff = std::min(kCutoffForTime, kRaise * least.cutoff);
        least.product_cutoff = std::min(kCutoffForTime, kRaiseProducts * least.product_cutoff);
      }
    }
    return squares;
  }

  bool ProductsSaveTime(const std::vector<ReorderedKernel>& kernels, std::size_t blocks) const {
    TilePairsOptions squares{.cutoff = kCutoffForRounds};
    const double all = EstimateSquares(kernels, blocks, squares).tiles * times_.LeastTileSeconds();
    squares.product_limit = kProductLimit;
    const SquareCounts counts = EstimateSquares(kernels, blocks, squares);
    return counts.tiles * times_.LeastTileSeconds() +
               counts.products * times_.LeastProductSeconds() <=
           kShareOfProducts * all;
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
         std::pow(model.num_labels(), bandwidth + 1) <= kMostStates)
    ++bandwidth;
  return PathBytes(model, bandwidth);
}

RoutesPlan PlanRoutes(const DenseCrf& model, const RoutedOptions& options, const Stopwatch& clock,
                      RoutedTimes* times) {
  return Planner(model, options, clock, times).Plan();
}

}  // namespace submarine::internal
