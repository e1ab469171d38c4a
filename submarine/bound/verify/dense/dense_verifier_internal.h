// What the verifiers of dense models share; not for use elsewhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/safe_sum.h"
#include "submarine/base/simd/wide_registers.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/bound/verify/dense/pairs/pair_tree.h"

namespace submarine::internal::dense_verifier {

inline constexpr std::size_t kLeaf = PairTree::kLeaf;
inline constexpr std::size_t kGrain = 1024;  // variables per task of a parallel loop

inline constexpr double kUlp = std::numeric_limits<double>::epsilon();  // of 1

// What products lose whose results are below the normal numbers, in ulps of 1.
inline constexpr double kUnderflow =
    std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon();

// Throws InvalidInput for options that are negative or not finite.
void CheckOptions(const PairOptions& options);

// Throws InvalidInput for an invalid proof, see VerifiedUpper.
void CheckProof(const DenseCrf& model, const FlowProof& proof);

// y = the row divided by its sum. Throws InvalidInput unless the row is a distribution up to a
// factor.
void NormaliseRow(const Matrix<float>& marginals, std::size_t a, double* y);

// sum_a T H(y_a) - <phi_a, y_a> - constant for normalised rows, for bounds from below. Throws
// InvalidInput for the wrong shape. Where `own` is not empty, only over the variables that it marks, without the constant.
SafeSum UnaryPart(const DenseCrf& model, const Matrix<float>& marginals, double temperature,
                  std::span<const unsigned char> own = {});

// Adds T log sum_i exp(-s_i / T), or -min_i s_i at T = 0, for bounds from above. The s_i are
// results of this many roundings, each of at most an ulp of the magnitude.
void AddSoftMaximum(std::span<const double> s, double temperature, double magnitude,
                    double roundings, SafeSum* bound);

// sum.Below(), but -infinity where temperatures near the largest number made the sum overflow.
double BelowOf(const SafeSum& sum);

// Marginals that put all mass on a labeling. Throws InvalidInput for the wrong length and labels
// out of range.
Matrix<float> CertainOf(const DenseCrf& model, const std::vector<int>& labeling);

// Cuts of positive length, ascending: the others neither cost anything nor carry flow.
std::vector<std::size_t> ActiveCuts(const DenseCrf& model);

// max over i of the sum of l_c over the cuts that contain i: s'_i is at most this times the largest
// s_c / l_c, and sum_c l_c y(S_c) at most this.
double LargestLabelLength(const DenseCrf& model);

// The error, in ulps of 1 and beyond the few of the summation itself, of a sum of kernel values k
// at squared distances x, given `weight` = sum k and `far_weight` = sum k x. The distance collects
// one rounding per dimension and three more, and exp(-x/2) turns each into x/2; errors of the
// features change k by at most the tree's feature_error() times (1 + x) k.
double KernelUlps(const PairTree& tree, double weight, double far_weight);

// c w^(m), decreased or increased so that the stored scale factors give pair weights that are at
// most, or at least, the exact ones. Energies grow with every pair weight: the first is for upper
// bounds on log Z, the second for lower bounds, dual values and energies.
double LeastFactor(const DenseCrf& model, const GaussianKernel& kernel);
double LargestFactor(const DenseCrf& model, const GaussianKernel& kernel);

// Progress through `parts` equal parts of the work.
class Progress {
 public:
  Progress(const PairOptions& options, std::size_t parts)
      : callback_(options.on_progress),
        parts_(static_cast<double>(std::max<std::size_t>(parts, 1))) {}
  void NextPart() { finished_ += 1.0; }
  // False when the callback returns that.
  bool Continues(double done_of_part) const {
    return !callback_ || callback_(std::min(1.0, (finished_ + done_of_part) / parts_));
  }
  // Throws Interrupted instead.
  void Report(double done_of_part) const {
    if (!Continues(done_of_part))
      throw Interrupted("the verification was interrupted before it had a result");
  }

 private:
  const std::function<bool(double)>& callback_;
  double parts_;
  double finished_ = 0.0;
};

// body(leaf) for all leaves in parallel; the calling thread reports progress in between.
template <class Body>
void ForLeaves(const PairTree& tree, const Progress& progress, const Body& body) {
  const std::size_t leaves = tree.num_leaves();
  const std::size_t batch = std::max<std::size_t>(128, leaves / 100);
  for (std::size_t begin = 0; begin < leaves; begin += batch) {
    const std::size_t count = std::min(batch, leaves - begin);
    ParallelFor(count, 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t k = first; k < last; ++k) body(begin + k);
    });
    progress.Report(static_cast<double>(begin + count) / static_cast<double>(leaves));
  }
}

}  // namespace submarine::internal::dense_verifier
