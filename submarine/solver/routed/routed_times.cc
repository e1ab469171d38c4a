#include "submarine/solver/routed/routed_times.h"

#include <algorithm>
#include <cmath>

#include "submarine/base/parallel.h"
#include "submarine/solver/routed/routed_policy.h"
#include "submarine/solver/routed/squares/reordered_kernels.h"
#include "submarine/solver/routed/squares/routing_layout.h"

namespace submarine::internal {
namespace {

using Policy = RoutedPolicy;

// Of routing a square of pairs.
constexpr double kTileSeconds = 4e-6;
// The same with a few iterations, on a machine that nothing else uses.
constexpr double kLeastTileSeconds = 3.6e-6;
// For every cut: flows on a few of all pairs, after learning; the same of products, which every round looks at; of a square
// of the sample, for every iteration.
constexpr double kLearnCutSeconds = 2e-6;
constexpr double kLearnProductCutSeconds = 1e-6;
constexpr double kSampleCutSeconds = 4e-7;
constexpr double kLeastProductCutSeconds = 1.5e-7;
// Of verifying a square of pairs; for every cut; for every edge at a position. How long routing has taken tells nothing
// about it: that is, above all, memory used for the first time.
constexpr double kVerifySeconds = 5e-6;
constexpr double kVerifyCutSeconds = 8e-7;
constexpr double kVerifyEdgeSeconds = 1.8e-6;
// The same of squares that are products.
constexpr double kProductSeconds = 3e-7;
constexpr double kProductEdgeSeconds = 1.5e-7;
constexpr double kVerifyProductSeconds = 1e-6;
constexpr double kVerifyProductEdgeSeconds = 3.5e-7;
constexpr double kVerifyProductCutSeconds = 3e-7;
// Of cuts where flows are chosen by square.
constexpr double kVerifyWholeCutSeconds = 1e-7;
constexpr double kLearnWholeCutSeconds = 2e-7;
constexpr double kSampleWholeCutSeconds = 4e-8;
// Squares of a sample; fewer where there are many cuts and flows are chosen pair by pair.
constexpr double kSampledSquares = 96.0;
constexpr double kFewSampledSquares = 24.0;
constexpr double kSampledCuts = 288.0;  // squares times distinct cuts
// Of a state of a position, in all passes of an iteration.
constexpr double kStateSeconds = 7e-9;
// Of verifying it; for every label; for every label with the dual value.
constexpr double kVerifyStateSeconds = 4e-8;
constexpr double kVerifyLabelSeconds = 2e-9;
constexpr double kVerifyDualSeconds = 1.5e-8;
constexpr double kMostTermsOfDual = 1024.0;

}  // namespace

RoutedTimes::RoutedTimes(const DenseCrf& model, bool flows_by_square, bool leaves_time_to_verify)
    : variables(static_cast<double>(model.num_variables())),
      labels(model.num_labels()),
      cuts(model.num_cuts()),
      distinct_cuts(static_cast<double>(DistinctCuts(model.labels()).size())),
      by_square(flows_by_square),
      verifies(leaves_time_to_verify),
      one_core(NumThreads() == 1 ? 2.0 : 1.0) {}

double RoutedTimes::VerifierTileSeconds() const {
  if (!verifies) return 0.0;
  return one_core *
         (kVerifySeconds + (by_square ? kVerifyWholeCutSeconds : kVerifyCutSeconds) * cuts +
          kVerifyEdgeSeconds * bandwidth);
}

double RoutedTimes::VerifierProductSeconds() const {
  if (!verifies) return 0.0;
  return one_core * (kVerifyProductSeconds + kVerifyProductCutSeconds * cuts +
                     kVerifyProductEdgeSeconds * bandwidth);
}

double RoutedTimes::LearnTileSeconds() const {
  return VerifierTileSeconds() + Policy::kPassesToLearn * TileSeconds() +
         one_core * (by_square ? kLearnWholeCutSeconds : kLearnCutSeconds) * distinct_cuts;
}

double RoutedTimes::LearnProductSeconds() const {
  return VerifierProductSeconds() + (Policy::kLeastRounds + 1) * ProductSeconds() +
         one_core * kLearnProductCutSeconds * distinct_cuts;
}

double RoutedTimes::LeastTileSeconds() const {
  return Policy::kSlow * (VerifierTileSeconds() + one_core * kLeastTileSeconds);
}

double RoutedTimes::LeastProductSeconds() const {
  return Policy::kSlow * (VerifierProductSeconds() + ProductSeconds() + FlowProductSeconds());
}

double RoutedTimes::VerifierPathSeconds(bool with_dual) const {
  if (!verifies) return 0.0;
  const double of_label = with_dual ? kVerifyDualSeconds : kVerifyLabelSeconds;
  return one_core * variables * std::pow(labels, bandwidth) *
         (kVerifyStateSeconds + of_label * labels);
}

bool RoutedTimes::HasDual(double seconds) const {
  return (bandwidth == 1 || std::pow(labels, bandwidth + 1) <= kMostTermsOfDual) &&
         VerifierPathSeconds(true) <= Policy::kShareOfDual * seconds;
}

double RoutedTimes::FlowTileSeconds() const {
  return one_core * (by_square ? kSampleWholeCutSeconds : kSampleCutSeconds) * distinct_cuts;
}

double RoutedTimes::FlowProductSeconds() const {
  return one_core * kLeastProductCutSeconds * distinct_cuts;
}

double RoutedTimes::TileSeconds() const { return one_core * kTileSeconds; }

double RoutedTimes::ProductSeconds() const {
  return one_core * (kProductSeconds + kProductEdgeSeconds * bandwidth);
}

double RoutedTimes::SampledSquares() const {
  if (by_square) return kSampledSquares;
  return std::clamp(kSampledCuts / distinct_cuts, kFewSampledSquares, kSampledSquares);
}

double RoutedTimes::SampleSeconds(int rounds) const {
  const double tiles =
      0.5 * SampledSquares() * static_cast<double>(NumBlocks(static_cast<std::size_t>(variables)));
  const int iterations = Policy::kFirstIterations + (rounds - 1) * Policy::kRoundIterations;
  return tiles * (rounds * TileSeconds() + iterations * FlowTileSeconds()) +
         iterations * PathSeconds(bandwidth);
}

double RoutedTimes::PathSeconds(int of_bandwidth) const {
  return one_core * kStateSeconds * variables * std::pow(labels, of_bandwidth);
}

}  // namespace submarine::internal
