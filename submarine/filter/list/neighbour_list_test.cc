#include "submarine/filter/list/neighbour_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "submarine/base/error_test_util.h"
#include "submarine/base/parallel.h"
#include "submarine/base/parallel_test_util.h"
#include "submarine/filter/kernel/brute_force.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

// Numbers that single precision has, of either type.
template <class T = float>
Matrix<T> RandomMatrix(std::size_t rows, std::size_t cols, double spread, std::mt19937_64* rng) {
  Matrix<T> m(rows, cols);
  std::uniform_real_distribution<double> value(-spread, spread);
  for (std::size_t k = 0; k < m.size(); ++k) m.data()[k] = static_cast<float>(value(*rng));
  return m;
}

// With some points repeated and, if asked for, scale factors, one in ten of them zero.
GaussianKernel RandomKernel(std::size_t n, std::size_t dimension, double spread, bool scaled,
                            std::mt19937_64* rng) {
  GaussianKernel kernel{"random", RandomMatrix<double>(n, dimension, spread, rng)};
  for (std::size_t a = 1; a < n; a += 7) {
    const std::size_t same = (*rng)() % a;
    for (std::size_t d = 0; d < dimension; ++d) kernel.features(a, d) = kernel.features(same, d);
  }
  std::uniform_real_distribution<double> scale(0.1, 2.0);
  for (std::size_t a = 0; scaled && a < n; ++a)
    kernel.scale.push_back((*rng)() % 10 == 0 ? 0.0F : static_cast<float>(scale(*rng)));
  return kernel;
}

double Psi(FlowShape shape, double difference) {
  if (shape == FlowShape::kClip) return std::clamp(difference, -1.0, 1.0);
  return difference > 0.0 ? 1.0 : difference < 0.0 ? -1.0 : 0.0;
}

// The pairs that a list at the cutoff holds, by definition. `unsure` are those so close to the cutoff
// that single precision decides.
struct Definition {
  Definition(const std::vector<WeightedKernel>& kernels, double cutoff)
      : held(kernels.front().kernel->size(), kernels.front().kernel->size()),
        unsure(held.rows(), held.rows()) {
    for (const auto& [kernel, factor] : kernels) {
      GaussianKernel bare{"bare", kernel->features};
      for (std::size_t a = 0; a < held.rows(); ++a) {
        for (std::size_t b = 0; b < held.rows(); ++b) {
          if (a == b) continue;
          const double value = KernelValue(bare, a, b);
          const double weight = factor * KernelValue(*kernel, a, b);
          if (std::abs(value - cutoff) <= 1e-5 * cutoff) {
            unsure(a, b) += weight;
          } else if (value > cutoff) {
            held(a, b) += weight;
          }
        }
      }
    }
  }

  // Expects out_a = sum_b held_ab term(x_a, x_b) up to the rounding of sums of floats.
  template <class Term>
  void ExpectSums(const Matrix<float>& x, const Matrix<float>& out, double factor,
                  const Term& term) const {
    for (std::size_t a = 0; a < x.rows(); ++a) {
      for (std::size_t c = 0; c < x.cols(); ++c) {
        double sum = 0.0;
        double size = 0.0;
        double slack = 0.0;
        for (std::size_t b = 0; b < x.rows(); ++b) {
          const double value = term(x(a, c), x(b, c));
          sum += held(a, b) * value;
          size += held(a, b) * std::abs(value);
          slack += unsure(a, b) * std::abs(value);
        }
        // N additions, and values of exp(-|f|^2/2) with |f|^2/2 < 20 in seven roundings.
        const double rounding = kEpsilon * (static_cast<double>(x.rows()) + 150.0) * size;
        ASSERT_NEAR(out(a, c), factor * sum, std::abs(factor) * (rounding + slack))
            << "variable " << a << ", column " << c;
      }
    }
  }

  Matrix<double> held;
  Matrix<double> unsure;
};

