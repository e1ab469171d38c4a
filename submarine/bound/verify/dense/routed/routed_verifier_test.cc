#include "submarine/bound/verify/dense/routed/routed_verifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::RandomModels;

// Wide enough kernels that routing has something to do.
DenseCrf RandomModel(RandomModels* random, int variables, int labels) {
  std::vector<GaussianKernel> kernels;
  const int count = random->Integer(1, 2);
  for (int m = 0; m < count; ++m) {
    const auto rows = static_cast<std::size_t>(variables);
    GaussianKernel kernel{"random",
                          Matrix<double>(rows, static_cast<std::size_t>(random->Integer(1, 3))),
                          random->Real(0.0, 1.5)};
    const double spread = random->Real(0.1, 2.0);
    for (std::size_t n = 0; n < kernel.features.size(); ++n)
      kernel.features.data()[n] = spread * random->Real(-1.0, 1.0);
    if (random->Integer(0, 1) == 0) {
      for (std::size_t a = 0; a < rows; ++a) kernel.scale.push_back(random->Real(0.0, 1.5));
    }
    kernels.push_back(std::move(kernel));
  }
  Matrix<float> unary(static_cast<std::size_t>(variables), static_cast<std::size_t>(labels));
  const double strength = random->Real(0.0, 3.0);
  for (std::size_t n = 0; n < unary.size(); ++n)
    unary.data()[n] = static_cast<float>(random->Real(-strength, strength));
  return {std::move(unary), std::move(kernels), random->Labels(labels),
          random->Integer(0, 1) == 0 ? PairCounting::kOrdered : PairCounting::kOnce,
          random->Real(-2.0, 2.0)};
}

RoutedProof RandomProof(RandomModels* random, const DenseCrf& model, int bandwidth) {
  const std::size_t n = model.num_variables();
  const auto cuts = static_cast<std::size_t>(model.num_cuts());
  RoutedProof proof;
  Routing& routing = proof.routing;
  routing.paths.bandwidth = bandwidth;
  routing.paths.order.resize(n);
  std::iota(routing.paths.order.begin(), routing.paths.order.end(), 0U);
  for (std::size_t p = n; p-- > 1;)
    std::swap(
        routing.paths.order[p],
        routing.paths.order[static_cast<std::size_t>(random->Integer(0, static_cast<int>(p)))]);
  const double breaks = random->Integer(0, 2) == 0 ? random->Real(0.0, 1.0) : 0.0;
  for (std::size_t p = 0; p < n; ++p) {
    if (p == 0 || random->Real(0.0, 1.0) < breaks)
      routing.paths.begin.push_back(static_cast<std::uint32_t>(p));
  }
  const int kind = random->Integer(0, 3);
  routing.share = kind == 0 ? 0.0 : kind == 1 ? random->Real(0.0, 1.0) : 1.0;
  if (random->Integer(0, 1) == 0) {
    routing.z = Matrix<float>(n, cuts);
    for (std::size_t k = 0; k < routing.z.size(); ++k)
      routing.z.data()[k] = static_cast<float>(random->Real(0.0, 1.0));
    routing.threshold = Matrix<float>(n, static_cast<std::size_t>(bandwidth));
    for (std::size_t k = 0; k < routing.threshold.size(); ++k) {
      const int what = random->Integer(0, 19);
      routing.threshold.data()[k] = what == 0   ? std::numeric_limits<float>::infinity()
                                    : what == 1 ? std::numeric_limits<float>::quiet_NaN()
                                                : static_cast<float>(random->Real(-0.5, 4.0));
    }
  }
  const int terms = random->Integer(0, 2);
  const double spread = std::pow(10.0, random->Real(-2.0, 1.0));
  for (int t = 0; t < terms; ++t) {
    FlowTerm term;
    term.share = 1.0 / terms;
    term.shape = random->Integer(0, 2) == 0 ? FlowShape::kSign : FlowShape::kClip;
    term.v = Matrix<float>(n, cuts);
    for (std::size_t k = 0; k < term.v.size(); ++k)
      term.v.data()[k] = static_cast<float>(random->Real(-spread, spread));
    proof.flows.push_back(std::move(term));
  }
  return proof;
}

