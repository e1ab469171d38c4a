// Random small models for tests: every kind of label cut, any sign of unaries, weights up
// to 10.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "submarine/labels/label_cuts.h"
#include "submarine/labels/label_tree.h"
#include "submarine/model/clique.h"
#include "submarine/model/dense_crf.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::internal::testing {

class RandomModels {
 public:
  explicit RandomModels(std::uint64_t seed) : rng_(seed) {}

  int Integer(int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng_); }
  double Real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(rng_);
  }

  // A random hierarchy over the labels 0..num_labels-1, not necessarily an r-HST.
  LabelTree Tree(int num_labels) {
    std::vector<int> labels(static_cast<std::size_t>(num_labels));
    for (int i = 0; i < num_labels; ++i) labels[static_cast<std::size_t>(i)] = i;
    std::shuffle(labels.begin(), labels.end(), rng_);
    std::vector<TreeNode> nodes{TreeNode{}};
    Grow(0, labels, &nodes);
    return LabelTree(nodes);
  }

  LabelSpace Labels(int num_labels) {
    switch (Integer(0, 3)) {
      case 0:
        return PottsLabels(num_labels);
      case 1:
        return Tree(num_labels).ToLabels();
      case 2:
        return LinearLabels(num_labels);
      default:
        return TruncatedLinearLabels(num_labels, Integer(1, num_labels));
    }
  }

  SparseCrf Model(int variables, LabelSpace labels, double low, double high) {
    Matrix<double> unary(static_cast<std::size_t>(variables),
                         static_cast<std::size_t>(labels.num_labels()));
    for (std::size_t k = 0; k < unary.size(); ++k) unary.data()[k] = Real(low, high);
    const double density = Real(0.2, 1.0);
    const double largest = Integer(0, 4) == 0 ? 10.0 : Real(0.0, 10.0);
    std::vector<Edge> edges;
    for (int a = 0; a < variables; ++a) {
      for (int b = a + 1; b < variables; ++b) {
        if (Real(0.0, 1.0) > density) continue;
        const double weight = Integer(0, 9) == 0 ? 0.0 : Real(0.0, largest);
        edges.push_back(Integer(0, 1) == 0 ? Edge{a, b, weight} : Edge{b, a, weight});
      }
    }
    return {std::move(unary), std::move(edges), std::move(labels),
            Integer(0, 3) == 0 ? Real(-5.0, 5.0) : 0.0};
  }

  SparseCrf Model(int variables, int labels) {
    return Model(variables, Labels(labels), Real(-10.0, 0.0), Real(0.0, 10.0));
  }

  // Kernels from far narrower to far wider than the spacing of the points, some of which are
  // repeated.
  GaussianKernel Kernel(int variables) {
    const auto rows = static_cast<std::size_t>(variables);
    const auto dimension = static_cast<std::size_t>(Integer(1, 6));
    GaussianKernel kernel{"random", Matrix<double>(rows, dimension),
                          Integer(0, 4) == 0 ? 0.0 : Real(0.0, 5.0)};
    const double spread = std::pow(10.0, Real(-2.0, 2.0));
    for (std::size_t a = 0; a < rows; ++a) {
      const bool repeated = a > 0 && Integer(0, 9) == 0;
      const auto same = static_cast<std::size_t>(Integer(0, std::max(0, static_cast<int>(a) - 1)));
      for (std::size_t d = 0; d < dimension; ++d) {
        kernel.features(a, d) =
            repeated ? kernel.features(same, d) : static_cast<float>(Real(-spread, spread));
      }
    }
    if (Integer(0, 2) == 0) {
      for (std::size_t a = 0; a < rows; ++a) {
        kernel.scale.push_back(Integer(0, 9) == 0 ? 0.0F : static_cast<float>(Real(0.1, 1.5)));
      }
    }
    return kernel;
  }

  DenseCrf Dense(int variables, LabelSpace labels) {
    Matrix<float> unary(static_cast<std::size_t>(variables),
                        static_cast<std::size_t>(labels.num_labels()));
    const double low = Real(-10.0, 0.0);
    const double high = Real(0.0, 10.0);
    for (std::size_t k = 0; k < unary.size(); ++k) {
      unary.data()[k] = static_cast<float>(Real(low, high));
    }
    std::vector<GaussianKernel> kernels;
    for (int count = Integer(1, 2); count > 0; --count) kernels.push_back(Kernel(variables));
    const PairCounting counting = Integer(0, 1) == 0 ? PairCounting::kOrdered : PairCounting::kOnce;
    return {std::move(unary), std::move(kernels), std::move(labels), counting,
            Integer(0, 3) == 0 ? Real(-5.0, 5.0) : 0.0};
  }

  // One to four cliques that may overlap, some of weights that differ, some P^n Potts, some that cost nothing.
  std::vector<Clique> Cliques(int variables) {
    std::vector<Clique> cliques(static_cast<std::size_t>(Integer(1, 4)));
    for (Clique& clique : cliques) {
      std::vector<int> all(static_cast<std::size_t>(variables));
      for (int a = 0; a < variables; ++a) all[static_cast<std::size_t>(a)] = a;
      std::shuffle(all.begin(), all.end(), rng_);
      clique.members.assign(all.begin(), all.begin() + Integer(1, variables));
      double total = static_cast<double>(clique.members.size());
      if (Integer(0, 1) == 0) {
        total = 0.0;
        for (std::size_t k = 0; k < clique.members.size(); ++k)
          total += clique.weights.emplace_back(Real(0.1, 3.0));
      }
      clique.truncation = total * (Integer(0, 3) == 0 ? 0.01 : Real(0.05, 0.5));
      clique.gamma = Integer(0, 9) == 0 ? 0.0 : Real(0.0, 10.0);
    }
    return cliques;
  }

  Matrix<double> Points(std::size_t rows, std::size_t cols, double low, double high) {
    Matrix<double> points(rows, cols);
    for (std::size_t k = 0; k < points.size(); ++k) points.data()[k] = Real(low, high);
    return points;
  }

 private:
  void Grow(int node, const std::vector<int>& labels, std::vector<TreeNode>* nodes) {
    if (labels.size() == 1) {
      (*nodes)[static_cast<std::size_t>(node)].label = labels.front();
      return;
    }
    const int parts = Integer(2, static_cast<int>(labels.size()));
    std::vector<std::vector<int>> children(static_cast<std::size_t>(parts));
    for (std::size_t k = 0; k < labels.size(); ++k) {
      const std::size_t child =
          k < children.size() ? k : static_cast<std::size_t>(Integer(0, parts - 1));
      children[child].push_back(labels[k]);
    }
    for (const std::vector<int>& child : children) {
      nodes->push_back({node, Real(0.1, 2.0), -1});
      Grow(static_cast<int>(nodes->size()) - 1, child, nodes);
    }
  }

  std::mt19937_64 rng_;
};

// Steps through all labelings of a small model, like an odometer.
inline bool NextLabeling(std::vector<int>* labeling, int num_labels) {
  for (int& label : *labeling) {
    if (++label < num_labels) return true;
    label = 0;
  }
  return false;
}

}  // namespace submarine::internal::testing