void ExpectAgreesWithDefinition(const std::vector<WeightedKernel>& kernels, double cutoff,
                                std::mt19937_64* rng) {
  const NeighbourList list(kernels, {.cutoff = cutoff});
  const Definition expected(kernels, cutoff);
  const std::size_t n = list.size();
  const Matrix<float> x = RandomMatrix(n, 1 + (*rng)() % 21, 1.5, rng);
  Matrix<float> product(n, x.cols());
  list.AddProduct(x, -0.75F, &product);
  expected.ExpectSums(x, product, -0.75, [](double, double x_b) { return x_b; });
  for (FlowShape shape : {FlowShape::kClip, FlowShape::kSign}) {
    Matrix<float> flow(n, x.cols());
    list.AddFlow(x, shape, 1.5F, &flow);
    expected.ExpectSums(x, flow, 1.5,
                        [shape](double x_a, double x_b) { return Psi(shape, x_a - x_b); });
  }
  const std::vector<double> variation = list.TotalVariation(x);
  ASSERT_EQ(variation.size(), x.cols());
  for (std::size_t c = 0; c < x.cols(); ++c) {
    double sum = 0.0;
    double slack = 0.0;
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const double distance = std::abs(static_cast<double>(x(a, c)) - x(b, c));
        sum += expected.held(a, b) * distance;
        slack += expected.unsure(a, b) * distance;
      }
    }
    EXPECT_NEAR(variation[c], sum, kEpsilon * (static_cast<double>(n) + 150.0) * sum + slack);
  }
}

TEST(NeighbourListTest, HoldsThePairsAboveTheCutoff) {
  std::mt19937_64 rng(1);
  for (std::size_t dimension = 1; dimension <= 6; ++dimension) {
    for (const bool scaled : {false, true}) {
      for (const double cutoff : {0.5, 0.005, 1e-8}) {
        SCOPED_TRACE(::testing::Message()
                     << "dimension " << dimension << ", scaled " << scaled << ", " << cutoff);
        const GaussianKernel first = RandomKernel(150, dimension, 2.0, scaled, &rng);
        const GaussianKernel second = RandomKernel(150, 7 - dimension, 4.0, !scaled, &rng);
        ExpectAgreesWithDefinition({{&first, 2.5}}, cutoff, &rng);
        ExpectAgreesWithDefinition({{&first, 0.3}, {&second, 7.0}}, cutoff, &rng);
      }
    }
  }
}

TEST(NeighbourListTest, SmallAndDegenerateKernels) {
  std::mt19937_64 rng(2);
  const GaussianKernel single{"single", Matrix<double>(1, 2, 3.0F)};
  ExpectAgreesWithDefinition({{&single, 1.0}}, 0.01, &rng);
  const GaussianKernel equal{"equal", Matrix<double>(100, 3, -1.0F)};
  ExpectAgreesWithDefinition({{&equal, 1.0}}, 0.01, &rng);
  ExpectAgreesWithDefinition({{&equal, 0.0}}, 0.01, &rng);
  for (double spread : {1e6, 3e38}) {
    const GaussianKernel apart = RandomKernel(100, 2, spread, false, &rng);
    ExpectAgreesWithDefinition({{&apart, 1.0}}, 1e-6, &rng);
  }
}

