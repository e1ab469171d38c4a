// An operator's model pair by pair, and random evidence about it, for tests on few variables.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "submarine/filter/lattice/lattice_reference.h"
#include "submarine/filter/operator_choice.h"
#include "submarine/model/dense_crf.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::internal::testing {

// w^(m)_ab of every kernel as operator_verifier.h defines it.
inline std::vector<Matrix<double>> OperatorWeights(const DenseCrf& model,
                                                   std::span<const OperatorKind> kinds,
                                                   const OperatorOptions& options) {
  const std::size_t n = model.num_variables();
  std::vector<Matrix<double>> weights;
  for (std::size_t m = 0; m < kinds.size(); ++m) {
    const GaussianKernel& kernel = model.kernels()[m];
    Matrix<double> k(n, n);
    if (kinds[m] == OperatorKind::kLattice) {
      k = LatticeReference(kernel, options.lattice).DenseK();
    } else {
      GaussianKernel unscaled = kernel;
      unscaled.scale.clear();
      for (std::size_t a = 0; a < n; ++a) {
        for (std::size_t b = 0; b < n; ++b) {
          const bool near = KernelValue(unscaled, a, b) >= options.cutoff;
          const bool kept = kinds[m] == OperatorKind::kBruteForce || near;
          k(a, b) = kept ? KernelValue(kernel, a, b) : 0.0;
        }
      }
    }
    for (std::size_t a = 0; a < n; ++a) {
      for (double& value : k.row(a)) value *= model.pair_factor() * kernel.weight;
      k(a, a) = 0.0;
    }
    weights.push_back(std::move(k));
  }
  return weights;
}

// Every pair is an edge, a < b.
inline SparseCrf OperatorModel(const DenseCrf& model, const std::vector<Matrix<double>>& weights) {
  const std::size_t n = model.num_variables();
  Matrix<double> unary(n, static_cast<std::size_t>(model.num_labels()));
  std::copy(model.unary().data(), model.unary().data() + model.unary().size(), unary.data());
  std::vector<Edge> edges;
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b) {
      double weight = 0.0;
      for (const Matrix<double>& k : weights) weight += k(a, b);
      edges.push_back({static_cast<int>(a), static_cast<int>(b), weight});
    }
  }
  return {std::move(unary), std::move(edges), model.labels(), model.constant()};
}

// Potentials of any scale, with ties.
inline Matrix<float> RandomPotential(const DenseCrf& model, RandomModels* random) {
  Matrix<float> v(model.num_variables(), static_cast<std::size_t>(model.num_cuts()));
  const double spread = std::pow(10.0, random->Real(-3.0, 3.0));
  for (std::size_t k = 0; k < v.size(); ++k) {
    v.data()[k] =
        random->Integer(0, 4) == 0 ? 0.0F : static_cast<float>(random->Real(-spread, spread));
  }
  return v;
}

// Rows that need not sum to 1; one in four puts all mass on one label.
inline Matrix<float> RandomMarginals(const DenseCrf& model, RandomModels* random) {
  Matrix<float> y(model.num_variables(), static_cast<std::size_t>(model.num_labels()));
  const bool certain = random->Integer(0, 3) == 0;
  for (std::size_t a = 0; a < y.rows(); ++a) {
    for (float& p : y.row(a)) p = certain ? 0.0F : static_cast<float>(random->Real(0.0, 1.0));
    y(a, static_cast<std::size_t>(random->Integer(0, model.num_labels() - 1))) += 0.5F;
  }
  return y;
}

inline Matrix<double> InDouble(const Matrix<float>& x) {
  Matrix<double> result(x.rows(), x.cols());
  std::copy(x.data(), x.data() + x.size(), result.data());
  return result;
}

}  // namespace submarine::internal::testing
