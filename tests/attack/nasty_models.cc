#include "tests/attack/nasty_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "submarine/labels/label_cuts.h"
#include "submarine/model/image_features.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal::attack {
namespace {

using testing::NextLabeling;
using testing::RandomModels;

constexpr long double kEpsilon = std::numeric_limits<long double>::epsilon();

// Energies of labelings, summed with their magnitudes.
class Enumeration {
 public:
  explicit Enumeration(double temperature) : temperature_(temperature) {}

  void Add(long double energy, long double magnitude, std::size_t terms) {
    const long double off = 4.0L * kEpsilon * static_cast<long double>(terms + 4) * magnitude;
    error_ = std::max(error_, std::isfinite(magnitude) ? off : 0.0L);
    energies_.push_back(energy);
    least_ = std::min(least_, energy);
  }

  bool possible() const { return std::isfinite(least_); }
  Truth LeastEnergy() const { return {least_, error_}; }
  Truth Value() const {
    if (temperature_ == 0.0) return {-least_, error_};
    const long double T = temperature_;
    long double sum = 0.0L;
    for (const long double energy : energies_) sum += std::exp((least_ - energy) / T);
    const long double value = T * std::log(sum) - least_;
    const auto count = static_cast<long double>(energies_.size());
    // Each exponential is right to a few ulps and the argument's error is that of the energies.
    return {value, 2.0L * error_ + 16.0L * kEpsilon * (std::abs(value) + T * (count + 8.0L))};
  }

 private:
  double temperature_;
  std::vector<long double> energies_;
  long double least_ = std::numeric_limits<long double>::infinity();
  long double error_ = 0.0L;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Case Make() {
    options_.temperature =
        Pick<double>({1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.1, 0.5, 2.0, 10.0, 1e-3, 1e5});
    options_.limits.max_iterations = Pick<int>({0, 1, 3, 30, 100});
    options_.limits.gap = Pick<double>({0.0, 1e-6, 1e-3, 0.1});
    options_.sparse.seed = static_cast<std::uint64_t>(Integer(0, 1000));
    options_.sparse.rounding_draws = Integer(0, 4);
    options_.sparse.starts = Integer(1, 3);
    options_.harmonic_steps = Chance(0.3);
    switch (Integer(0, 4)) {
      case 0:
      case 1:
        return Sparse();
      case 2:
        return Tables();
      default:
        return Dense();
    }
  }