int LargestBandwidth(RandomModels* random, int labels) {
  return labels == 2   ? random->Integer(1, 8)
         : labels == 3 ? random->Integer(1, 4)
                       : random->Integer(1, 2);
}

double LogSumExp(const std::vector<double>& x, double temperature) {
  const double largest = *std::max_element(x.begin(), x.end());
  if (temperature == 0.0) return largest;
  double sum = 0.0;
  for (const double value : x) sum += std::exp((value - largest) / temperature);
  return largest + temperature * std::log(sum);
}

template <class Visit>
void ForLabelings(std::size_t variables, int labels, const Visit& visit) {
  std::vector<int> x(variables, 0);
  for (;;) {
    visit(x);
    std::size_t a = 0;
    while (a < variables && ++x[a] == labels) x[a++] = 0;
    if (a == variables) return;
  }
}

double ExactValue(const DenseCrf& model, double temperature) {
  std::vector<double> values;
  ForLabelings(model.num_variables(), model.num_labels(),
               [&](const std::vector<int>& x) { values.push_back(-model.Energy(x)); });
  return LogSumExp(values, temperature);
}

// Everything by definition, by position: routes one by one.
struct RoutedModel {
  Matrix<double> weight;    // w of the model
  Matrix<double> used;      // u
  Matrix<double> edge;      // W, direct pairs included, at both (p, q) and (q, p)
  Matrix<double> residual;  // w - u, 0 at edges
  Matrix<double> costs;
  Matrix<double> distance;

  RoutedModel(const DenseCrf& model, const RoutedProof& proof) {
    const std::size_t n = model.num_variables();
    const Routing& routing = proof.routing;
    const auto k = static_cast<std::size_t>(routing.paths.bandwidth);
    const auto& order = routing.paths.order;
    const auto& begin = routing.paths.begin;
    const auto path_of = [&](std::size_t p) {
      return std::upper_bound(begin.begin(), begin.end(), p) - begin.begin();
    };
    const auto is_edge = [&](std::size_t p, std::size_t q) {
      return p < q && q - p <= k && path_of(p) == path_of(q);
    };
    const std::vector<double>& length = model.metric().length;
    distance = CutDistance(*model.labels().cuts, length);
    weight = used = edge = residual = Matrix<double>(n, n);
    const auto apart = [&](std::size_t p, std::size_t q) {
      double sum = 0.0;
      for (std::size_t c = 0; c < length.size(); ++c) {
        if (length[c] > 0.0)
          sum += length[c] * std::abs(static_cast<double>(routing.z(order[p], c)) -
                                      static_cast<double>(routing.z(order[q], c)));
      }
      return sum;
    };
    for (const GaussianKernel& kernel : model.kernels()) {
      const auto w = [&](std::size_t p, std::size_t q) {
        return model.pair_factor() * kernel.weight * KernelValue(kernel, order[p], order[q]);
      };
      for (std::size_t p = 0; p < n; ++p) {
        for (std::size_t q = 0; q < n; ++q) {
          if (p != q) weight(p, q) += w(p, q);
          if (!is_edge(p, q)) continue;
          for (std::size_t c = 0; c < n; ++c) {
            if (c == p || c == q) continue;
            if (!routing.everywhere() &&
                !(apart(p, c) + apart(q, c) < routing.threshold(p, q - p - 1)))
              continue;
            const double r =
                routing.share / (4.0 * static_cast<double>(k)) * std::min(w(p, c), w(q, c));
            edge(p, q) += r;
            for (const auto& [x, y] :
                 {std::pair(p, c), std::pair(c, p), std::pair(q, c), std::pair(c, q)})
              used(x, y) += r;
          }
        }
      }
    }
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = 0; q < n; ++q) {
        residual(p, q) = weight(p, q) - used(p, q);
        if (is_edge(p, q)) edge(p, q) += residual(p, q);
        if (is_edge(p, q) || is_edge(q, p)) residual(p, q) = 0.0;
      }
    }
    const auto labels = static_cast<std::size_t>(model.num_labels());
    costs = Matrix<double>(n, labels);
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t i = 0; i < labels; ++i) costs(p, i) = model.unary()(order[p], i);
      for (std::size_t c = 0; c < length.size(); ++c) {
        double flow = 0.0;
        for (const FlowTerm& term : proof.flows) {
          for (std::size_t q = 0; q < n; ++q) {
            const float difference = term.v(order[p], c) - term.v(order[q], c);
            const double psi = term.shape == FlowShape::kClip
                                   ? std::clamp(difference, -1.0F, 1.0F)
                                   : static_cast<double>((difference > 0) - (difference < 0));
            flow += term.share * residual(p, q) * psi;
          }
        }
        for (const int i : model.labels().cuts->set(static_cast<int>(c)))
          costs(p, static_cast<std::size_t>(i)) += length[c] * flow;
      }
    }
  }

  // Energy of the paths with the node costs.
  double Energy(const std::vector<int>& x) const {
    double energy = 0.0;
    for (std::size_t p = 0; p < costs.rows(); ++p) {
      energy += costs(p, static_cast<std::size_t>(x[p]));
      for (std::size_t q = p + 1; q < costs.rows(); ++q) energy += edge(p, q) * D(x[p], x[q]);
    }
    return energy;
  }
  double D(int i, int j) const {
    return distance(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
  }
};

