#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "submarine/base/freed_memory.h"
#include "submarine/base/simd/wide_registers.h"
#include "submarine/bound/verify/dense/dense_verifier_internal.h"
#include "submarine/bound/verify/dense/routed/path_sums_internal.h"

namespace submarine::internal {
namespace {

using dense_verifier::kUnderflow;

// Up to here, products of messages and exp(-W d / T) do not underflow, see SumProducts.
constexpr double kFarthestLabels = 600.0;

// exp(-W d / T) of all pairs of labels.
void SetDecay(const PathEnergies& path, double weight, Matrix<double>* decay) {
  double last = -1.0;
  double value = 0.0;
  for (std::size_t n = 0; n < decay->size(); ++n) {
    const double d = path.distance.data()[n];
    if (d != last) value = std::exp(-weight * d / path.temperature);
    last = d;
    decay->data()[n] = value;
  }
}

// sum_y exp((m_y - m) / T) exp(-W d(i, y) / T), m the largest m_y, which is returned; m_y stand `stride` apart. No sum is
// below exp(-W d / T), which is far above the contribution of a message that underflows; the logarithm is off by some
// ulps of the largest exponent.
SUBMARINE_FOR_WIDE_REGISTERS double SumProducts(const double* message, std::size_t stride,
                                                const Matrix<double>& decay, double temperature,
                                                double* __restrict sums) {
  const std::size_t labels = decay.cols();
  double largest = message[0];
  for (std::size_t y = 1; y < labels; ++y) largest = std::max(largest, message[y * stride]);
  for (std::size_t i = 0; i < labels; ++i) sums[i] = 0.0;
  for (std::size_t y = 0; y < labels; ++y) {
    const double mass = std::exp((message[y * stride] - largest) / temperature);
    const double* row = decay.data() + y * labels;
    for (std::size_t i = 0; i < labels; ++i) sums[i] += mass * row[i];
  }
  return largest;
}

// The states before one position of a path, of which the oldest label is dropped where there are `bandwidth`.
struct StatesBefore {
  std::size_t labels;
  std::size_t known;  // labels that a state has
  std::size_t count;  // labels^known
  std::size_t kept;   // different ones once the oldest label is dropped

