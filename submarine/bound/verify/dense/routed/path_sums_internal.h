// Sums over all labelings of a banded chain, for the verifier of routes; not for use elsewhere.
//
// A state is the labels of the last `bandwidth` positions, fewer at the beginning of a path; the newest label is the
// least significant digit of its index.
#pragma once

#include <cstddef>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/base/safe_sum.h"

namespace submarine::internal {

// Everything is by position on the paths. The edge from p to p + m has its weight at (p, m - 1).
struct PathEnergies {
  const Matrix<double>& costs;     // positions x labels
  const Matrix<double>& edge;      // positions x bandwidth
  const Matrix<double>& distance;  // labels x labels
  double temperature = 1.0;

  std::size_t labels() const { return costs.cols(); }
  std::size_t bandwidth() const { return edge.cols(); }
};

// Adds T log Z_T of the path from position `begin` to before `end`, T >= 0. The costs of position p have gone
// through `roundings` roundings, each of at most an ulp of magnitude[p].
void AddPathLogZ(const PathEnergies& path, std::size_t begin, std::size_t end,
                 const std::vector<double>& magnitude, double roundings, SafeSum* bound);

// A distribution P on the paths, and what is computed of it.
struct PathDistribution {
  Matrix<double> y;               // marginals, positions x labels
  Matrix<double> expected;        // E[d] of the edge from p to p + m at (p, m - 1)
  std::vector<double> roundings;  // of these entries, relative to each, by position

  PathDistribution(std::size_t positions, std::size_t labels, std::size_t bandwidth)
      : y(positions, labels), expected(positions, bandwidth), roundings(positions, 0.0) {}
};

// Fills in the rows from `begin` to before `end` of the distribution of that path at temperature T > 0, and adds T times
// its entropy. Its conditional probabilities are computed, and P *is* what they define, so that sum-product needs no
// error bounds: the roundings are those of multiplying them.
void SetPathDistribution(const PathEnergies& path, std::size_t begin, std::size_t end,
                         PathDistribution* distribution, SafeSum* entropy);

}  // namespace submarine::internal