double SizeOf(const RoutedModel& routed, double temperature) {
  double size = 10.0 + temperature * static_cast<double>(routed.costs.size());
  for (std::size_t n = 0; n < routed.costs.size(); ++n) size += std::abs(routed.costs.data()[n]);
  for (std::size_t n = 0; n < routed.weight.size(); ++n)
    size +=
        std::abs(routed.weight.data()[n]) * (1.0 + routed.distance(0, routed.distance.cols() - 1));
  return size;
}

double RandomTemperature(RandomModels* random) {
  return random->Integer(0, 3) == 0   ? 0.0
         : random->Integer(0, 1) == 0 ? 1.0
                                      : random->Real(0.2, 3.0);
}

TEST(RoutedVerifierTest, HoldsAndEqualsItsDefinitionOnSmallModels) {
  RandomModels random(13);
  for (int round = 0; round < 3000; ++round) {
    const int labels = random.Integer(2, 4);
    const int variables = random.Integer(2, labels == 2 ? 10 : labels == 3 ? 6 : 5);
    const DenseCrf model = RandomModel(&random, variables, labels);
    const RoutedProof proof = RandomProof(&random, model, LargestBandwidth(&random, labels));
    const RoutedModel routed(model, proof);
    PairOptions options;
    options.cutoff = random.Integer(0, 2) == 0 ? 0.5 : 0.0;
    options.temperature = RandomTemperature(&random);
    const double upper = VerifiedRoutedUpper(model, proof, options);
    ASSERT_GE(upper, ExactValue(model, options.temperature)) << round;

    for (std::size_t p = 0; p < model.num_variables(); ++p) {
      for (std::size_t q = 0; q < model.num_variables(); ++q)
        ASSERT_LE(routed.used(p, q), routed.weight(p, q) * (1.0 + 1e-14)) << round;
    }
    std::vector<double> values;
    ForLabelings(model.num_variables(), labels, [&](const std::vector<int>& x) {
      values.push_back(-routed.Energy(x) - model.constant());
    });
    const double expected = LogSumExp(values, options.temperature);
    // One block: everything is looked at, whatever the cutoff. Sums of a few thousand roundings at most.
    const double size = SizeOf(routed, options.temperature);
    ASSERT_NEAR(upper, expected, 1e-11 * size) << round;
    ASSERT_GE(upper, expected - 1e-14 * size) << round;
  }
}

