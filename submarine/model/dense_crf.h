// The fully connected CRF (docs/math.md, "Model"):
//
//   E(x) = constant + sum_a phi_a(x_a) + sum_{a<b} w_ab d(x_a, x_b),
//   w_ab = c sum_m w^(m) k^(m)_ab,   c = 2 when pairs are counted as ordered pairs (the paper's
//   convention and the default), c = 1 when counted once. No self terms.
//
// Unaries are held in single precision, and the model is defined by these rounded numbers. Its
// kernels are the exact ones, to which the stored features are close
// (filter/kernel/gaussian_kernel.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/labels/label_cuts.h"
#include "submarine/model/sparse_crf.h"

namespace submarine {

enum class PairCounting { kOrdered, kOnce };

class DenseCrf {
 public:
  // Throws InvalidInput: non-finite unaries, sizes that do not match, a label space with other than
  // one metric, whatever CheckKernel refuses, energies whose sum could overflow.
  DenseCrf(Matrix<float> unary, std::vector<GaussianKernel> kernels, LabelSpace labels,
           PairCounting counting = PairCounting::kOrdered, double constant = 0.0);

  // The same model with other kernels.
  DenseCrf WithKernels(std::vector<GaussianKernel> kernels) &&;

  std::size_t num_variables() const { return unary_.rows(); }
  int num_labels() const { return labels_.num_labels(); }
  int num_cuts() const { return labels_.cuts->num_cuts(); }

  const Matrix<float>& unary() const { return unary_; }
  const std::vector<GaussianKernel>& kernels() const { return kernels_; }
  const LabelSpace& labels() const { return labels_; }
  const LabelMetric& metric() const { return labels_.metrics.front(); }
  double constant() const { return constant_; }
  PairCounting counting() const { return counting_; }
  double pair_factor() const { return counting_ == PairCounting::kOrdered ? 2.0 : 1.0; }  // c

  // w_ab of the unordered pair, in double, by definition. This and the functions below throw
  // InvalidInput where a kernel is not normalised yet.
  double PairWeight(std::size_t a, std::size_t b) const;

  // By definition, over all pairs: O(N^2 kernels). For bounds that scale, see
  // evaluate/evaluate.h.
  double Energy(std::span<const int> labeling) const;

  // "dense CRF, 110592 variables, 16 labels, metric potts, kernels position 1.64 (weight 12.99) +
  // ..., ordered pairs"
  std::string Description() const { return Description({}); }
  // As if kernels had been normalised by the row sums of operators, whose descriptions these are; of a part of a model of so
  // many variables (0: the model's own), that model's.
  std::string Description(std::span<const std::string> scale_sources,
                          std::size_t variables = 0) const;

 private:
  Matrix<float> unary_;
  std::vector<GaussianKernel> kernels_;
  LabelSpace labels_;
  PairCounting counting_;
  double constant_;
};

// The kernels of the model with the factors c w^(m) that make their sum w_ab.
std::vector<WeightedKernel> PairWeights(const DenseCrf& model);

// The same distribution with every pair as an edge, for exact inference on small models. The edges
// have the weights of PairWeight.
SparseCrf ToSparseCrf(const DenseCrf& model);

// For every labeling, the energies with the weights of PairWeight and with the exact weights differ
// by at most this; so does T log Z_T at every temperature. Covers the rounding of weights, features
// and scale factors, but not of sums over them. O(N^2 kernels).
double EnergyError(const DenseCrf& model);

}  // namespace submarine