// What BruteForceOperator says, up to the pairs left out: each has k < cutoff, |x_b| <= 1.
TEST(NeighbourListTest, DiffersFromTheFullKernelByThePairsLeftOut) {
  std::mt19937_64 rng(3);
  for (std::size_t dimension = 1; dimension <= 6; ++dimension) {
    constexpr std::size_t kCount = 120;
    constexpr double kCutoff = 0.01;
    const GaussianKernel kernel = RandomKernel(kCount, dimension, 3.0, false, &rng);
    const std::vector<WeightedKernel> kernels{{&kernel, 2.0}};
    const NeighbourList list(kernels, {.cutoff = kCutoff});
    const BruteForceOperator all(kernels);
    const Matrix<float> x = RandomMatrix(kCount, 5, 1.0, &rng);
    const auto expect_close = [&](const Matrix<float>& some, const Matrix<float>& full) {
      for (std::size_t a = 0; a < kCount; ++a) {
        double left_out = 0.0;
        double kept = 0.0;
        for (std::size_t b = 0; b < kCount; ++b) {
          const double k = all.Value(a, b);
          (k < 2.0 * kCutoff * (1.0 + 1e-5) ? left_out : kept) += k;
        }
        for (std::size_t c = 0; c < x.cols(); ++c)
          ASSERT_NEAR(some(a, c), full(a, c), left_out + kEpsilon * kCount * kept);
      }
    };
    Matrix<float> some(kCount, 5);
    Matrix<float> full(kCount, 5);
    list.AddProduct(x, 1.0F, &some);
    all.AddProduct(x, 1.0F, &full);
    expect_close(some, full);
    for (FlowShape shape : {FlowShape::kClip, FlowShape::kSign}) {
      some = Matrix<float>(kCount, 5);
      full = Matrix<float>(kCount, 5);
      list.AddFlow(x, shape, 1.0F, &some);
      all.AddFlow(x, shape, 1.0F, &full);
      expect_close(some, full);
    }
    const std::vector<double> variation = list.TotalVariation(x);
    const std::vector<double> full_variation = all.TotalVariation(x);
    for (std::size_t c = 0; c < 5; ++c) {
      EXPECT_LE(variation[c], full_variation[c] * (1.0 + 1e-5));
      EXPECT_GE(variation[c], full_variation[c] - 2.0 * kCutoff * kCount * (kCount - 1) / 2 * 2.0);
    }
  }
}

// Products with the unit vectors are the matrix itself.
Matrix<float> Entries(const GaussianOperator& op) {
  Matrix<float> unit(op.size(), op.size());
  for (std::size_t a = 0; a < op.size(); ++a) unit(a, a) = 1.0F;
  Matrix<float> entries(op.size(), op.size());
  op.AddProduct(unit, 1.0F, &entries);
  return entries;
}

TEST(NeighbourListTest, SampleIsTheListOnAverage) {
  std::mt19937_64 rng(11);
  constexpr std::size_t kCount = 700;
  for (std::size_t dimension : {1, 2, 5}) {
    const GaussianKernel first = RandomKernel(kCount, dimension, 1.0, false, &rng);
    const GaussianKernel second = RandomKernel(kCount, 2, 0.5, false, &rng);
    const std::vector<WeightedKernel> kernels{{&first, 0.7}, {&second, 1.1}};
    const NeighbourList list(kernels, {.cutoff = 0.001});
    constexpr double kNeighbours = 60.0;
    const auto sample = list.Sample(kNeighbours);
    ASSERT_NE(sample, nullptr);
    const double pairs = static_cast<double>(static_cast<NeighbourList&>(*sample).num_pairs());
    EXPECT_NEAR(2.0 * pairs / kCount, kNeighbours, 0.05 * kNeighbours);

    const Matrix<float> k = Entries(list);
    const Matrix<float> drawn = Entries(*sample);
    double sum = 0.0;
    double drawn_sum = 0.0;
    double largest_degree_error = 0.0;
    for (std::size_t a = 0; a < kCount; ++a) {
      double degree = 0.0;
      double drawn_degree = 0.0;
      for (std::size_t b = 0; b < kCount; ++b) {
        ASSERT_NEAR(drawn(a, b), drawn(b, a), 2.0 * kEpsilon * drawn(a, b)) << a << ", " << b;
        EXPECT_TRUE(k(a, b) > 0.0F || drawn(a, b) == 0.0F);
        degree += k(a, b);
        drawn_degree += drawn(a, b);
      }
      largest_degree_error = std::max(largest_degree_error, std::abs(drawn_degree / degree - 1.0));
      sum += degree;
      drawn_sum += drawn_degree;
    }
    // Some 21000 independent draws, and some 60 for a row, of which the worst of 700 is 4 deviations off.
    EXPECT_NEAR(drawn_sum / sum, 1.0, 4.0 / std::sqrt(21000.0));
    EXPECT_LT(largest_degree_error, 5.0 / std::sqrt(kNeighbours));

    // The same every time; and none where it would not be much shorter.
    EXPECT_EQ(Entries(*list.Sample(kNeighbours)), drawn);
    EXPECT_EQ(list.Sample(0.6 * 2.0 * static_cast<double>(list.num_pairs()) / kCount), nullptr);
    EXPECT_EQ(sample->Sample(kNeighbours), nullptr);
  }
}