TEST(RoutedVerifierTest, TheRoutedEnergyIsNowhereAboveTheModels) {
  RandomModels random(14);
  for (int round = 0; round < 200; ++round) {
    const int labels = random.Integer(2, 4);
    const DenseCrf model = RandomModel(&random, 5, labels);
    RoutedProof proof = RandomProof(&random, model, LargestBandwidth(&random, labels));
    const RoutedModel routed(model, proof);
    ForLabelings(5, labels, [&](const std::vector<int>& x) {
      double given = 0.0;
      double left = 0.0;
      for (std::size_t p = 0; p < 5; ++p) {
        for (std::size_t q = p + 1; q < 5; ++q) {
          given += routed.weight(p, q) * routed.D(x[p], x[q]);
          left += (routed.edge(p, q) + routed.residual(p, q)) * routed.D(x[p], x[q]);
        }
      }
      ASSERT_LE(left, given + 1e-12 * (1.0 + given)) << round;
    });
  }
}

// Sums pair by pair, which pass over what is negligible where a cutoff is given.
TEST(RoutedVerifierTest, HoldsAndEqualsItsDefinitionWithManyCuts) {
  RandomModels random(19);
  for (int round = 0; round < 200; ++round) {
    const int labels = random.Integer(9, 12);
    const DenseCrf model = RandomModel(&random, random.Integer(2, 3), labels);
    const RoutedProof proof = RandomProof(&random, model, random.Integer(1, 2));
    const RoutedModel routed(model, proof);
    PairOptions options;
    options.temperature = RandomTemperature(&random);
    const double exact = ExactValue(model, options.temperature);
    options.cutoff = random.Real(0.001, 0.9);
    ASSERT_GE(static_cast<double>(VerifiedRoutedUpper(model, proof, options)), exact) << round;
    options.cutoff = 0.0;
    const double upper = VerifiedRoutedUpper(model, proof, options);
    ASSERT_GE(upper, exact) << round;
    std::vector<double> values;
    ForLabelings(model.num_variables(), labels, [&](const std::vector<int>& x) {
      values.push_back(-routed.Energy(x) - model.constant());
    });
    const double expected = LogSumExp(values, options.temperature);
    const double size = SizeOf(routed, options.temperature);
    ASSERT_NEAR(upper, expected, 1e-11 * size) << round;
    ASSERT_GE(upper, expected - 1e-14 * size) << round;
  }
}

// Several blocks, pairs across their borders, and paths that end within them.
TEST(RoutedVerifierTest, EqualsItsDefinitionAcrossBlocks) {
  RandomModels random(15);
  for (int round = 0; round < 40; ++round) {
    const bool many_cuts = round % 4 == 0;
    const int labels = many_cuts ? random.Integer(9, 12) : random.Integer(2, 3);
    const DenseCrf model = RandomModel(&random, random.Integer(30, 110), labels);
    const int bandwidth = many_cuts ? 1 : labels == 2 ? random.Integer(1, 8) : random.Integer(1, 3);
    const RoutedProof proof = RandomProof(&random, model, bandwidth);
    const RoutedModel routed(model, proof);
    PairOptions options;
    options.cutoff = 0.0;
    options.temperature = RandomTemperature(&random);
    const double upper = VerifiedRoutedUpper(model, proof, options);

    // Sums over the last labels, all of them at once.
    const std::size_t n = model.num_variables();
    const auto count = static_cast<std::size_t>(labels);
    std::vector<std::vector<int>> states = {{}};  // newest label first
    std::vector<double> values = {-model.constant()};
    for (std::size_t p = 0; p < n; ++p) {
      std::vector<std::vector<int>> next_states;
      std::vector<std::vector<double>> next_terms;
      for (std::size_t s = 0; s < states.size(); ++s) {
        for (std::size_t i = 0; i < count; ++i) {
          double value = values[s] - routed.costs(p, i);
          for (std::size_t m = 1; m <= states[s].size(); ++m)
            value -= routed.edge(p - m, p) * routed.D(static_cast<int>(i), states[s][m - 1]);
          std::vector<int> next = states[s];
          next.insert(next.begin(), static_cast<int>(i));
          if (next.size() > static_cast<std::size_t>(bandwidth)) next.pop_back();
          const auto found = std::find(next_states.begin(), next_states.end(), next);
          if (found == next_states.end()) {
            next_states.push_back(next);
            next_terms.push_back({value});
          } else {
            next_terms[static_cast<std::size_t>(found - next_states.begin())].push_back(value);
          }
        }
      }
      states = next_states;
      values.clear();
      for (const std::vector<double>& terms : next_terms)
        values.push_back(LogSumExp(terms, options.temperature));
    }
    const double expected = LogSumExp(values, options.temperature);
    const double size = SizeOf(routed, options.temperature);
    ASSERT_NEAR(upper, expected, 1e-11 * size) << round;
    ASSERT_GE(upper, expected - 1e-14 * size) << round;
  }
}