  StatesBefore(const PathEnergies& path, std::size_t begin, std::size_t p)
      : labels(path.labels()), known(std::min(p - begin, path.bandwidth())), count(1) {
    for (std::size_t m = 0; m < known; ++m) count *= labels;
    kept = known == path.bandwidth() ? count / labels : count;
  }
  // With this label at the position.
  std::size_t Next(std::size_t state, std::size_t label) const {
    return state % kept * labels + label;
  }
};

// The probabilities of the labels at p given the state before, by what follows (`later`, by state; empty at the end),
// and T times the logarithm of their sum before normalising.
double SetConditional(const PathEnergies& path, const StatesBefore& states, std::size_t p,
                      std::size_t state, const std::vector<double>& later,
                      std::vector<double>* probability) {
  for (std::size_t i = 0; i < states.labels; ++i) {
    double value = -path.costs(p, i);
    std::size_t older = state;
    for (std::size_t m = 1; m <= states.known; ++m, older /= states.labels)
      value -= path.edge(p - m, m - 1) * path.distance(i, older % states.labels);
    if (!later.empty()) value += later[states.Next(state, i)];
    (*probability)[i] = value;
  }
  const double largest = *std::max_element(probability->begin(), probability->end());
  double sum = 0.0;
  for (double& value : *probability) {
    value = std::exp((value - largest) / path.temperature);
    sum += value;
  }
  for (double& value : *probability) value /= sum;
  return largest + path.temperature * std::log(sum);
}

}  // namespace

// By messages in the log domain. If every entry of a message is off by at most e, the next message is off by at most
// e plus its own rounding.
void AddPathLogZ(const PathEnergies& path, std::size_t begin, std::size_t end,
                 const std::vector<double>& magnitude_of_costs, double roundings, SafeSum* bound) {
  const auto& [costs, edge, distance, T] = path;
  const std::size_t labels = path.labels();
  const std::size_t bandwidth = path.bandwidth();
  const double own_roundings = static_cast<double>(64 + labels + 4 * bandwidth) + roundings;
  std::vector<double> message = {0.0};  // per state; at first only the empty state
  std::vector<double> next;
  std::vector<double> term(labels);
  std::vector<double> sum_before(labels);
  Matrix<double> decay(labels, labels);
  const double diameter = *std::max_element(distance.data(), distance.data() + distance.size());
  std::size_t known = 0;  // number of labels in a state
  for (std::size_t p = begin; p < end; ++p) {
    const std::size_t before = message.size();
    const bool drops = known == bandwidth;
    const std::size_t kept = drops ? before / labels : before;
    next.assign(kept * labels, 0.0);
    double magnitude = 0.0;
    const double last_edge = drops ? edge(p - bandwidth, bandwidth - 1) : 0.0;
    // Products replace one exponential for every pair of labels.
    const bool by_products = drops && T > 0.0 && last_edge * diameter <= kFarthestLabels * T;
    if (by_products) {
      SetDecay(path, last_edge, &decay);
      magnitude = last_edge * diameter - *std::min_element(message.begin(), message.end());
    }
    for (std::size_t s = 0; s < kept; ++s) {
      double largest_before = 0.0;
      if (by_products)
        largest_before = SumProducts(message.data() + s, kept, decay, T, sum_before.data());
      for (std::size_t i = 0; i < labels; ++i) {
        double energy = costs(p, i);
        double size = std::abs(costs(p, i));
        std::size_t older = s;
        for (std::size_t m = 1; m <= (drops ? known - 1 : known); ++m) {
          energy += edge(p - m, m - 1) * distance(i, older % labels);
          size += edge(p - m, m - 1) * distance(i, older % labels);
          older /= labels;
        }
        double value = message[s];
        if (by_products) {
          value = largest_before + T * std::log(sum_before[i]);
        } else if (drops) {
          for (std::size_t y = 0; y < labels; ++y)
            term[y] = message[s + y * kept] - last_edge * distance(i, y);
          const double largest = *std::max_element(term.begin(), term.end());
          value = largest;
          if (T > 0.0) {
            double sum = 0.0;
            for (const double t : term) sum += std::exp((t - largest) / T);
            value += T * std::log(sum);
          }
        }
        magnitude = std::max(magnitude, size + std::abs(value) + T);
        next[s * labels + i] = value - energy;
      }
    }
    if (!drops) ++known;
    const double shift = *std::max_element(next.begin(), next.end());
    for (double& value : next) {
      value -= shift;
      magnitude = std::max(magnitude, std::abs(value));
    }
    bound->Add(shift, magnitude + magnitude_of_costs[p], own_roundings);
    std::swap(message, next);
  }
  const double largest = *std::max_element(message.begin(), message.end());
  double value = largest;
  if (T > 0.0) {
    double sum = 0.0;
    for (const double m : message) sum += std::exp((m - largest) / T);
    value += T * std::log(sum);
  }
  bound->Add(value, T * static_cast<double>(1 + message.size()) + std::abs(largest), own_roundings);
  bound->Widen(kUnderflow * static_cast<double>(end - begin));
}

void SetPathDistribution(const PathEnergies& path, std::size_t begin, std::size_t end,
                         PathDistribution* distribution, SafeSum* entropy) {
  const std::size_t labels = path.labels();
  std::vector<double> probability(labels);
  // later[p - begin]: what all positions from p on sum to, by the states before p.
  std::vector<std::vector<double>> later(end - begin + 1);
  for (std::size_t p = end; p-- > begin + 1;) {
    const StatesBefore states(path, begin, p);
    std::vector<double>& own = later[p - begin];
    own.resize(states.count);
    for (std::size_t s = 0; s < states.count; ++s)
      own[s] = SetConditional(path, states, p, s, later[p + 1 - begin], &probability);
    const double shift = *std::max_element(own.begin(), own.end());
    for (double& value : own) value -= shift;
  }
  // Each step multiplies by a probability, which is a quotient by a sum, and sums over the label that is dropped.
  const double step_roundings = 2.0 * static_cast<double>(labels) + 4.0;
  double roundings = 0.0;
  std::vector<double> mass = {1.0};  // of the states before p
  for (std::size_t p = begin; p < end; ++p) {
    const StatesBefore states(path, begin, p);
    roundings += step_roundings;
    distribution->roundings[p] = roundings + static_cast<double>(states.count * labels);
    std::vector<double> next(states.kept * labels, 0.0);
    for (std::size_t s = 0; s < states.count; ++s) {
      SetConditional(path, states, p, s, later[p + 1 - begin], &probability);
      double sum = 0.0;        // of -q log q
      double magnitude = 0.0;  // of its terms, and of what errors of q change in them
      for (std::size_t i = 0; i < labels; ++i) {
        const double q = probability[i];
        const double both = mass[s] * q;
        next[states.Next(s, i)] += both;
        distribution->y(p, i) += both;
        std::size_t older = s;
        for (std::size_t m = 1; m <= states.known; ++m, older /= labels)
          distribution->expected(p - m, m - 1) += both * path.distance(i, older % labels);
        if (q > 0.0) sum -= q * std::log(q);
        if (q > 0.0) magnitude += q * (1.0 - std::log(q));
      }
      entropy->Add(path.temperature * mass[s] * sum, path.temperature * mass[s] * magnitude,
                   roundings + 2.0 * static_cast<double>(labels));
    }
    std::swap(mass, next);
    Free(&later[p - begin]);
  }
  // What vanishing probabilities lose, in the entropy and beside any cost of single precision.
  entropy->Widen(kUnderflow * std::numeric_limits<float>::max() *
                 static_cast<double>((end - begin) * mass.size() * labels));
}

}  // namespace submarine::internal