// Pairs of large weight are kept as they are: only small ones are left to chance.
TEST(NeighbourListTest, SampleKeepsTheStrongestPairs) {
  std::mt19937_64 rng(12);
  const GaussianKernel kernel = RandomKernel(400, 2, 1.5, true, &rng);
  const std::vector<WeightedKernel> kernels{{&kernel, 1.0}};
  const NeighbourList list(kernels, {.cutoff = 0.001});
  const auto sample = list.Sample(80.0);
  ASSERT_NE(sample, nullptr);
  const Matrix<float> k = Entries(list);
  const Matrix<float> drawn = Entries(*sample);
  float threshold = std::numeric_limits<float>::infinity();
  for (std::size_t e = 0; e < k.size(); ++e) {
    if (drawn.data()[e] > k.data()[e]) threshold = std::min(threshold, drawn.data()[e]);
  }
  std::size_t kept = 0;
  std::size_t dropped = 0;
  for (std::size_t e = 0; e < k.size(); ++e) {
    if (k.data()[e] >= threshold) {
      EXPECT_EQ(drawn.data()[e], k.data()[e]);
      ++kept;
    } else if (k.data()[e] > 0.0F) {
      EXPECT_TRUE(drawn.data()[e] == 0.0F || drawn.data()[e] == threshold) << drawn.data()[e];
      if (drawn.data()[e] == 0.0F) ++dropped;
    }
  }
  EXPECT_GT(kept, 0U);
  EXPECT_GT(dropped, 0U);
}

TEST(NeighbourListTest, LabelCostIsTheVariationOfIndicators) {
  std::mt19937_64 rng(13);
  const GaussianKernel first = RandomKernel(150, 3, 2.0, true, &rng);
  const GaussianKernel second = RandomKernel(150, 2, 4.0, false, &rng);
  const std::vector<WeightedKernel> kernels{{&first, 0.7}, {&second, 1.1}};
  const NeighbourList list(kernels, {.cutoff = 0.01});
  std::vector<int> labels(150);
  Matrix<float> indicator(150, 4);
  for (std::size_t a = 0; a < labels.size(); ++a) {
    labels[a] = static_cast<int>(rng() % 4);
    indicator(a, static_cast<std::size_t>(labels[a])) = 1.0F;
  }
  // A star of labels: d(i, j) = l_i + l_j.
  const std::vector<double> length = {0.5, 1.25, 0.0, 2.0};
  Matrix<double> distance(4, 4);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) distance(i, j) = i == j ? 0.0 : length[i] + length[j];
  }
  const std::vector<double> variation = list.TotalVariation(indicator);
  const double expected =
      std::inner_product(variation.begin(), variation.end(), length.begin(), 0.0);
  const std::optional<double> cost = list.LabelCost(labels, distance);
  ASSERT_TRUE(cost.has_value());
  EXPECT_NEAR(*cost, expected, 1e-5 * expected);
  EXPECT_EQ(list.LabelCost(std::vector<int>(150, 2), distance), 0.0);
}