TEST(RoutedVerifierTest, LeavesPairsOutOnTheSafeSide) {
  RandomModels random(16);
  for (int round = 0; round < 30; ++round) {
    // Two clusters that are far apart but for a few pairs: blocks of squares that are left out.
    const int variables = 66;
    GaussianKernel kernel{"line", Matrix<double>(variables, 1), 0.3};
    for (int a = 0; a < variables; ++a)
      kernel.features(static_cast<std::size_t>(a), 0) = 0.1 * a + random.Real(0.0, 0.05);
    Matrix<float> unary(variables, 2);
    for (std::size_t k = 0; k < unary.size(); ++k)
      unary.data()[k] = static_cast<float>(random.Real(-1.0, 1.0));
    const DenseCrf model(std::move(unary), {kernel}, PottsLabels(2));
    RoutedProof proof = RandomProof(&random, model, random.Integer(1, 4));
    proof.flows.clear();  // the fewer the pairs, the less routed, the higher the bound
    std::iota(proof.routing.paths.order.begin(), proof.routing.paths.order.end(), 0U);
    const double all = VerifiedRoutedUpper(model, proof, {.cutoff = 0.0});
    const double some = VerifiedRoutedUpper(model, proof, {.cutoff = 0.9});
    ASSERT_GE(some, all - 1e-9 * std::abs(all)) << round;
  }
}

// Small clusters so far apart that log Z is a sum over them, mixed along the paths so that their pairs lie in many
// squares.
TEST(RoutedVerifierTest, HoldsWhereverItIsEnded) {
  RandomModels random(17);
  constexpr std::size_t kClusters = 70;
  constexpr std::size_t kOfCluster = 6;
  for (int round = 0; round < 8; ++round) {
    GaussianKernel kernel{"clusters", Matrix<double>(kClusters * kOfCluster, 2), 0.6};
    Matrix<float> unary(kClusters * kOfCluster, 2);
    for (std::size_t a = 0; a < unary.rows(); ++a) {
      kernel.features(a, 0) = 100.0 * static_cast<double>(a % kClusters) + random.Real(-1.0, 1.0);
      kernel.features(a, 1) = random.Real(-1.0, 1.0);
      for (float& phi : unary.row(a)) phi = static_cast<float>(random.Real(-1.0, 1.0));
    }
    const DenseCrf model(unary, {kernel}, PottsLabels(2));
    double exact = 0.0;
    for (std::size_t cluster = 0; cluster < kClusters; ++cluster) {
      GaussianKernel own{"own", Matrix<double>(kOfCluster, 2), kernel.weight};
      Matrix<float> phi(kOfCluster, 2);
      for (std::size_t k = 0; k < kOfCluster; ++k) {
        const std::size_t a = cluster + k * kClusters;
        std::copy_n(kernel.features.row(a).begin(), 2, own.features.row(k).begin());
        std::copy_n(unary.row(a).begin(), 2, phi.row(k).begin());
      }
      exact += ExactValue(DenseCrf(phi, {own}, PottsLabels(2)), 1.0);
    }
    RoutedProof proof = RandomProof(&random, model, random.Integer(1, 3));
    proof.dual_point = {
        Matrix<float>(unary.rows(), 2),
        Matrix<float>(unary.rows(), static_cast<std::size_t>(proof.routing.paths.bandwidth))};
    const RoutedBounds whole = VerifiedRoutedBounds(model, proof, {.cutoff = 0.0});
    EXPECT_TRUE(whole.complete && whole.dual);
    int incomplete = 0;
    for (int end = 0; end < 20; ++end) {
      int reports = 0;
      const RoutedBounds ended = VerifiedRoutedBounds(
          model, proof, {.cutoff = 0.0, .on_progress = [&](double) { return reports++ < end; }});
      ASSERT_GE(ended.upper.value(), exact) << round << ", ended after " << end;
      if (ended.complete) {
        EXPECT_EQ(ended.upper.value(), whole.upper.value());
      } else {
        ++incomplete;
        EXPECT_FALSE(ended.dual);
      }
    }
    EXPECT_GT(incomplete, 1);
    EXPECT_LT(incomplete, 20);
  }
}

