// Exact sum-product on banded chains: every variable is joined to the `bandwidth` before it, and messages are
// about the last `bandwidth` labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/extension/routing.h"

namespace submarine::internal {

// Whether nearly all labels are the largest distance from each other, as in Potts and truncated metrics: sums then take
// a few terms per state, instead of one for every label.
bool IsNearlyPotts(const Matrix<double>& distance);

class BandedChain {
 public:
  // `distance` is the label metric (labels x labels).
  BandedChain(const RoutedPaths& paths, const Matrix<double>& distance);

  // Of W at (p, m - 1) on the edge from position p to p + m, over T.
  void SetWeights(const Matrix<double>& edge_weights, double temperature);

  // log Z with the node costs s over T (positions x labels), and marginals by position where asked for.
  double LogZ(const Matrix<float>& costs, double temperature, Matrix<float>* marginals = nullptr);

  // E[d] of every edge, at (p, m - 1), under the distribution of the last call with marginals.
  Matrix<float> ExpectedDistances() const;

 private:
  void FindExceptional();
  // Where most distances are the same, `common_`, only the others are looked at one by one:
  // out[r, i] = sum over y of decay(i, y) in[y, r], and out[y, r] = sum over i of decay(i, y) in[r, i], for all of the
  // `rest_` labels r in between, which vary fastest beside y and slowest beside i.
  void SumOldest(const double* decay, const double* in, double* totals, double* out) const;
  void SumNewest(const double* decay, const double* in, double* totals, double* out) const;
  // E[d] along the edges that end at p.
  void ExpectedAt(std::size_t p, Matrix<float>* expected) const;
  void UsualExpectedAt(std::size_t p, Matrix<float>* expected) const;

  // exp(-W d / T) of the edge that ends at position p and began m before, of the distance number k.
  const double* Decay(std::size_t p, std::size_t m) const {
    return decay_.data() + (p * bandwidth_ + m - 1) * values_.size();
  }
  std::size_t Depth(std::size_t p) const { return std::min(bandwidth_, before_[p]); }
  // factor[new state] = product of the decays to all labels but the oldest, times the node's own.
  // `row` is scratch.
  void NodeFactors(std::size_t p, std::vector<double>* row, std::vector<double>* factor) const;
  double Forward(std::size_t begin, std::size_t end);
  void Backward(std::size_t begin, std::size_t end);

  std::size_t size_;
  std::size_t labels_;
  std::size_t bandwidth_;
  std::size_t states_;  // labels^bandwidth
  std::size_t rest_;    // labels^(bandwidth - 1)
  struct ExceptionalDistance {
    std::uint32_t label;
    std::uint32_t value;
  };
  bool nearly_potts_ = false;                     // few distances differ from the most common one
  bool is_potts_ = false;                         // and these are those of a label to itself
  std::size_t common_ = 0;                        // index into `values_`
  std::vector<ExceptionalDistance> exceptional_;  // by label
  std::vector<std::size_t> exceptional_begin_;
  std::vector<std::uint32_t> begin_;
  std::vector<std::size_t> before_;      // positions of the same path before this one
  std::vector<double> values_;           // distinct distances
  std::vector<std::uint32_t> value_of_;  // of (i, j), index into `values_`
  std::vector<double> decay_;
  Matrix<double> own_;            // exp(-s / T), normalised, and
  std::vector<double> log_mass_;  // the logarithm of its sum before that
  // Of every position, the states (label here, label before, ...): index = here + labels * before + ...
  Matrix<double> forward_;   // normalised
  Matrix<double> backward_;  // normalised
};

}  // namespace submarine::internal