// Each stored value is that of its mirror image. Where several kernels hold a pair, their values are
// added in the order of the row, which may round differently for the mirror image.
TEST(NeighbourListTest, IsSymmetric) {
  std::mt19937_64 rng(4);
  for (std::size_t dimension = 1; dimension <= 6; ++dimension) {
    const GaussianKernel first = RandomKernel(131, dimension, 2.0, true, &rng);
    const GaussianKernel second = RandomKernel(131, 2, 4.0, true, &rng);
    const GaussianKernel third = RandomKernel(131, 3, 1.0, false, &rng);
    const std::vector<WeightedKernel> kernels{{&first, 0.7}, {&second, 1.1}, {&third, 0.1}};
    std::uint64_t all_pairs = 0;
    for (const WeightedKernel& weighted : kernels) {
      const NeighbourList list(std::vector<WeightedKernel>{weighted}, {.cutoff = 0.02});
      const Matrix<float> k = Entries(list);
      std::uint64_t pairs = 0;
      for (std::size_t a = 0; a < k.rows(); ++a) {
        ASSERT_EQ(k(a, a), 0.0F);
        for (std::size_t b = 0; b < a; ++b) {
          ASSERT_EQ(k(a, b), k(b, a)) << a << ", " << b;
          if (k(a, b) > 0.0F) ++pairs;
        }
      }
      EXPECT_GT(pairs, 0U);
      EXPECT_EQ(list.num_pairs(), pairs);
      all_pairs += pairs;
    }
    const NeighbourList list(kernels, {.cutoff = 0.02});
    const Matrix<float> k = Entries(list);
    for (std::size_t a = 0; a < k.rows(); ++a) {
      ASSERT_EQ(k(a, a), 0.0F);
      for (std::size_t b = 0; b < a; ++b)
        ASSERT_NEAR(k(a, b), k(b, a), 2.0 * kEpsilon * k(a, b)) << a << ", " << b;
    }
    EXPECT_EQ(list.num_pairs(), all_pairs) << "a pair counts once per kernel that holds it";
  }
}

TEST(NeighbourListTest, DoesNotDependOnTheNumberOfThreads) {
  std::mt19937_64 rng(5);
  const GaussianKernel first = RandomKernel(3000, 3, 6.0, true, &rng);
  const GaussianKernel second = RandomKernel(3000, 5, 4.0, false, &rng);
  const std::vector<WeightedKernel> kernels{{&first, 0.7}, {&second, 1.1}};
  const Matrix<float> x = RandomMatrix(3000, 6, 1.0, &rng);
  struct Results {
    Matrix<float> product, clip, sign;
    std::vector<double> variation;
    std::uint64_t pairs;
    bool operator==(const Results&) const = default;
  };
  const auto compute = [&] {
    const NeighbourList list(kernels, {.cutoff = 0.05});
    Results results{Matrix<float>(3000, 6), Matrix<float>(3000, 6), Matrix<float>(3000, 6), {}, 0};
    list.AddProduct(x, 1.0F, &results.product);
    list.AddFlow(x, FlowShape::kClip, 1.0F, &results.clip);
    list.AddFlow(x, FlowShape::kSign, 1.0F, &results.sign);
    results.variation = list.TotalVariation(x);
    results.pairs = list.num_pairs();
    return results;
  };
  testing::SetThreadCount(1);
  const Results one = compute();
  testing::SetThreadCount(2);
  const Results two = compute();
  testing::SetThreadCount(0);
  EXPECT_GT(one.pairs, 10000U);
  EXPECT_TRUE(one == two);
}

