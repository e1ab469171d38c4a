#include "submarine/model/clique.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include "submarine/base/error.h"

namespace submarine {
namespace {

constexpr double kMostTableEntries = 1 << 24;
// A thousandth of what models of pairs may have in sum, so that pairs with these energies added to theirs are models, too.
constexpr double kLargestEnergy = 1e297;
constexpr double kLargestEnergyOfDense = 1e27;

double TotalWeight(const Clique& clique) {
  double total = 0.0;
  for (std::size_t k = 0; k < clique.members.size(); ++k) total += clique.weight(k);
  return total;
}

void CheckNumbers(std::size_t index, const Clique& clique) {
  if (!std::isfinite(clique.gamma) || clique.gamma < 0.0) {
    throw InvalidInput(fmt::format("the gamma of clique {} is {}, expected a finite number >= 0",
                                   index, clique.gamma));
  }
  if (!clique.weights.empty() && clique.weights.size() != clique.members.size()) {
    throw InvalidInput(fmt::format("clique {} has {} weights for {} variables", index,
                                   clique.weights.size(), clique.members.size()));
  }
  for (std::size_t k = 0; k < clique.weights.size(); ++k) {
    if (!std::isfinite(clique.weights[k]) || clique.weights[k] <= 0.0) {
      throw InvalidInput(
          fmt::format("the weight of variable {} in clique {} is {}, expected a finite number > 0",
                      clique.members[k], index, clique.weights[k]));
    }
  }
  const double total = TotalWeight(clique);
  if (!(clique.truncation > 0.0) || !(clique.truncation <= 0.5 * total)) {
    throw InvalidInput(
        fmt::format("the truncation Q of clique {} is {}, expected a number above 0 and at most "
                    "{:g}, half the sum of its weights",
                    index, clique.truncation, 0.5 * total));
  }
}

void CheckTotal(double total, double largest) {
  if (total <= largest) return;
  throw InvalidInput(fmt::format(
      "the energies of the cliques are too large to add up: {:g}, expected at most {:g}", total,
      largest));
}

double TotalEnergy(std::span<const Clique> cliques) {
  double total = 0.0;
  for (const Clique& clique : cliques) total += clique.theta() * TotalWeight(clique);
  return total;
}

}  // namespace

double Clique::Energy(std::span<const int> labeling, std::size_t num_labels) const {
  std::vector<double> agreeing(num_labels, 0.0);
  double total = 0.0;
  for (std::size_t k = 0; k < members.size(); ++k) {
    agreeing[static_cast<std::size_t>(labeling[static_cast<std::size_t>(members[k])])] += weight(k);
    total += weight(k);
  }
  const double most = *std::max_element(agreeing.begin(), agreeing.end());
  return std::min(gamma, theta() * (total - most));
}

void CheckCliques(std::span<const Clique> cliques, std::size_t num_variables) {
  std::vector<std::size_t> seen(num_variables, 0);  // 1 + the last clique that named the variable
  for (std::size_t c = 0; c < cliques.size(); ++c) {
    if (cliques[c].members.empty())
      throw InvalidInput(fmt::format("clique {} has no variables, expected at least 1", c));
    for (const int a : cliques[c].members) {
      if (a < 0 || static_cast<std::size_t>(a) >= num_variables) {
        throw InvalidInput(fmt::format("clique {} names variable {}, but the variables are 0..{}",
                                       c, a, num_variables - 1));
      }
      std::size_t& last = seen[static_cast<std::size_t>(a)];
      if (last == c + 1) throw InvalidInput(fmt::format("clique {} names variable {} twice", c, a));
      last = c + 1;
    }
    CheckNumbers(c, cliques[c]);
  }
  CheckTotal(TotalEnergy(cliques), kLargestEnergy);
}

template <class Pairs>
CliqueCrf<Pairs>::CliqueCrf(Pairs pairs, std::vector<Clique> cliques)
    : pairs_(std::move(pairs)), cliques_(std::move(cliques)) {
  CheckCliques(cliques_, pairs_.num_variables());
  if (std::is_same_v<Pairs, DenseCrf>) CheckTotal(TotalEnergy(cliques_), kLargestEnergyOfDense);
  for (Clique& clique : cliques_) {
    const double least = clique.weights.empty()
                             ? 1.0
                             : *std::min_element(clique.weights.begin(), clique.weights.end());
    clique.truncation = std::max(clique.truncation, std::min(least, 0.5 * TotalWeight(clique)));
  }
}

template <class Pairs>
double CliqueCrf<Pairs>::Energy(std::span<const int> labeling) const {
  double energy = pairs_.Energy(labeling);
  for (const Clique& clique : cliques_)
    energy += clique.Energy(labeling, static_cast<std::size_t>(num_labels()));
  return energy;
}

template <class Pairs>
std::string CliqueCrf<Pairs>::Described(std::string pairs) const {
  std::size_t most = 0;
  for (const Clique& clique : cliques_) most = std::max(most, clique.members.size());
  return fmt::format("{}, {} clique{} of up to {} variables", pairs, cliques_.size(),
                     cliques_.size() == 1 ? "" : "s", most);
}

template class CliqueCrf<SparseCrf>;
template class CliqueCrf<DenseCrf>;

double CliqueTableEntries(std::span<const Clique> cliques, int num_labels) {
  double entries = 0.0;
  for (const Clique& clique : cliques)
    entries +=
        std::pow(static_cast<double>(num_labels), static_cast<double>(clique.members.size()));
  return entries;
}

FactorGraph ToFactorGraph(const CliqueCrf<SparseCrf>& model, double* error) {
  FactorGraph graph = ToFactorGraph(model.pairs());
  const int labels = model.num_labels();
  std::vector<int> labeling(model.num_variables(), 0);
  *error = 0.0;
  for (std::size_t c = 0; c < model.cliques().size(); ++c) {
    const Clique& clique = model.cliques()[c];
    const double entries = CliqueTableEntries({&clique, 1}, labels);
    if (entries > kMostTableEntries) {
      throw TooLarge(fmt::format(
          "exact inference needs a table of {:.3g} entries for clique {} of {} variables, more "
          "than the limit of {:.3g}",
          entries, c, clique.members.size(), kMostTableEntries));
    }
    Factor factor{clique.members, {}};
    for (const int a : clique.members) labeling[static_cast<std::size_t>(a)] = 0;
    for (std::size_t e = 0; e < static_cast<std::size_t>(entries); ++e) {
      factor.energy.push_back(clique.Energy(labeling, static_cast<std::size_t>(labels)));
      for (std::size_t k = clique.members.size(); k-- > 0;) {  // the last one varies fastest
        int& label = labeling[static_cast<std::size_t>(clique.members[k])];
        if (++label < labels) break;
        label = 0;
      }
    }
    graph.factors.push_back(std::move(factor));
    // Sums of weights have a rounding per member, of their total, which theta makes an energy.
    const auto members = static_cast<double>(clique.members.size());
    *error += std::numeric_limits<double>::epsilon() * (members + 8.0) *
              (clique.gamma + clique.theta() * TotalWeight(clique));
  }
  return graph;
}

}  // namespace submarine