RoutedDualPoint RandomDualPoint(RandomModels* random, const DenseCrf& model, int bandwidth) {
  RoutedDualPoint point;
  point.costs = Matrix<float>(model.unary().rows(), model.unary().cols());
  point.edge_weights = Matrix<float>(model.unary().rows(), static_cast<std::size_t>(bandwidth));
  for (std::size_t n = 0; n < point.costs.size(); ++n)
    point.costs.data()[n] = static_cast<float>(random->Real(-3.0, 3.0));
  for (std::size_t n = 0; n < point.edge_weights.size(); ++n)
    point.edge_weights.data()[n] = static_cast<float>(random->Real(0.0, 2.0));
  return point;
}

// D(P) by enumeration of P.
double DualByDefinition(const DenseCrf& model, const RoutedModel& routed, const RoutedProof& proof,
                        double temperature) {
  const std::size_t n = model.num_variables();
  const auto k = static_cast<std::size_t>(proof.routing.paths.bandwidth);
  const std::vector<std::uint32_t> followers = proof.routing.paths.Followers();
  const auto& order = proof.routing.paths.order;
  const RoutedDualPoint& point = proof.dual_point;
  std::vector<double> values;
  ForLabelings(n, model.num_labels(), [&](const std::vector<int>& x) {
    double energy = 0.0;
    for (std::size_t p = 0; p < n; ++p) {
      energy += point.costs(order[p], static_cast<std::size_t>(x[p]));
      for (std::size_t m = 1; m <= std::min<std::size_t>(k, followers[p]); ++m)
        energy += point.edge_weights(p, m - 1) * routed.D(x[p], x[p + m]);
    }
    values.push_back(-energy);
  });
  const double log_z = LogSumExp(values, temperature);
  Matrix<double> y(n, static_cast<std::size_t>(model.num_labels()));
  double value = -model.constant();
  std::size_t at = 0;
  ForLabelings(n, model.num_labels(), [&](const std::vector<int>& x) {
    const double log_p = (values[at++] - log_z) / temperature;
    const double probability = std::exp(log_p);
    value -= temperature * probability * log_p;
    for (std::size_t p = 0; p < n; ++p) {
      y(p, static_cast<std::size_t>(x[p])) += probability;
      value -= probability * model.unary()(order[p], static_cast<std::size_t>(x[p]));
      for (std::size_t q = p + 1; q < n; ++q)
        value -= probability * routed.edge(p, q) * routed.D(x[p], x[q]);
    }
  });
  const std::vector<double>& length = model.metric().length;
  for (std::size_t c = 0; c < length.size(); ++c) {
    const auto sum = [&](std::size_t p) {
      double z = 0.0;
      for (const int i : model.labels().cuts->set(static_cast<int>(c)))
        z += y(p, static_cast<std::size_t>(i));
      return z;
    };
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q)
        value -= length[c] * routed.residual(p, q) * std::abs(sum(p) - sum(q));
    }
  }
  return value;
}