// <x, greedy flow of x> is the total variation; every flow sums to nothing.
TEST(NeighbourListTest, FlowsAreAntisymmetric) {
  std::mt19937_64 rng(6);
  const GaussianKernel kernel = RandomKernel(400, 2, 3.0, true, &rng);
  const NeighbourList list(std::vector<WeightedKernel>{{&kernel, 1.0}}, {.cutoff = 0.01});
  const Matrix<float> x = RandomMatrix(400, 4, 1.0, &rng);
  const std::vector<double> variation = list.TotalVariation(x);
  for (FlowShape shape : {FlowShape::kClip, FlowShape::kSign}) {
    Matrix<float> flow(400, 4);
    list.AddFlow(x, shape, 1.0F, &flow);
    for (std::size_t c = 0; c < 4; ++c) {
      double attained = 0.0;
      double total = 0.0;
      double size = 0.0;
      for (std::size_t a = 0; a < 400; ++a) {
        attained += static_cast<double>(x(a, c)) * flow(a, c);
        total += flow(a, c);
        size += std::abs(flow(a, c));
      }
      EXPECT_NEAR(total, 0.0, 100 * kEpsilon * (size + variation[c]));
      if (shape == FlowShape::kSign) {
        EXPECT_NEAR(attained, variation[c], 100 * kEpsilon * (size + variation[c]));
      }
    }
  }
}

TEST(NeighbourListTest, KnowsItsSizeBeforehand) {
  std::mt19937_64 rng(7);
  for (std::size_t dimension : {1, 2, 5}) {
    for (std::size_t n : {std::size_t{200}, std::size_t{5000}}) {
      const GaussianKernel kernel = RandomKernel(n, dimension, 5.0, false, &rng);
      const GaussianKernel other = RandomKernel(n, 2, 6.0, false, &rng);
      for (const std::vector<WeightedKernel>& kernels :
           {std::vector<WeightedKernel>{{&kernel, 1.0}},
            std::vector<WeightedKernel>{{&kernel, 1.0}, {&other, 0.5}}}) {
        const double estimate = NeighbourList::EstimateBytes(kernels, 0.05);
        const NeighbourList list(kernels, {.cutoff = 0.05});
        // Rows cost up to 64 bytes each.
        const double needed = static_cast<double>(2 * list.num_pairs() * 8 + 64 * n);
        EXPECT_GT(estimate, needed / 2.0) << list.Description();
        EXPECT_LT(estimate, needed * 2.0) << list.Description();
        EXPECT_GE(list.bytes(), 2 * list.num_pairs() * 8);
        EXPECT_LT(static_cast<double>(list.bytes()), estimate);
      }
    }
  }
}

// So wide that only a part of what is near is looked at: points on a line, of which all are known that are near enough.
TEST(NeighbourListTest, KnowsTheSizeOfWideKernels) {
  constexpr std::size_t kSize = 60000;
  constexpr double kStep = 2.5e-4;
  GaussianKernel kernel{"line", Matrix<double>(kSize, 1), 1.0};
  for (std::size_t a = 0; a < kSize; ++a) kernel.features(a, 0) = kStep * static_cast<double>(a);
  const std::vector<WeightedKernel> kernels{{&kernel, 1.0}};
  const std::vector<double> cutoffs = {0.01, 0.1, 0.7};
  const std::vector<double> estimate = NeighbourList::EstimateEntries(kernels, cutoffs);
  for (std::size_t k = 0; k < cutoffs.size(); ++k) {
    const double reach = std::floor(std::sqrt(-2.0 * std::log(cutoffs[k])) / kStep);
    const double exact = reach * (2.0 * static_cast<double>(kSize) - reach - 1.0);
    EXPECT_NEAR(estimate[k], exact, 0.01 * exact) << cutoffs[k];
  }
  const std::vector<double> descending = {0.1, 0.01};
  EXPECT_THROW(NeighbourList::EstimateEntries(kernels, descending), InvalidInput);
}

