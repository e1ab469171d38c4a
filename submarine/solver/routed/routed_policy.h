// What routing decides by, and how it divides the time it is given: every such number of this folder. How long its parts take
// is in routed_times.h; what is decided between routing and other candidates, in solve/method/policy.h.
#pragma once

#include <array>
#include <cstddef>

namespace submarine::internal {

struct RoutedPolicy {
  // --- Chains. Where most labels are equally far from each other, sums need no loop over pairs of states: up to this number of
  // states of a position, this bandwidth (one more where there are few variables, as pairs take longer too), and this share of
  // the time. With few labels DefaultBandwidth is as much as pays.
  static constexpr double kMostStates = 512.0;
  static constexpr int kBandwidthOfStates = 2;
  static constexpr std::size_t kFewVariables = 30000;
  static constexpr int kFewLabels = 3;
  static constexpr double kShareOfPaths = 0.6;
  // Chains are cut into pieces of at least this length, which are summed in parallel.
  static constexpr std::size_t kLeastPathPiece = 8192;

  // --- Squares of pairs (squares/tile_pairs.h says how far a cutoff is raised for rounds that learn, and for time): factors
  // by which cutoffs are raised, of pairs and of products.
  static constexpr double kRaise = 1.2;
  static constexpr double kRaiseProducts = 1.3;
  // All pairs are looked at where squares with kernels above this fit.
  static constexpr double kCutoffForAll = 0.05;
  // Products are worth what they cost in tightness where they leave at most this share of the time.
  static constexpr double kProductLimit = 1.0;
  static constexpr double kShareOfProducts = 0.65;
  // What is taken then: the first of these that there is time and memory for.
  struct Squares {
    bool banded;  // otherwise bandwidth 1
    bool learns;  // two rounds
    double cutoff;
    double product_cutoff;
  };
  static constexpr std::array<Squares, 7> kSquares = {{{true, true, 0.05, 0.05},
                                                       {true, true, 0.1, 0.05},
                                                       {true, true, 0.2, 0.1},
                                                       {true, false, 0.2, 0.1},
                                                       {false, true, 0.1, 0.05},
                                                       {false, true, 0.2, 0.1},
                                                       {false, false, 0.2, 0.05}}};
  // A single round on banded chains is worth it with this time to spare.
  static constexpr double kBandedRounds = 1.4;

  // --- Rounds that learn which routes pay: this many, more while they gain; the least number of them; iterations of the first
  // and of the others.
  static constexpr int kRounds = 8;
  static constexpr int kMostRounds = 24;
  static constexpr int kLeastRounds = 3;
  static constexpr int kFirstIterations = 30;
  static constexpr int kRoundIterations = 15;
  static constexpr int kLearnIterations = kFirstIterations + (kRounds - 1) * kRoundIterations;
  // Passes over all pairs, to learn and to go on with them.
  static constexpr double kPassesToLearn = 1.5;
  // By how much the last round counts more in the mean.
  static constexpr float kMeanWeight = 1.5F;
  // Of the first round: what is left to flows tells marginals apart that the next round goes by, and where
  // unaries are weak everywhere it ends lower than routing all there is.
  static constexpr double kFirstShare = 0.9;
  // Marginals that differ by less count as equal for routing: what they say is not exact either.
  static constexpr double kSameMarginals = 0.05;
  // The cutoff was raised by a sample of the squares: learning may take this much more than its estimate.
  static constexpr double kOfEstimate = 1.05;

  // --- Iterations, on a sample until what they prove with all pairs is looked at; those that a round has to gain the share
  // below, of the bound; and of kOnSample iterations. The shares count more where log Z is known well, up to a point.
  static constexpr int kOnSample = 16;
  static constexpr int kPatience = 8;
  static constexpr double kWorthwhile = 1e-4;
  static constexpr double kWorthwhileOnSample = 2.5e-4;
  static constexpr double kGapToleranceScale = 100.0;
  static constexpr double kMinRelativeGain = 0.01;
  // The curvature grows where the flows make labels certain: a round that no longer gains goes on from its best
  // potentials with shorter steps, at most this many times.
  static constexpr int kMostShortened = 2;
  static constexpr int kFewIterations = 8;  // that a new round needs at least
  // The first ones gain most: they are made in any case where they take less than this share of the verifier's time.
  static constexpr int kCheapIterations = 4;
  static constexpr double kSmallShare = 0.3;

  // --- Time: of what is left, for the first iteration, and for the first routes, as verifying them takes as long or longer.
  static constexpr double kShareOfIteration = 0.2;
  static constexpr double kShareOfFirstRoutes = 0.4;
  static constexpr double kSecondsAfterInterrupt = 1.0;
  // Squares are as many as a machine that is slower by this has time to verify, as a verifier that is cut short loses more
  // than small kernel values prove.
  static constexpr double kSlow = 1.25;
  // The dual value is verified where it takes at most this share of the time.
  static constexpr double kShareOfDual = 0.1;
};

}  // namespace submarine::internal