TEST(RoutedVerifierTest, DualValuesEqualTheirDefinitionAndAreBelowEveryBoundOfTheirRouting) {
  RandomModels random(21);
  for (int round = 0; round < 500; ++round) {
    const bool many_cuts = round % 5 == 0;
    const int labels = many_cuts ? random.Integer(9, 11) : random.Integer(2, 4);
    const int variables = random.Integer(2, many_cuts ? 3 : labels == 2 ? 10 : 5);
    const DenseCrf model = RandomModel(&random, variables, labels);
    const int bandwidth = many_cuts ? random.Integer(1, 2) : LargestBandwidth(&random, labels);
    RoutedProof proof = RandomProof(&random, model, bandwidth);
    proof.dual_point = RandomDualPoint(&random, model, bandwidth);
    const RoutedModel routed(model, proof);
    PairOptions options;
    options.cutoff = 0.0;
    options.temperature = random.Integer(0, 1) == 0 ? 1.0 : random.Real(0.2, 3.0);
    const RoutedBounds bounds = VerifiedRoutedBounds(model, proof, options);
    ASSERT_TRUE(bounds.dual) << round;
    EXPECT_EQ(bounds.upper, VerifiedRoutedUpper(model, proof, options)) << round;
    const double expected = DualByDefinition(model, routed, proof, options.temperature);
    const double size = SizeOf(routed, options.temperature);
    ASSERT_LE(*bounds.dual, expected + 1e-14 * size) << round;
    // Cut sums are rounded to single precision.
    ASSERT_NEAR(*bounds.dual, expected, 1e-6 * size) << round;
    for (int other = 0; other < 4; ++other) {
      RoutedProof flows = RandomProof(&random, model, bandwidth);
      flows.routing = proof.routing;
      ASSERT_LE(*bounds.dual, VerifiedRoutedUpper(model, flows, options)) << round;
    }
  }
}

// Paths of several blocks: the sum-product of the distribution against that of the upper bound. With the costs and
// weights of the bound itself, upper - dual is the variation of what is left minus what the flows get of it.
TEST(RoutedVerifierTest, DualValuesAcrossBlocksAreTheUpperBoundWithoutPairs) {
  RandomModels random(22);
  for (int round = 0; round < 20; ++round) {
    const int labels = random.Integer(2, 3);
    const DenseCrf dense = RandomModel(&random, random.Integer(40, 300), labels);
    const DenseCrf model(dense.unary(), {}, dense.labels(), PairCounting::kOnce, 0.5);
    RoutedProof proof = RandomProof(&random, model, random.Integer(1, 4));
    const auto bandwidth = static_cast<std::size_t>(proof.routing.paths.bandwidth);
    proof.dual_point = {model.unary(), Matrix<float>(model.num_variables(), bandwidth)};
    const RoutedBounds bounds = VerifiedRoutedBounds(model, proof, {});
    ASSERT_TRUE(bounds.dual);
    EXPECT_LE(*bounds.dual, bounds.upper);
    EXPECT_NEAR(*bounds.dual, bounds.upper, 1e-9 * (1.0 + std::abs(bounds.upper.value()))) << round;
  }
}

TEST(RoutedVerifierTest, WithoutRoutesAndEdgesIsThePlainBound) {
  RandomModels random(17);
  for (int round = 0; round < 100; ++round) {
    const DenseCrf model = RandomModel(&random, random.Integer(2, 60), random.Integer(2, 5));
    RoutedProof proof = RandomProof(&random, model, 1);
    proof.routing.share = 0.0;
    proof.routing.paths.begin.resize(model.num_variables());
    std::iota(proof.routing.paths.begin.begin(), proof.routing.paths.begin.end(), 0U);
    const PairOptions options{.temperature = RandomTemperature(&random), .cutoff = 0.0};
    const double plain = VerifiedUpper(model, proof.flows, options);
    const double size = SizeOf(RoutedModel(model, proof), options.temperature);
    ASSERT_NEAR(VerifiedRoutedUpper(model, proof, options), plain, 1e-11 * size) << round;
  }
}

