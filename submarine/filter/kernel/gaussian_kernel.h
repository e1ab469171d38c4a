// One Gaussian kernel over N variables, as data: k_ab = r_a r_b exp(-|f_a - f_b|^2 / 2).
//
// The exact f and r are real numbers: data divided by their sigmas, and 1 / sqrt(sum_b k_ab) where
// the kernel is normalised. Stored are doubles close to them, with bounds on the difference, so
// that certificates can be about the exact numbers.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "submarine/base/matrix.h"

namespace submarine {

// How the rows of a kernel are normalised before use, n_a = sum_b k_ab.
enum class KernelNormalisation {
  kNone,
  kSymmetric,  // k_ab / sqrt(n_a n_b), the only one that leaves a symmetric kernel
  kBefore,     // k_ab / n_b: applied to the input of the filter
  kAfter,      // k_ab / n_a: applied to the result
};

struct GaussianKernel {
  std::string name;         // for people and certificates: "position 3", "bilateral 80/13"
  Matrix<double> features;  // N x D, minus a constant per column, divided by the sigmas
  double weight = 1.0;      // w^(m) >= 0 of the model (docs/conventions.md, "Pair counting")
  // r_a >= 0, empty for all ones. Also empty for a kernel that is marked for normalisation and not
  // normalised yet, as Solve does it; until then its model cannot be used.
  std::vector<double> scale = {};
  KernelNormalisation normalisation = KernelNormalisation::kNone;
  // The exact products r_a r_b are between 1 - scale_error and 1 + scale_error times the stored
  // ones.
  double scale_error = 0.0;
  // The operator whose row sums define the scale ("a lattice of 236 vertices"); empty if the scale
  // comes from the kernel's own row sums.
  std::string scale_source = {};
  // Every exact feature, up to a constant per column, is at most this far from the stored one.
  double feature_error = 0.0;

  std::size_t size() const { return features.rows(); }
  std::size_t dimension() const { return features.cols(); }
};

// A term of k_ab = sum_m factor_m k^(m)_ab.
struct WeightedKernel {
  const GaussianKernel* kernel;
  double factor;
};

inline constexpr std::size_t kMaxFeatureDimension = 16;

// |f_a - f_b|^2 in double, by definition.
double SquaredDistance(const GaussianKernel& kernel, std::size_t a, std::size_t b);

// r_a r_b exp(-|f_a - f_b|^2 / 2) in double, by definition; without the weight, and not zero for
// a = b.
double KernelValue(const GaussianKernel& kernel, std::size_t a, std::size_t b);

// The relative error of the kernel value at squared distance x that is due to the stored features
// is at most this times 1 + x. Rounding of the distance and of exp is not included.
double FeatureErrorOfValue(const GaussianKernel& kernel);

// The features in single precision, for filters that work in it.
Matrix<float> SinglePrecisionFeatures(const GaussianKernel& kernel);

// sum_m factor_m k^(m)_aa, the diagonal that models leave out.
std::vector<float> SelfTerms(std::span<const WeightedKernel> kernels);

// Throws InvalidInput, naming the kernel and the entry: no variables, dimension outside 1..16,
// features that are not finite in single precision, weight or scale that is negative or not finite,
// a scale of the wrong length, invalid error bounds.
void CheckKernel(const GaussianKernel& kernel);

// Throws InvalidInput for a kernel that is marked for normalisation and not normalised yet, or
// whose normalisation leaves no symmetric kernel, unless its weight is 0.
void CheckNormalised(const GaussianKernel& kernel);

}  // namespace submarine