TEST(NeighbourListTest, RefusesToGrowTooLarge) {
  std::mt19937_64 rng(8);
  const GaussianKernel kernel = RandomKernel(2000, 2, 0.1, false, &rng);
  const std::vector<WeightedKernel> kernels{{&kernel, 1.0}};
  try {
    const NeighbourList list(kernels, {.cutoff = 0.01, .max_bytes = 1'000'000});
    FAIL() << "4e6 entries in a megabyte";
  } catch (const TooLarge& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("at cutoff 0.01 needs about 0.032"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("the limit of 0.001 GB"));
  }
  EXPECT_NO_THROW(NeighbourList(kernels, {.cutoff = 0.01, .max_bytes = 80'000'000}));
}

TEST(NeighbourListTest, RefusesWhatIsNoList) {
  const GaussianKernel kernel{"line", Matrix<double>(4, 1)};
  const GaussianKernel longer{"longer", Matrix<double>(5, 1)};
  const auto build = [](std::vector<WeightedKernel> kernels, double cutoff) {
    return [=] { NeighbourList(kernels, {.cutoff = cutoff}); };
  };
  for (double cutoff : {0.0, -0.1, 1.0, 2.0, std::nan("")}) {
    ExpectInvalid(build({{&kernel, 1.0}}, cutoff), "the cutoff of the neighbour list is");
    ExpectInvalid([&] { NeighbourList::EstimateBytes({}, 0.5); }, "at least one kernel");
  }
  ExpectInvalid(build({}, 0.5), "at least one kernel");
  ExpectInvalid(build({{&kernel, 1.0}, {&longer, 1.0}}, 0.5),
                "kernel \"longer\" has 5 variables, but kernel \"line\" has 4");
  ExpectInvalid(build({{&kernel, -1.0}}, 0.5), "the factor of kernel \"line\" is -1");
  ExpectInvalid(build({{&kernel, std::nan("")}}, 0.5), "the factor of kernel \"line\" is nan");
  GaussianKernel bad{"bad", Matrix<double>(2, 1)};
  bad.features(1, 0) = std::numeric_limits<float>::infinity();
  ExpectInvalid(build({{&bad, 1.0}}, 0.5), "kernel \"bad\" has feature 0 of variable 1");
}

TEST(NeighbourListTest, DescribesItself) {
  const GaussianKernel kernel{"same", Matrix<double>(4, 1)};
  const NeighbourList list(std::vector<WeightedKernel>{{&kernel, 1.0}}, {.cutoff = 0.25});
  EXPECT_EQ(list.size(), 4U);
  EXPECT_EQ(list.num_pairs(), 6U);
  EXPECT_EQ(list.cutoff(), 0.25);
  EXPECT_EQ(list.Description(), "neighbour list, cutoff 0.25, 6 pairs");
}

TEST(NeighbourListTest, ReweightedIsAskedForEveryKernelOfEveryPair) {
  std::mt19937_64 rng(77);
  GaussianKernel one = RandomKernel(40, 2, 1.0, false, &rng);
  GaussianKernel two = RandomKernel(40, 3, 1.0, true, &rng);
  const std::vector<WeightedKernel> kernels = {{&one, 0.7}, {&two, 1.9}};
  const NeighbourList list(kernels, {.cutoff = 1e-3});
  const auto halved = list.Reweighted([&](std::size_t a, std::size_t kernel,
                                          const NeighbourRow& row, float* weight) {
    for (std::size_t j = 0; j < row.count; ++j) {
      const WeightedKernel& of = kernels[kernel];
      EXPECT_NEAR(row.weight[j], of.factor * KernelValue(*of.kernel, a, row.neighbour[j]), 1e-5);
      weight[j] = kernel == 0 ? 0.0F : 0.5F * row.weight[j];
    }
  });
  const WeightedKernel half{&two, 0.95};
  const NeighbourList expected({&half, 1}, {.cutoff = 1e-3});
  const std::vector<float> degrees = Degrees(*halved);
  const std::vector<float> of_half = Degrees(expected);
  for (std::size_t a = 0; a < 40; ++a) EXPECT_NEAR(degrees[a], of_half[a], 1e-4);
}

}  // namespace
}  // namespace submarine::internal
