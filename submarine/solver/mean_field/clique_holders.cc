#include "submarine/solver/mean_field/clique_holders.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "submarine/base/parallel.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kCliqueGrain = 64;
constexpr double kLeastShare = 1e-9;

}  // namespace

template <class Real>
Matrix<double> HoldersAt(std::span<const Clique> cliques, const Matrix<Real>& marginals) {
  Matrix<double> holders(cliques.size(), marginals.cols());
  ParallelFor(cliques.size(), kCliqueGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<double> mean(marginals.cols());
    std::vector<double> variance(marginals.cols());
    for (std::size_t c = begin; c < end; ++c) {
      const Clique& clique = cliques[c];
      const std::size_t members = clique.members.size();
      std::fill(mean.begin(), mean.end(), 0.0);
      std::fill(variance.begin(), variance.end(), 0.0);
      double total = 0.0;
      for (std::size_t k = 0; k < members; ++k) {
        const auto row = marginals.row(static_cast<std::size_t>(clique.members[k]));
        const double u = clique.weight(k);
        total += u;
        for (std::size_t i = 0; i < mean.size(); ++i) {
          const auto p = static_cast<double>(row[i]);
          mean[i] += u * (1.0 - p);
          variance[i] += u * u * p * (1.0 - p);
        }
      }
      // A member's own change from 0 to u is what the derivative is about: the others', and half of its own.
      const auto count = static_cast<double>(members);
      const double others = (count - 1.0) / count;
      const double half = 0.5 * total / count;
      double sum = 0.0;
      for (std::size_t i = 0; i < mean.size(); ++i) {
        const double spread = std::sqrt(2.0 * others * std::max(0.0, variance[i]));
        const double excess = clique.truncation - half - others * mean[i];
        const double p = spread > 1e-9 * total ? 0.5 * std::erfc(-excess / spread)
                         : excess > 0.0        ? 1.0
                                               : 0.0;
        if (p > kLeastShare) sum += holders(c, i) = p;
      }
      for (std::size_t i = 0; sum > 1.0 && i < mean.size(); ++i) holders(c, i) /= sum;
    }
  });
  return holders;
}
template Matrix<double> HoldersAt<float>(std::span<const Clique>, const Matrix<float>&);
template Matrix<double> HoldersAt<double>(std::span<const Clique>, const Matrix<double>&);

Matrix<double> HoldersOf(std::span<const Clique> cliques, std::span<const int> labels,
                         std::size_t num_labels) {
  Matrix<double> holders(cliques.size(), num_labels);
  std::vector<double> mass(num_labels);
  for (std::size_t c = 0; c < cliques.size(); ++c) {
    const Clique& clique = cliques[c];
    std::fill(mass.begin(), mass.end(), 0.0);
    double total = 0.0;
    for (std::size_t k = 0; k < clique.members.size(); ++k) {
      const int label = labels[static_cast<std::size_t>(clique.members[k])];
      mass[static_cast<std::size_t>(label)] += clique.weight(k);
      total += clique.weight(k);
    }
    const auto most = std::max_element(mass.begin(), mass.end());
    if (total - *most < clique.truncation)
      holders(c, static_cast<std::size_t>(most - mass.begin())) = 1.0;
  }
  return holders;
}

void HeldUnaries::Update(const Matrix<float>& marginals) {
  const Matrix<double> holders = HoldersAt(cliques_, marginals);
  unary_ = phi_;  // so that no rounding adds up
  for (std::size_t c = 0; c < cliques_.size(); ++c) {
    const double theta = cliques_[c].theta();
    for (std::size_t i = 0; i < unary_.cols(); ++i) {
      const double held = theta * holders(c, i);
      if (held == 0.0) continue;
      for (std::size_t k = 0; k < cliques_[c].members.size(); ++k) {
        const auto a = static_cast<std::size_t>(cliques_[c].members[k]);
        unary_(a, i) -= static_cast<float>(held * cliques_[c].weight(k));
      }
    }
  }
}

}  // namespace submarine::internal
