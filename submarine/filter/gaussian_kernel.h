// One Gaussian kernel over N variables, as data: k_ab = r_a r_b exp(-|f_a - f_b|^2 / 2).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "submarine/base/matrix.h"

namespace submarine {

struct GaussianKernel {
  std::string name;        // for people and certificates: "position 3", "bilateral 80/13"
  Matrix<float> features;  // N x D, each already divided by its sigma
  double weight = 1.0;     // w^(m) >= 0 of the model (docs/conventions.md, "Pair counting")
  // r_a > 0, empty for all ones. Symmetric normalisation is the choice r_a = 1 / sqrt(sum_b k_ab).
  std::vector<float> scale = {};

  std::size_t size() const { return features.rows(); }
  std::size_t dimension() const { return features.cols(); }
};

// How the rows of a kernel are brought to comparable sums before it is used, n_a = sum_b k_ab.
enum class KernelNormalisation {
  kNone,
  kSymmetric,  // k_ab / sqrt(n_a n_b), the only one that leaves a symmetric kernel
  kBefore,     // k_ab / n_b: applied to what is filtered
  kAfter,      // k_ab / n_a: applied to the result
};

// A term of k_ab = sum_m factor_m k^(m)_ab.
struct WeightedKernel {
  const GaussianKernel* kernel;
  double factor;
};

inline constexpr std::size_t kMaxFeatureDimension = 16;

// r_a r_b exp(-|f_a - f_b|^2 / 2) in double, by definition; without the weight, and not zero for
// a = b.
double KernelValue(const GaussianKernel& kernel, std::size_t a, std::size_t b);

// sum_m factor_m k^(m)_aa, the diagonal that models leave out.
std::vector<float> SelfTerms(std::span<const WeightedKernel> kernels);

// Throws InvalidInput, naming the kernel and the entry: no variables, dimension outside 1..16,
// features that are not finite, weight or scale that is negative or not finite, a scale of the wrong
// length.
void CheckKernel(const GaussianKernel& kernel);

}  // namespace submarine