 private:
  int Integer(int low, int high) { return random_.Integer(low, high); }
  double Real(double low, double high) { return random_.Real(low, high); }
  bool Chance(double p) { return Real(0.0, 1.0) < p; }
  template <class T>
  T Pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(Integer(0, static_cast<int>(from.size()) - 1))];
  }

  // One kind of number for a whole model, or any kind for every number.
  enum class Numbers { kPlain, kSmall, kLarge, kCancelling, kWhole, kMixed };
  Numbers Kind() {
    return Pick<Numbers>({Numbers::kPlain, Numbers::kPlain, Numbers::kSmall, Numbers::kLarge,
                          Numbers::kCancelling, Numbers::kWhole, Numbers::kMixed});
  }
  double Number(Numbers kind) {
    switch (kind) {
      case Numbers::kPlain:
        return Real(-10.0, 10.0);
      case Numbers::kSmall:
        return Chance(0.3) ? 0.0 : Real(-1.0, 1.0) * std::pow(10.0, Real(-300.0, -5.0));
      case Numbers::kLarge:
        return Real(-1.0, 1.0) * std::pow(10.0, Real(3.0, 12.0));
      case Numbers::kCancelling:
        return (Chance(0.5) ? 1e15 : -1e15) + Real(-2.0, 2.0);
      case Numbers::kWhole:
        return Integer(-3, 3);
      case Numbers::kMixed:
        return Number(static_cast<Numbers>(Integer(0, 4)));
    }
    return 0.0;
  }
  double Weight(Numbers kind) { return Chance(0.15) ? 0.0 : std::abs(Number(kind)); }

  LabelSpace Labels(int count) { return random_.Labels(count); }

  Case Sparse() {
    const int labels = Integer(2, 4);
    const int variables = Integer(1, labels == 2 ? 9 : 5);
    const Numbers unaries = Kind();
    const Numbers weights = Kind();
    Matrix<double> unary(static_cast<std::size_t>(variables), static_cast<std::size_t>(labels));
    for (std::size_t k = 0; k < unary.size(); ++k) unary.data()[k] = Number(unaries);
    std::vector<Edge> edges;
    if (variables > 1) {
      // Some pairs twice, in either direction; some variables without any edge.
      for (int count = Integer(0, 2 * variables); count > 0; --count) {
        const int a = Integer(0, variables - 1);
        const int b = (a + Integer(1, variables - 1)) % variables;
        edges.push_back({a, b, Weight(weights)});
      }
    }
    SparseCrf model(std::move(unary), std::move(edges), Labels(labels),
                    Chance(0.3) ? Number(unaries) : 0.0);
    options_.method = Pick<Method>({Method::kAuto, Method::kPdhg, Method::kFrankWolfe, Method::kTrw,
                                    Method::kMeanField, Method::kExact});
    if (options_.method == Method::kMeanField && Chance(0.7))
      options_.sparse.mean_field = MeanFieldKind::kForest;
    if (options_.method == Method::kFrankWolfe)
      options_.sparse.extension = Chance(0.3) ? ExtensionKind::kAlternate : ExtensionKind::kOptimal;
    if (options_.method == Method::kTrw) options_.sparse.rho_steps = Integer(0, 2);

    Enumeration all(options_.temperature);
    std::vector<int> x(static_cast<std::size_t>(variables), 0);
    do {
      long double energy = model.constant();
      long double magnitude = std::abs(energy);
      const auto add = [&](long double term) {
        energy += term;
        magnitude += std::abs(term);
      };
      for (std::size_t a = 0; a < x.size(); ++a)
        add(model.unary()(a, static_cast<std::size_t>(x[a])));
      for (const Edge& e : model.edges()) {
        add(static_cast<long double>(e.weight) *
            model.metric(e).distance(static_cast<std::size_t>(x[static_cast<std::size_t>(e.a)]),
                                     static_cast<std::size_t>(x[static_cast<std::size_t>(e.b)])));
      }
      all.Add(energy, magnitude, x.size() + model.num_edges());
    } while (NextLabeling(&x, labels));
    const std::string description = model.Description();
    return Finish(std::move(model), description, all);
  }

  Case Tables() {
    const int variables = Integer(1, 6);
    FactorGraph graph;
    const bool even = Chance(0.7);
    const int labels = Integer(2, 3);
    for (int a = 0; a < variables; ++a) graph.cardinality.push_back(even ? labels : Integer(1, 3));
    const auto cardinality = [&](int a) { return graph.cardinality[static_cast<std::size_t>(a)]; };
    const Numbers kind = Kind();
    const double zeros = Chance(0.3) ? 0.15 : 0.0;
    const auto energy = [&] {
      return Chance(zeros) ? std::numeric_limits<double>::infinity() : Number(kind);
    };
    for (int a = 0; a < variables; ++a) {
      Factor factor{{a}, {}};
      for (int i = 0; i < cardinality(a); ++i) factor.energy.push_back(energy());
      graph.factors.push_back(std::move(factor));
    }
    // Nearly attractive tables: what recognition may take for Potts, and what it must not.
    const double noise = Pick<double>({0.0, 1e-14, 1e-9, 1e-7, 1e-3});
    const bool nearly_potts = even && Chance(0.6);
    for (int count = Integer(0, variables); count > 0 && variables > 1; --count) {
      const int a = Integer(0, variables - 1);
      const int b = (a + Integer(1, variables - 1)) % variables;
      Factor factor{{a, b}, {}};
      const double weight = Weight(kind);
      for (int i = 0; i < cardinality(a); ++i) {
        for (int j = 0; j < cardinality(b); ++j) {
          factor.energy.push_back(nearly_potts ? (i == j ? 0.0 : weight) +
                                                     noise * std::max(1.0, weight) * Real(-1.0, 1.0)
                                               : energy());
        }
      }
      graph.factors.push_back(std::move(factor));
    }
    options_.method = Pick<Method>({Method::kAuto, Method::kAuto, Method::kPdhg, Method::kTrw,
                                    Method::kMeanField, Method::kExact});
    Enumeration all(options_.temperature);
    std::vector<int> x(static_cast<std::size_t>(variables), 0);
    bool more = true;
    while (more) {
      long double sum = 0.0L;
      long double magnitude = 0.0L;
      for (const Factor& factor : graph.factors) {
        std::size_t at = 0;
        for (const int a : factor.scope) {
          at = at * static_cast<std::size_t>(cardinality(a)) +
               static_cast<std::size_t>(x[static_cast<std::size_t>(a)]);
        }
        sum += factor.energy[at];
        magnitude += std::abs(static_cast<long double>(factor.energy[at]));
      }
      all.Add(sum, magnitude, graph.factors.size());
      more = false;
      for (std::size_t a = 0; a < x.size() && !more; ++a) {
        if (++x[a] < graph.cardinality[a]) {
          more = true;
        } else {
          x[a] = 0;
        }
      }
    }
    return Finish(std::move(graph), fmt::format("tables over {} variables", variables), all);
  }

  Case Dense() {
    const int labels = Integer(2, 4);
    const int variables = Integer(1, labels == 2 ? 8 : 5);
    const auto rows = static_cast<std::size_t>(variables);
    const Numbers unaries = Kind();
    Matrix<float> unary(rows, static_cast<std::size_t>(labels));
    for (std::size_t k = 0; k < unary.size(); ++k)
      unary.data()[k] = static_cast<float>(Number(unaries));
    std::vector<GaussianKernel> kernels;
    // k_ab of each kernel as it was meant, from the numbers before they were centred or rounded.
    std::vector<std::vector<long double>> meant;
    const Numbers weights = Pick<Numbers>(
        {Numbers::kPlain, Numbers::kPlain, Numbers::kLarge, Numbers::kSmall, Numbers::kWhole});
    for (int count = Integer(1, 2); count > 0; --count) {
      const auto dimension = static_cast<std::size_t>(Integer(1, 3));
      const double sigma = std::pow(10.0, Real(-2.0, 3.0));
      const double offset = Chance(0.4) ? std::pow(10.0, Real(3.0, 12.0)) : 0.0;
      const double spread = sigma * std::pow(10.0, Real(-2.0, 1.0));
      Matrix<double> features(rows, dimension);
      for (std::size_t a = 0; a < rows; ++a) {
        const bool repeated = a > 0 && Chance(0.2);
        for (std::size_t d = 0; d < dimension; ++d)
          features(a, d) = repeated ? features(a - 1, d) : offset + Real(-spread, spread);
      }
      std::vector<long double> k(rows * rows);
      for (std::size_t a = 0; a < rows; ++a) {
        for (std::size_t b = 0; b < rows; ++b) {
          long double squared = 0.0L;
          for (std::size_t d = 0; d < dimension; ++d) {
            const long double difference =
                (static_cast<long double>(features(a, d)) - features(b, d)) / sigma;
            squared += difference * difference;
          }
          k[a * rows + b] = std::exp(-squared / 2.0L);
        }
      }
      const bool normalised = Chance(0.3);
      if (normalised) {
        std::vector<long double> sum(rows, 0.0L);
        for (std::size_t a = 0; a < rows; ++a) {
          for (std::size_t b = 0; b < rows; ++b) sum[a] += k[a * rows + b];
        }
        for (std::size_t a = 0; a < rows; ++a) {
          for (std::size_t b = 0; b < rows; ++b) k[a * rows + b] /= std::sqrt(sum[a] * sum[b]);
        }
      }
      kernels.push_back(FeatureKernel(features, {&sigma, 1}, Weight(weights), "nasty"));
      if (normalised) kernels.back().normalisation = KernelNormalisation::kSymmetric;
      meant.push_back(std::move(k));
    }
    const PairCounting counting = Chance(0.5) ? PairCounting::kOrdered : PairCounting::kOnce;
    DenseCrf model(std::move(unary), kernels, Labels(labels), counting,
                   Chance(0.3) ? Number(unaries) : 0.0);
    options_.method = Pick<Method>({Method::kAuto, Method::kPdhg, Method::kFrankWolfe,
                                    Method::kMeanField, Method::kRouted, Method::kExact});
    options_.dense.pairs.kind =
        Pick<OperatorKind>({OperatorKind::kAuto, OperatorKind::kNeighbourList,
                            OperatorKind::kLattice, OperatorKind::kBruteForce});
    options_.dense.pairs.cutoff = Pick<double>({1e-3, 1e-3, 0.3, 1e-6});
    options_.dense.certify = Pick<Certify>({Certify::kAuto, Certify::kExact, Certify::kExact});
    options_.dense.marginals =
        Chance(0.5) ? DenseMarginals::kUpperBound : DenseMarginals::kMeanField;

    Enumeration all(options_.temperature);
    const auto factor = static_cast<long double>(model.pair_factor());
    std::vector<int> x(rows, 0);
    do {
      long double energy = model.constant();
      long double magnitude = std::abs(energy);
      for (std::size_t a = 0; a < rows; ++a) {
        const long double phi = model.unary()(a, static_cast<std::size_t>(x[a]));
        energy += phi;
        magnitude += std::abs(phi);
        for (std::size_t b = 0; b < a; ++b) {
          const long double d = model.metric().distance(static_cast<std::size_t>(x[a]),
                                                        static_cast<std::size_t>(x[b]));
          for (std::size_t m = 0; m < meant.size(); ++m) {
            const long double term = factor * kernels[m].weight * meant[m][a * rows + b] * d;
            energy += term;
            magnitude += 64.0L * term;  // the kernel values have gone through more roundings
          }
        }
      }
      all.Add(energy, magnitude, rows * rows);
    } while (NextLabeling(&x, labels));
    const std::string description = model.Description();
    return Finish(std::move(model), description, all);
  }

  template <class Model>
  Case Finish(Model model, const std::string& what, const Enumeration& all) {
    std::string description = fmt::format("{}; method {}, T {:g}, gap {:g}, {} iterations", what,
                                          ToString(options_.method), options_.temperature,
                                          *options_.limits.gap, *options_.limits.max_iterations);
    if constexpr (std::is_same_v<Model, DenseCrf>) {
      description +=
          fmt::format(", pairs {}, cutoff {:g}, certify {}", ToString(options_.dense.pairs.kind),
                      options_.dense.pairs.cutoff, ToString(options_.dense.certify));
    }
    return {std::move(model), options_, std::move(description), all.Value(), all.LeastEnergy()};
  }

  RandomModels random_;
  SolveOptions options_;
};

}  // namespace

Case MakeCase(std::uint64_t seed) { return Generator(seed).Make(); }

}  // namespace submarine::internal::attack
