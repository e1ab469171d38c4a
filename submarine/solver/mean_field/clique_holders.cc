#include "submarine/solver/mean_field/clique_holders.h"

#include <algorithm>

#include "submarine/base/parallel.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kCliqueGrain = 64;

}  // namespace

template <class Real>
std::vector<int> HoldersAt(std::span<const Clique> cliques, const Matrix<Real>& marginals) {
  std::vector<int> holders(cliques.size(), -1);
  ParallelFor(cliques.size(), kCliqueGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<double> mass(marginals.cols());
    for (std::size_t c = begin; c < end; ++c) {
      const Clique& clique = cliques[c];
      std::fill(mass.begin(), mass.end(), 0.0);
      double total = 0.0;
      for (std::size_t k = 0; k < clique.members.size(); ++k) {
        const auto row = marginals.row(static_cast<std::size_t>(clique.members[k]));
        const double u = clique.weight(k);
        total += u;
        for (std::size_t i = 0; i < mass.size(); ++i) mass[i] += u * row[i];
      }
      const auto most = std::max_element(mass.begin(), mass.end());
      if (total - *most < clique.truncation) holders[c] = static_cast<int>(most - mass.begin());
    }
  });
  return holders;
}
template std::vector<int> HoldersAt<float>(std::span<const Clique>, const Matrix<float>&);
template std::vector<int> HoldersAt<double>(std::span<const Clique>, const Matrix<double>&);

std::vector<int> HoldersOf(std::span<const Clique> cliques, std::span<const int> labels,
                           std::size_t num_labels) {
  std::vector<int> holders(cliques.size(), -1);
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
    if (total - *most < clique.truncation) holders[c] = static_cast<int>(most - mass.begin());
  }
  return holders;
}

// Every entry that holders have changed is that of phi again first, so that no rounding adds up.
void HeldUnaries::Update(const Matrix<float>& marginals) {
  const std::vector<int> now = HoldersAt(cliques_, marginals);
  for (std::size_t c = 0; c < cliques_.size(); ++c) {
    if (holders_[c] < 0) continue;
    const auto label = static_cast<std::size_t>(holders_[c]);
    for (const int member : cliques_[c].members) {
      const auto a = static_cast<std::size_t>(member);
      unary_(a, label) = phi_(a, label);
    }
  }
  for (std::size_t c = 0; c < cliques_.size(); ++c) {
    if (now[c] < 0) continue;
    const auto label = static_cast<std::size_t>(now[c]);
    const double theta = cliques_[c].theta();
    for (std::size_t k = 0; k < cliques_[c].members.size(); ++k) {
      const auto a = static_cast<std::size_t>(cliques_[c].members[k]);
      unary_(a, label) -= static_cast<float>(theta * cliques_[c].weight(k));
    }
  }
  holders_ = now;
}

}  // namespace submarine::internal