TEST(RoutedVerifierTest, IsTheSameForAnyNumberOfThreads) {
  RandomModels random(18);
  const DenseCrf model = RandomModel(&random, 300, 2);
  const RoutedProof proof = RandomProof(&random, model, 3);
  const auto with = [&](int threads) {
    const ThreadLimit limit(threads);
    return VerifiedRoutedUpper(model, proof, {.cutoff = 0.01}).value();
  };
  const double one = with(1);
  const double three = with(3);
  EXPECT_EQ(one, three);
}

TEST(RoutedVerifierTest, RefusesWhatIsNoProof) {
  RandomModels random(19);
  const DenseCrf model = RandomModel(&random, 8, 2);
  RoutedProof good = RandomProof(&random, model, 2);
  good.routing.paths.begin = {0};
  good.routing.z = Matrix<float>(8, 2);
  good.routing.threshold = Matrix<float>(8, 2, 1.0F);
  const auto refuses = [&](const auto& change) {
    RoutedProof bad = good;
    change(&bad);
    EXPECT_THROW(VerifiedRoutedUpper(model, bad, {}), InvalidInput);
  };
  EXPECT_NO_THROW(VerifiedRoutedUpper(model, good, {}));
  // A path that comes back to a variable is no forest.
  refuses([](RoutedProof* p) { p->routing.paths.order[3] = p->routing.paths.order[5]; });
  refuses([](RoutedProof* p) { p->routing.paths.order[0] = 8; });
  refuses([](RoutedProof* p) { p->routing.paths.order.pop_back(); });
  refuses([](RoutedProof* p) { p->routing.paths.begin = {}; });
  refuses([](RoutedProof* p) { p->routing.paths.begin = {1}; });
  refuses([](RoutedProof* p) { p->routing.paths.begin = {0, 4, 4}; });
  refuses([](RoutedProof* p) { p->routing.paths.begin = {0, 8}; });
  refuses([](RoutedProof* p) { p->routing.paths.bandwidth = 0; });
  refuses([](RoutedProof* p) { p->routing.paths.bandwidth = kMaxBandwidth + 1; });
  // More than there is.
  refuses([](RoutedProof* p) { p->routing.share = std::nextafter(1.0, 2.0); });
  refuses([](RoutedProof* p) { p->routing.share = -0.1; });
  refuses([](RoutedProof* p) { p->routing.share = std::nan(""); });
  refuses([](RoutedProof* p) { p->routing.z = Matrix<float>(8, 1); });
  refuses([](RoutedProof* p) { p->routing.z(2, 1) = std::nanf(""); });
  refuses([](RoutedProof* p) { p->routing.threshold = Matrix<float>(8, 1); });
  refuses([](RoutedProof* p) { p->flows.assign(2, {.v = Matrix<float>(8, 2)}); });
  refuses([](RoutedProof* p) { p->flows.assign(1, {.v = Matrix<float>(7, 2)}); });
  // Dual values.
  good.dual_point = RandomDualPoint(&random, model, 2);
  EXPECT_TRUE(VerifiedRoutedBounds(model, good, {}).dual);
  EXPECT_FALSE(VerifiedRoutedBounds(model, good, {.temperature = 0.0}).dual);
  const auto refuses_dual = [&](const auto& change) {
    RoutedProof bad = good;
    change(&bad.dual_point);
    EXPECT_THROW(VerifiedRoutedBounds(model, bad, {}), InvalidInput);
  };
  refuses_dual([](RoutedDualPoint* p) { p->costs = Matrix<float>(8, 3); });
  refuses_dual([](RoutedDualPoint* p) { p->edge_weights = Matrix<float>(8, 1); });
  refuses_dual([](RoutedDualPoint* p) { p->edge_weights = {}; });
  refuses_dual([](RoutedDualPoint* p) { p->costs(1, 1) = std::nanf(""); });
  refuses_dual(
      [](RoutedDualPoint* p) { p->edge_weights(1, 1) = std::numeric_limits<float>::infinity(); });
  RandomModels many(20);
  const DenseCrf wide = RandomModel(&many, 8, 9);
  EXPECT_THROW(VerifiedRoutedUpper(wide, RandomProof(&many, wide, 8), {}), InvalidInput);
}

}  // namespace
}  // namespace submarine::internal
