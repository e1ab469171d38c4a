// How long the parts of a routed solve take, on two cores, so that it can be planned to fit a time limit.
#pragma once

#include "submarine/model/dense_crf.h"

namespace submarine::internal {

struct RoutedTimes {
  RoutedTimes(const DenseCrf& model, bool flows_by_square, bool leaves_time_to_verify);

  double variables;
  double labels;
  double cuts;
  double distinct_cuts;
  bool by_square;     // see Routing
  bool verifies;      // time for that is to be left
  double one_core;    // 2 where there is only one
  int bandwidth = 1;  // of the paths

  // Of verifying a square, pair by pair or as a product,
  double VerifierTileSeconds() const;
  double VerifierProductSeconds() const;
  // with rounds to learn before it,
  double LearnTileSeconds() const;
  double LearnProductSeconds() const;
  // or without.
  double LeastTileSeconds() const;
  double LeastProductSeconds() const;
  // Of verifying the sums along paths, with the dual value or without: for that a probability is computed for every label
  // after every state of a position.
  double VerifierPathSeconds(bool with_dual) const;
  // Whether the verifier is asked for the dual value where there are `seconds` in all.
  bool HasDual(double seconds) const;
  // Of flows through a square, pair by pair or as a product.
  double FlowTileSeconds() const;
  double FlowProductSeconds() const;
  // Of routing it.
  double TileSeconds() const;
  double ProductSeconds() const;

  // Rounds look at a sample of this number of squares for every block of positions: what its potentials prove with all pairs
  // differs by some 0.1%.
  double SampledSquares() const;
  double SampleSeconds(int rounds) const;
  // All sums along paths of an iteration.
  double PathSeconds(int of_bandwidth) const;
};

}  // namespace submarine::internal
