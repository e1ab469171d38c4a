#include "submarine/solver/forest/forest_inference.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/parallel.h"
#include "submarine/solver/forest/trw_kernels.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kComponentGrain = 8;

void Resize(std::size_t rows, std::size_t cols, Matrix<double>* matrix) {
  if (matrix->rows() != rows || matrix->cols() != cols) *matrix = Matrix<double>(rows, cols);
}

}  // namespace

ForestInference::ForestInference(const std::vector<std::size_t>& labels,
                                 std::span<const Link> links, std::span<const std::size_t> edges)
    : labels_(labels), forest_(Rooted(edges, links, static_cast<int>(labels.size()))) {}

// Messages are kept relative to their largest entry; the factors taken out multiply to Z.
double ForestInference::Upward(const EdgeKernels& kernels, std::size_t begin, std::size_t end,
                               ForestWorkspace* workspace) const {
  double log_partition = 0.0;
  for (std::size_t k = end; k-- > begin;) {
    const RootedForest::Node& node = forest_.nodes[k];
    const auto a = static_cast<std::size_t>(node.variable);
    const double* below = workspace->below.row(a).data();
    double* message = workspace->upward.row(a).data();
    if (node.parent < 0) {
      const double largest = MaxRow(below, labels_[a]);
      log_partition += largest + std::log(ExpRow(below, largest, labels_[a], message));
      continue;
    }
    const auto p = static_cast<std::size_t>(node.parent);
    const PairKernel& kernel = kernels[node.edge];
    kernel.ApplyLog(!node.parent_is_a, below, message);
    const double shift = MaxRow(message, labels_[p]);
    double* above = workspace->below.row(p).data();
    for (std::size_t i = 0; i < labels_[p]; ++i) {
      message[i] -= shift;
      above[i] += message[i];
    }
    log_partition += shift + kernel.log_scale();
  }
  return log_partition;
}

void ForestInference::Downward(const EdgeKernels& kernels, std::size_t begin, std::size_t end,
                               ForestWorkspace* workspace, Matrix<double>* marginals) const {
  std::vector<double> cavity(workspace->total.cols());
  for (std::size_t k = begin; k < end; ++k) {
    const RootedForest::Node& node = forest_.nodes[k];
    const auto a = static_cast<std::size_t>(node.variable);
    const double* below = workspace->below.row(a).data();
    double* total = workspace->total.row(a).data();
    if (node.parent < 0) {
      std::copy(below, below + labels_[a], total);
    } else {
      const auto p = static_cast<std::size_t>(node.parent);
      const double* above = workspace->total.row(p).data();
      const double* sent = workspace->upward.row(a).data();
      for (std::size_t i = 0; i < labels_[p]; ++i) cavity[i] = above[i] - sent[i];
      kernels[node.edge].ApplyLog(node.parent_is_a, cavity.data(), total);
      for (std::size_t i = 0; i < labels_[a]; ++i) total[i] += below[i];
    }
    const double largest = MaxRow(total, labels_[a]);
    double* y = marginals->row(a).data();
    const double scale = 1.0 / ExpRow(total, largest, labels_[a], y);
    for (std::size_t i = 0; i < labels_[a]; ++i) {
      y[i] *= scale;
      total[i] -= largest;
    }
    std::fill(y + labels_[a], y + marginals->cols(), 0.0);
  }
}

double ForestInference::Run(const EdgeKernels& kernels, const Matrix<double>& theta,
                            ForestWorkspace* workspace, Matrix<double>* marginals) const {
  workspace->below = theta;
  Resize(theta.rows(), theta.cols(), &workspace->upward);
  if (marginals != nullptr) {
    Resize(theta.rows(), theta.cols(), &workspace->total);
    Resize(theta.rows(), theta.cols(), marginals);
  }
  const std::size_t components = forest_.component.size() - 1;
  return ParallelSum(components, kComponentGrain, [&](std::size_t first, std::size_t last) {
    double sum = 0.0;
    for (std::size_t c = first; c < last; ++c) {
      const std::size_t begin = forest_.component[c];
      const std::size_t end = forest_.component[c + 1];
      sum += Upward(kernels, begin, end, workspace);
      if (marginals != nullptr) Downward(kernels, begin, end, workspace, marginals);
    }
    return sum;
  });
}

// The joint of child i and parent j is proportional to exp(below_i + K_ij + cavity_j).
Matrix<double> ForestInference::Joint(const EdgeKernels& kernels, const ForestWorkspace& workspace,
                                      const RootedForest::Node& node) const {
  const auto child = static_cast<std::size_t>(node.variable);
  const auto parent = static_cast<std::size_t>(node.parent);
  const auto [a, b] = node.parent_is_a ? std::pair(parent, child) : std::pair(child, parent);
  const PairKernel& kernel = kernels[node.edge];
  Matrix<double> joint(labels_[a], labels_[b]);
  for (std::size_t i = 0; i < joint.rows(); ++i) {
    for (std::size_t j = 0; j < joint.cols(); ++j) {
      const auto [at_child, at_parent] = node.parent_is_a ? std::pair(j, i) : std::pair(i, j);
      joint(i, j) = workspace.below(child, at_child) + workspace.total(parent, at_parent) -
                    workspace.upward(child, at_parent) + kernel.LogEntry(i, j);
    }
  }
  const double sum =
      ExpRow(joint.data(), MaxRow(joint.data(), joint.size()), joint.size(), joint.data());
  for (std::size_t k = 0; k < joint.size(); ++k) joint.data()[k] /= sum;
  return joint;
}

double ForestInference::MutualInformation(const EdgeKernels& kernels,
                                          const ForestWorkspace& workspace,
                                          const RootedForest::Node& node) const {
  const Matrix<double> joint = Joint(kernels, workspace, node);
  std::vector<double> y_a(joint.rows(), 0.0);
  std::vector<double> y_b(joint.cols(), 0.0);
  const auto negative_entropy = [](double p_i) { return p_i > 0.0 ? p_i * std::log(p_i) : 0.0; };
  double information = 0.0;
  for (std::size_t i = 0; i < joint.rows(); ++i) {
    for (std::size_t j = 0; j < joint.cols(); ++j) {
      y_a[i] += joint(i, j);
      y_b[j] += joint(i, j);
      information += negative_entropy(joint(i, j));
    }
  }
  for (double y : y_a) information -= negative_entropy(y);
  for (double y : y_b) information -= negative_entropy(y);
  return std::max(0.0, information);
}

}  // namespace submarine::internal
