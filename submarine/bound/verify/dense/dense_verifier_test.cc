#include "submarine/bound/verify/dense/dense_verifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "submarine/base/error_test_util.h"
#include "submarine/base/parallel.h"
#include "submarine/base/parallel_test_util.h"
#include "submarine/bound/verify/dense/dense_verifier_internal.h"
#include "submarine/bound/verify/dense/parts_verifier.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;
using testing::NextLabeling;
using testing::RandomModels;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const PairOptions kExact{.cutoff = 0.0, .far_tolerance = 0.0};

long double LogSumExp(const std::vector<long double>& x) {
  const long double largest = *std::max_element(x.begin(), x.end());
  long double sum = 0.0L;
  for (long double value : x) sum += std::exp(value - largest);
  return largest + std::log(sum);
}

long double EnumeratedLogZ(const DenseCrf& model) {
  std::vector<long double> exponents;
  std::vector<int> labeling(model.num_variables(), 0);
  do {
    exponents.push_back(-model.Energy(labeling));
  } while (NextLabeling(&labeling, model.num_labels()));
  return LogSumExp(exponents);
}

long double Psi(FlowShape shape, long double x) {
  if (shape == FlowShape::kClip) return std::clamp(x, -1.0L, 1.0L);
  return x > 0.0L ? 1.0L : x < 0.0L ? -1.0L : 0.0L;
}

// The bound of the proof over all pairs of at least this weight, from docs/math.md.
long double UpperByDefinition(const DenseCrf& model, const FlowProof& proof,
                              double least_weight = 0.0) {
  const std::size_t n = model.num_variables();
  long double bound = -model.constant();
  for (std::size_t a = 0; a < n; ++a) {
    std::vector<long double> exponents;
    for (int i = 0; i < model.num_labels(); ++i) exponents.push_back(-model.unary()(a, i));
    for (std::size_t b = 0; b < n; ++b) {
      const long double weight = model.PairWeight(a, b);
      if (a == b || weight < least_weight) continue;
      for (int c = 0; c < model.num_cuts(); ++c) {
        long double q = 0.0L;
        for (const FlowTerm& term : proof) {
          const float difference = term.v(a, c) - term.v(b, c);
          q += term.share * Psi(term.shape, difference);
        }
        for (int i : model.labels().cuts->set(c)) {
          exponents[i] -= weight * model.metric().length[c] * q;
        }
      }
    }
    bound += LogSumExp(exponents);
  }
  return bound;
}

Matrix<double> Normalised(const Matrix<float>& marginals) {
  Matrix<double> y(marginals.rows(), marginals.cols());
  for (std::size_t a = 0; a < y.rows(); ++a) {
    double sum = 0.0;
    for (float p : marginals.row(a)) sum += p;
    for (std::size_t i = 0; i < y.cols(); ++i) y(a, i) = marginals(a, i) / sum;
  }
  return y;
}

struct PointValues {
  long double lower;
  long double dual;
};

PointValues AtByDefinition(const DenseCrf& model, const Matrix<float>& marginals) {
  const Matrix<double> y = Normalised(marginals);
  const auto labels = static_cast<std::size_t>(model.num_labels());
  long double unary = -model.constant();
  long double expected = 0.0L;
  long double variation = 0.0L;
  for (std::size_t a = 0; a < y.rows(); ++a) {
    for (std::size_t i = 0; i < labels; ++i) {
      if (y(a, i) > 0.0) unary -= y(a, i) * std::log(static_cast<long double>(y(a, i)));
      unary -= static_cast<long double>(y(a, i)) * model.unary()(a, i);
    }
    for (std::size_t b = a + 1; b < y.rows(); ++b) {
      const long double w = model.PairWeight(a, b);
      for (std::size_t i = 0; i < labels; ++i) {
        for (std::size_t j = 0; j < labels; ++j) {
          expected += w * y(a, i) * y(b, j) * model.metric().distance(i, j);
        }
      }
      for (int c = 0; c < model.num_cuts(); ++c) {
        long double difference = 0.0L;
        for (int i : model.labels().cuts->set(c)) {
          difference += static_cast<long double>(y(a, i)) - y(b, i);
        }
        variation += w * model.metric().length[c] * std::abs(difference);
      }
    }
  }
  return {unary - expected, unary - variation};
}

Matrix<float> RandomPotential(const DenseCrf& model, double spread, RandomModels* random) {
  Matrix<float> v(model.num_variables(), static_cast<std::size_t>(model.num_cuts()));
  for (std::size_t k = 0; k < v.size(); ++k) {
    v.data()[k] =
        random->Integer(0, 4) == 0 ? 0.0F : static_cast<float>(random->Real(-spread, spread));
  }
  return v;
}

FlowProof RandomProof(const DenseCrf& model, RandomModels* random) {
  FlowProof proof;
  const int terms = random->Integer(1, 3);
  for (int t = 0; t < terms; ++t) {
    proof.push_back({random->Real(0.0, 1.0) / terms,
                     random->Integer(0, 1) == 0 ? FlowShape::kClip : FlowShape::kSign,
                     RandomPotential(model, std::pow(10.0, random->Real(-1.0, 2.0)), random)});
  }
  return proof;
}

// Rows that are distributions up to a factor: with one certain label, uniform, and in between.
Matrix<float> RandomMarginals(const DenseCrf& model, RandomModels* random) {
  Matrix<float> y(model.num_variables(), static_cast<std::size_t>(model.num_labels()));
  for (std::size_t a = 0; a < y.rows(); ++a) {
    const int kind = random->Integer(0, 2);
    for (float& p : y.row(a)) {
      p = kind == 0 ? 0.0F : kind == 1 ? 1.0F : static_cast<float>(random->Real(0.0, 1.0));
    }
    y(a, random->Integer(0, model.num_labels() - 1)) += 0.5F;
  }
  return y;
}

// Large enough for a tree of many leaves; marginals that are alike where features are.
DenseCrf Medium(RandomModels* random) {
  return random->Dense(random->Integer(30, 300), random->Labels(random->Integer(2, 6)));
}

TEST(DenseVerifierTest, UpperFollowsTheDefinition) {
  RandomModels random(1);
  for (int trial = 0; trial < 60; ++trial) {
    const DenseCrf model =
        trial % 2 == 0 ? Medium(&random) : random.Dense(random.Integer(1, 8), random.Labels(3));
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    const FlowProof proof = RandomProof(model, &random);
    const long double expected = UpperByDefinition(model, proof);
    const long double upper = VerifiedUpper(model, proof, kExact);
    EXPECT_GE(upper, expected) << "not rounded to the safe side";
    EXPECT_LE(upper, expected + 1e-9L * (1.0L + std::abs(expected)));
  }
}

TEST(DenseVerifierTest, WithoutProofItIsTheUnaryBound) {
  RandomModels random(2);
  const DenseCrf model = Medium(&random);
  const DenseCrf unaries(model.unary(), {}, model.labels(), model.counting(), model.constant());
  EXPECT_EQ(VerifiedUpper(model, {}, kExact), VerifiedUpper(unaries, {}, kExact));
  EXPECT_NEAR(VerifiedUpper(unaries, {}, kExact),
              static_cast<double>(UpperByDefinition(unaries, {})), 1e-9);
}

// Without scales the pairs below the cutoff are exactly the ones left out.
TEST(DenseVerifierTest, UpperWithACutoffFollowsTheDefinition) {
  RandomModels random(13);
  for (int trial = 0; trial < 40; ++trial) {
    const DenseCrf drawn = Medium(&random);
    GaussianKernel kernel = drawn.kernels().front();
    kernel.scale.clear();
    kernel.weight = 1.0;
    const DenseCrf model(drawn.unary(), {kernel}, drawn.labels());
    const FlowProof proof = RandomProof(model, &random);
    for (double cutoff : {1e-3, 0.1, 0.5}) {
      const long double expected = UpperByDefinition(model, proof, 2.0 * cutoff);
      const long double upper = VerifiedUpper(model, proof, {.cutoff = cutoff});
      EXPECT_GE(upper, expected);
      EXPECT_LE(upper, expected + 1e-9L * (1.0L + std::abs(expected)));
    }
  }
}

// A pair left out is left out at both ends, also with scales. Then all s sum to 0; with weights so
// small that log sum exp is linear up to squares, reversing the flow changes nothing. A pair
// counted at only one end would change the bound by a good part of the cutoff.
TEST(DenseVerifierTest, LeavesPairsOutAtBothEnds) {
  RandomModels random(3);
  for (int trial = 0; trial < 60; ++trial) {
    const DenseCrf drawn = Medium(&random);
    std::vector<GaussianKernel> kernels = drawn.kernels();
    for (GaussianKernel& kernel : kernels) kernel.weight = 1e-7;
    const DenseCrf model(Matrix<float>(drawn.num_variables(), drawn.unary().cols(), 0.0F), kernels,
                         PottsLabels(drawn.num_labels()));
    FlowProof proof{{1.0, FlowShape::kSign, RandomPotential(model, 1.0, &random)}};
    FlowProof reversed = proof;
    for (std::size_t k = 0; k < reversed[0].v.size(); ++k) reversed[0].v.data()[k] *= -1.0F;
    for (double cutoff : {1e-8, 3e-8, 6e-8, 9e-8}) {
      EXPECT_NEAR(VerifiedUpper(model, proof, {.cutoff = cutoff}),
                  VerifiedUpper(model, reversed, {.cutoff = cutoff}), 1e-10)
          << "trial " << trial << ", cutoff " << cutoff;
    }
  }
}

TEST(DenseVerifierTest, UpperBoundsLogZAtEveryCutoff) {
  RandomModels random(4);
  for (int trial = 0; trial < 300; ++trial) {
    const DenseCrf model = random.Dense(random.Integer(1, 6), random.Labels(random.Integer(2, 3)));
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    const long double exact = EnumeratedLogZ(model);
    const FlowProof proof = RandomProof(model, &random);
    // The enumeration sums energies in double.
    const long double rounding = 1e-12L * (1.0L + std::abs(exact));
    for (double cutoff : {0.0, 1e-4, 0.1, 1.0, 100.0}) {
      EXPECT_GE(VerifiedUpper(model, proof, {.cutoff = cutoff}), exact - rounding);
    }
    const VerifiedPoint at = VerifiedAt(model, RandomMarginals(model, &random), {});
    EXPECT_LE(at.lower, exact + rounding);
    EXPECT_LE(at.dual, VerifiedUpper(model, proof, {})) << "weak duality";
  }
}

TEST(DenseVerifierTest, CutoffsThatKeepAllPairsChangeNothing) {
  RandomModels random(5);
  GaussianKernel kernel{"all alike", Matrix<double>(100, 3, 1.0F), 0.01};
  const DenseCrf model(Matrix<float>(100, 3, 0.0F), {kernel}, PottsLabels(3));
  const FlowProof proof{{1.0, FlowShape::kClip, RandomPotential(model, 1.0, &random)}};
  const double all = VerifiedUpper(model, proof, kExact);
  // The slack for rounding is all that may differ.
  EXPECT_NEAR(VerifiedUpper(model, proof, {.cutoff = 0.01}), all, 1e-9) << "k = 1 is not below 1";
  EXPECT_GT(std::abs(VerifiedUpper(model, proof, {.cutoff = 0.0100001}) - all), 1e-3);
}

// Adding a constant to a growing sum errs in the same direction every time, so the error grows with
// the number of pairs.
TEST(DenseVerifierTest, IsSafeWithManyEqualPairs) {
  constexpr std::size_t kVariables = 3000;
  for (double weight : {0.1, 0.3, 0.7}) {
    const GaussianKernel kernel{"all alike", Matrix<double>(kVariables, 1), weight};
    const DenseCrf model(Matrix<float>(kVariables, 2), {kernel}, PottsLabels(2));
    // Half of the variables send all they can to the other half, on the first label.
    Matrix<float> v(kVariables, 2, 0.0F);
    for (std::size_t a = 0; a < kVariables; ++a) v(a, 0) = a % 2 == 0 ? -1.0F : 1.0F;
    const long double sent = static_cast<long double>(weight) * (kVariables / 2);
    const long double expected =
        kVariables / 2 * (LogSumExp({sent, 0.0L}) + LogSumExp({-sent, 0.0L}));
    const long double upper = VerifiedUpper(model, {{1.0, FlowShape::kSign, v}}, kExact);
    EXPECT_GE(upper, expected) << "weight " << weight;
    EXPECT_LE(upper, expected + 1e-5L) << "N times N roundings of N weights";

    Matrix<float> y(kVariables, 2, 0.0F);
    for (std::size_t a = 0; a < kVariables; ++a) y(a, a % 2) = 1.0F;
    const long double apart = 2.0L * weight * (kVariables / 2) * (kVariables / 2);
    const VerifiedPoint at = VerifiedAt(model, y, kExact);
    EXPECT_LE(at.lower, -apart);
    EXPECT_LE(at.dual, -apart);
    EXPECT_GE(at.lower, -apart * (1.0L + 1e-11L));
    EXPECT_GE(at.dual, -apart * (1.0L + 1e-11L));
  }
}

TEST(DenseVerifierTest, PointValuesFollowTheDefinition) {
  RandomModels random(6);
  for (int trial = 0; trial < 60; ++trial) {
    const DenseCrf model =
        trial % 2 == 0 ? Medium(&random) : random.Dense(random.Integer(1, 8), random.Labels(3));
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    const Matrix<float> marginals = RandomMarginals(model, &random);
    const PointValues expected = AtByDefinition(model, marginals);
    const VerifiedPoint at = VerifiedAt(model, marginals, kExact);
    EXPECT_LE(at.lower, expected.lower);
    EXPECT_LE(at.dual, expected.dual);
    EXPECT_GE(at.lower, expected.lower - 1e-9L * (1.0L + std::abs(expected.lower)));
    EXPECT_GE(at.dual, expected.dual - 1e-9L * (1.0L + std::abs(expected.dual)));
    // Groups whose pairs are all alike lose nothing but the last digits.
    EXPECT_LE(at.loss, 1e-9 * (1.0 + std::abs(at.lower)));
  }
}

// Marginals that vary slowly in feature space, where groups are worth bounding.
Matrix<float> SmoothMarginals(const DenseCrf& model) {
  Matrix<float> y(model.num_variables(), static_cast<std::size_t>(model.num_labels()));
  const Matrix<double>& features = model.kernels().front().features;
  for (std::size_t a = 0; a < y.rows(); ++a) {
    for (std::size_t i = 0; i < y.cols(); ++i) {
      y(a, i) =
          static_cast<float>(std::exp(2.0 * std::sin(features(a, 0) + static_cast<double>(i))));
    }
  }
  return y;
}

// Each share by definition: the sum of all pairs of its variables, of which those that leave count half.
TEST(DenseVerifierTest, SharesOfThePartsSumToTheLowerBound) {
  RandomModels random(71);
  for (int trial = 0; trial < 40; ++trial) {
    const DenseCrf model = Medium(&random);
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    const std::size_t n = model.num_variables();
    const int parts = random.Integer(1, 4);
    // Half of the time parts that are together in feature space, whose groups count whole, half or not at all.
    std::vector<int> part(n);
    for (std::size_t a = 0; a < n; ++a) {
      part[a] = trial % 2 == 0 ? random.Integer(0, parts - 1)
                               : (model.kernels().front().features(a, 0) > 0.0 ? 1 : 0);
    }
    for (const Matrix<float>& marginals :
         {RandomMarginals(model, &random), SmoothMarginals(model)}) {
      const long double exact = AtByDefinition(model, marginals).lower;
      const long double slack = 1e-9L * (1.0L + std::abs(exact));
      for (const double tolerance : {0.0, 1e-2}) {
        long double sum = -model.constant();
        double loss = 0.0;
        for (int p = 0; p < std::max(2, parts); ++p) {
          std::vector<unsigned char> own(n);
          for (std::size_t a = 0; a < n; ++a) own[a] = part[a] == p ? 1 : 0;
          const VerifiedShare share =
              VerifiedLowerShare(model, marginals, own, {.far_tolerance = tolerance});
          sum += share.lower;
          loss += share.loss;
        }
        EXPECT_LE(sum, exact);
        EXPECT_GE(sum, exact - loss - slack);
        EXPECT_LE(loss, tolerance == 0.0 ? slack : 1.0L + std::abs(exact));
      }
    }
  }
  const DenseCrf model = Medium(&random);
  const std::vector<unsigned char> short_one(model.num_variables() - 1, 1);
  EXPECT_THROW(VerifiedLowerShare(model, RandomMarginals(model, &random), short_one, {}),
               InvalidInput);
}

// A part of a model: some consecutive variables.
DenseCrf PartOf(const DenseCrf& model, const VariableRange& range) {
  const std::size_t n = range.end - range.begin;
  Matrix<float> unary(n, model.unary().cols());
  std::copy_n(model.unary().row(range.begin).data(), unary.size(), unary.data());
  std::vector<GaussianKernel> kernels = model.kernels();
  for (GaussianKernel& kernel : kernels) {
    Matrix<double> features(n, kernel.dimension());
    std::copy_n(kernel.features.row(range.begin).data(), features.size(), features.data());
    kernel.features = std::move(features);
    if (kernel.scale.empty()) continue;
    const auto begin = kernel.scale.begin() + static_cast<std::ptrdiff_t>(range.begin);
    kernel.scale = std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(n));
  }
  return {std::move(unary), std::move(kernels), model.labels(), model.counting()};
}

Matrix<float> RowsOf(const Matrix<float>& matrix, const VariableRange& range) {
  Matrix<float> rows(range.end - range.begin, matrix.cols());
  std::copy_n(matrix.row(range.begin).data(), rows.size(), rows.data());
  return rows;
}

TEST(DenseVerifierTest, PartsProveNoMoreThanTheWhole) {
  RandomModels random(72);
  for (int trial = 0; trial < 300; ++trial) {
    const DenseCrf drawn =
        trial % 3 == 0 ? Medium(&random) : random.Dense(random.Integer(2, 30), random.Labels(3));
    const DenseCrf model(drawn.unary(), drawn.kernels(), drawn.labels(), drawn.counting());
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    const std::size_t n = model.num_variables();
    Matrix<float> marginals = RandomMarginals(model, &random);
    std::vector<int> labeling(n);
    const bool at_labels = trial % 2 == 1;
    if (at_labels) {
      for (int& label : labeling) label = random.Integer(0, model.num_labels() - 1);
      marginals = dense_verifier::CertainOf(model, labeling);
    }
    const long double exact = AtByDefinition(model, marginals).lower;
    const auto number = [&](std::size_t low, std::size_t high) {
      return static_cast<std::size_t>(
          random.Integer(static_cast<int>(low), static_cast<int>(high)));
    };
    LowerOfParts parts(model.kernels(), number(1, n));
    const bool of_all = trial % 4 == 0;  // windows
    const bool skips = trial % 7 == 1;
    for (std::size_t begin = 0; begin < n;) {
      const VariableRange part{begin, number(begin + 1, n)};
      const VariableRange range =
          of_all ? VariableRange{0, n} : VariableRange{number(0, begin), number(part.end, n)};
      if (skips && begin == 0) {
        parts.Skip(part, range, PartOf(model, range));
      } else if (at_labels) {
        const auto from = labeling.begin() + static_cast<std::ptrdiff_t>(range.begin);
        const auto to = labeling.begin() + static_cast<std::ptrdiff_t>(range.end);
        parts.Add(part, range, PartOf(model, range), std::vector<int>(from, to), kExact);
      } else {
        parts.Add(part, range, PartOf(model, range), RowsOf(marginals, range), kExact);
      }
      begin = part.end;
    }
    long double one_label = std::numeric_limits<long double>::infinity();
    for (std::size_t l = 0; l < model.unary().cols(); ++l) {
      long double sum = 0.0L;
      for (std::size_t a = 0; a < n; ++a) sum += model.unary()(a, l);
      one_label = std::min(one_label, sum);
    }
    const long double slack = 1e-9L * (1.0L + std::abs(exact) + std::abs(one_label));
    EXPECT_LE(parts.OneLabel().value(), -one_label);
    EXPECT_GE(parts.OneLabel().value(), -one_label - slack);
    const std::optional<Bound> sum = parts.Sum();
    ASSERT_EQ(sum.has_value(), !skips);
    if (skips) continue;
    EXPECT_LE(sum->value(), exact);
    EXPECT_GE(sum->value(), exact - (of_all ? 0.0L : parts.loss()) - slack);
  }
}

TEST(DenseVerifierTest, RefusesPartsOfAnotherModel) {
  RandomModels random(73);
  const DenseCrf drawn = Medium(&random);
  const DenseCrf model(drawn.unary(), drawn.kernels(), drawn.labels(), drawn.counting());
  const Matrix<float> y = RandomMarginals(model, &random);
  const std::size_t n = model.num_variables();
  LowerOfParts parts(model.kernels(), 7);
  ExpectInvalid([&] { parts.Sum(); }, "parts end at variable 0");
  const VariableRange front{0, 10};
  ExpectInvalid(
      [&] {
        parts.Add({1, 5}, front, PartOf(model, front), RowsOf(y, front), kExact);
      },
      "expected one from 0 on");
  ExpectInvalid(
      [&] {
        parts.Add({0, 11}, front, PartOf(model, front), RowsOf(y, front), kExact);
      },
      "expected one around 0 to 11");
  // Of other variables, though as many.
  const VariableRange other{n - 10, n};
  ExpectInvalid([&] { parts.Add(front, front, PartOf(model, other), RowsOf(y, front), kExact); },
                "not those of the whole");
  std::vector<GaussianKernel> heavier = model.kernels();
  heavier.front().weight *= 0.5;
  const DenseCrf weak(model.unary(), heavier, model.labels(), model.counting());
  ExpectInvalid([&] { parts.Add(front, {0, n}, weak, y, kExact); }, "not those of the whole");
  ExpectInvalid([&] { LowerOfParts(model.kernels(), 0); }, "groups of no variables");
}

TEST(DenseVerifierTest, GroupsAreBoundedFromTheRightSide) {
  RandomModels random(7);
  int grouped = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const DenseCrf model = Medium(&random);
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    for (const Matrix<float>& marginals :
         {RandomMarginals(model, &random), SmoothMarginals(model)}) {
      const PointValues exact = AtByDefinition(model, marginals);
      const long double unary_part =
          std::abs(AtByDefinition(DenseCrf(model.unary(), {}, model.labels(), model.counting(),
                                           model.constant()),
                                  marginals)
                       .lower);
      for (double tolerance : {1e-4, 1e-2, 1.0, 1e6}) {
        const VerifiedPoint at = VerifiedAt(model, marginals, {.far_tolerance = tolerance});
        EXPECT_LE(at.lower, exact.lower);
        EXPECT_LE(at.dual, exact.dual);
        const long double rounding = 1e-9L * (1.0L + std::abs(exact.lower) + at.loss);
        EXPECT_GE(at.lower + at.loss, exact.lower - rounding);
        EXPECT_GE(at.dual + at.loss, exact.dual - rounding);
        // Here the sample holds almost every leaf, so the tolerance is kept.
        EXPECT_LE(at.loss, tolerance * std::max({1.0L, std::abs(exact.lower), unary_part}));
        if (at.loss > 1e-6) ++grouped;
      }
    }
  }
  EXPECT_GE(grouped, 100) << "too few cases bound any groups: the test tests nothing";
}

TEST(DenseVerifierTest, EnergyIsNeverBelowTheTruth) {
  RandomModels random(8);
  for (int trial = 0; trial < 60; ++trial) {
    const DenseCrf model = Medium(&random);
    std::vector<int> labeling(model.num_variables());
    for (int& label : labeling) label = random.Integer(0, model.num_labels() - 1);
    const double energy = model.Energy(labeling);
    const double rounding = 1e-9 * (1.0 + std::abs(energy));
    EXPECT_NEAR(VerifiedEnergy(model, labeling, kExact), energy, rounding);
    // Labelings have sums of their own; they mean the same as those of marginals.
    const VerifiedPoint at_labels = VerifiedAt(model, labeling, kExact);
    Matrix<float> certain(labeling.size(), static_cast<std::size_t>(model.num_labels()));
    for (std::size_t a = 0; a < labeling.size(); ++a)
      certain(a, static_cast<std::size_t>(labeling[a])) = 1.0F;
    const VerifiedPoint at_marginals = VerifiedAt(model, certain, kExact);
    EXPECT_NEAR(at_labels.lower, at_marginals.lower, rounding);
    EXPECT_NEAR(at_labels.dual, at_marginals.dual, rounding);
    for (double tolerance : {1e-3, 1.0}) {
      EXPECT_GE(VerifiedEnergy(model, labeling, {.far_tolerance = tolerance}), energy - rounding);
    }
  }
}

TEST(DenseVerifierTest, EitherValueAlone) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  RandomModels random(18);
  for (int trial = 0; trial < 40; ++trial) {
    const DenseCrf model = Medium(&random);
    const Matrix<float> marginals = RandomMarginals(model, &random);
    const VerifiedPoint both = VerifiedAt(model, marginals, kExact);
    const VerifiedPoint lower = VerifiedAt(model, marginals, kExact, VerifiedValues::kLower);
    EXPECT_EQ(lower.lower, both.lower);
    EXPECT_EQ(lower.dual, kNone);
    const VerifiedPoint dual = VerifiedAt(model, marginals, kExact, VerifiedValues::kDual);
    EXPECT_EQ(dual.dual, both.dual);
    EXPECT_EQ(dual.lower, kNone);
    // In groups, each loses what it may and no more than it says.
    const PairOptions grouped{.far_tolerance = 1e-2};
    const VerifiedPoint at_most = VerifiedAt(model, marginals, grouped, VerifiedValues::kDual);
    EXPECT_LE(at_most.dual, both.dual + 1e-9 * (1.0 + std::abs(both.dual)));
    EXPECT_GE(at_most.dual, both.dual - at_most.loss - 1e-9 * (1.0 + std::abs(both.dual)));
    const VerifiedPoint lower_most = VerifiedAt(model, marginals, grouped, VerifiedValues::kLower);
    EXPECT_LE(lower_most.lower, both.lower + 1e-9 * (1.0 + std::abs(both.lower)));
    EXPECT_GE(lower_most.lower, both.lower - lower_most.loss - 1e-9 * (1.0 + std::abs(both.lower)));
  }
}

// A metric that its cuts only bound from below: the lower bound is about the metric, the dual about
// the cuts.
TEST(DenseVerifierTest, ContractedMetricsKeepTheirOwnDistances) {
  RandomModels random(9);
  LabelSpace labels = LinearLabels(4);
  for (double& length : labels.metrics[0].length) length *= 0.7;
  labels.metrics[0].distortion = 1.0 / 0.7;
  for (int trial = 0; trial < 30; ++trial) {
    const DenseCrf model = random.Dense(random.Integer(2, 100), labels);
    const Matrix<float> marginals = RandomMarginals(model, &random);
    const PointValues expected = AtByDefinition(model, marginals);
    const VerifiedPoint at = VerifiedAt(model, marginals, kExact);
    EXPECT_NEAR(at.lower, static_cast<double>(expected.lower), 1e-9 * (1.0 + std::abs(at.lower)));
    EXPECT_NEAR(at.dual, static_cast<double>(expected.dual), 1e-9 * (1.0 + std::abs(at.dual)));
    const VerifiedPoint grouped = VerifiedAt(model, marginals, {.far_tolerance = 1.0});
    EXPECT_LE(grouped.lower, expected.lower);
    EXPECT_LE(grouped.dual, expected.dual);
  }
}

TEST(DenseVerifierTest, ThreadsDoNotChangeABit) {
  RandomModels random(10);
  GaussianKernel kernel{"random", Matrix<double>(3000, 3), 0.5};
  for (std::size_t k = 0; k < kernel.features.size(); ++k) {
    kernel.features.data()[k] = static_cast<float>(random.Real(-4.0, 4.0));
  }
  const DenseCrf model(Matrix<float>(3000, 4, 0.0F), {kernel}, PottsLabels(4));
  const FlowProof proof = RandomProof(model, &random);
  const Matrix<float> y = SmoothMarginals(model);
  std::vector<double> values;
  for (int threads : {1, 2}) {
    testing::SetThreadCount(threads);
    const VerifiedPoint at = VerifiedAt(model, y, {.far_tolerance = 1e-2});
    values.insert(values.end(), {VerifiedUpper(model, proof, {.cutoff = 0.01}), at.lower, at.dual,
                                 at.loss, EstimatePairs(model, 0.01)});
  }
  testing::SetThreadCount(0);
  for (std::size_t k = 0; k < 5; ++k) EXPECT_EQ(values[k], values[k + 5]) << "value " << k;
}

TEST(DenseVerifierTest, ReportsProgressAndCanBeInterrupted) {
  RandomModels random(11);
  const DenseCrf model = random.Dense(300, PottsLabels(3));
  const FlowProof proof = RandomProof(model, &random);
  const Matrix<float> y = RandomMarginals(model, &random);
  std::vector<double> done;
  PairOptions options;
  options.on_progress = [&](double share) {
    done.push_back(share);
    return true;
  };
  const auto expect_progress = [&] {
    ASSERT_FALSE(done.empty());
    EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
    EXPECT_GE(done.front(), 0.0);
    EXPECT_EQ(done.back(), 1.0);
    done.clear();
  };
  VerifiedUpper(model, proof, options);
  expect_progress();
  VerifiedAt(model, y, options);
  expect_progress();
  options.on_progress = [](double) { return false; };
  EXPECT_THROW(VerifiedUpper(model, proof, options), Interrupted);
  EXPECT_THROW(VerifiedAt(model, y, options), Interrupted);
  EXPECT_THROW(VerifiedEnergy(model, std::vector<int>(300, 0), options), Interrupted);
}

TEST(DenseVerifierTest, EstimatesPairs) {
  RandomModels random(12);
  for (int trial = 0; trial < 20; ++trial) {
    GaussianKernel kernel = random.Kernel(150);
    kernel.scale.clear();
    kernel.weight = 2.0;
    const DenseCrf model(Matrix<float>(150, 2, 0.0F), {kernel}, PottsLabels(2));
    for (double cutoff : {0.0, 1e-3, 0.1, 1.0, 1.999, 3.0}) {
      double pairs = 0.0;
      for (std::size_t a = 0; a < 150; ++a) {
        for (std::size_t b = a + 1; b < 150; ++b) {
          pairs += 2.0 * KernelValue(kernel, a, b) >= cutoff;
        }
      }
      EXPECT_EQ(EstimatePairs(model, cutoff), pairs) << "small models are counted exactly";
    }
  }
  // Points on a line, 0.1 apart: about 2 * 10 * sqrt(2 ln 10) = 43 partners within k >= 0.1.
  GaussianKernel line{"line", Matrix<double>(20000, 1), 1.0};
  for (std::size_t a = 0; a < 20000; ++a) line.features(a, 0) = 0.1F * static_cast<float>(a);
  const DenseCrf model(Matrix<float>(20000, 2, 0.0F), {line}, PottsLabels(2));
  EXPECT_NEAR(EstimatePairs(model, 0.1), 20000.0 * 21.0, 20000.0 * 0.5);
}

// Weights that the census compares are those with the largest scales of two leaves, as in the
// verifier; scales that differ little move few pairs across a cutoff.
TEST(DenseVerifierTest, CensusFollowsTheDefinition) {
  RandomModels random(14);
  for (int trial = 0; trial < 40; ++trial) {
    std::vector<GaussianKernel> kernels = {random.Kernel(150), random.Kernel(150)};
    const bool with_scales = trial % 2 == 1;
    for (GaussianKernel& kernel : kernels) {
      kernel.weight = random.Real(0.1, 5.0);
      kernel.scale.assign(with_scales ? 150 : 0, 0.0);
      for (double& scale : kernel.scale) scale = random.Real(0.099, 0.1);
    }
    const DenseCrf model(Matrix<float>(150, 2, 0.0F), kernels, PottsLabels(2));
    const PairCensus census = CountPairs(model);
    ASSERT_FALSE(census.rows.empty());
    EXPECT_LT(census.rows.front().left_out, 1e-4);
    for (std::size_t r = 0; r < census.rows.size(); ++r) {
      const PairCensus::Row& row = census.rows[r];
      double pairs = 0.0;
      double kept = 0.0;
      double total = 0.0;
      for (const GaussianKernel& kernel : kernels) {
        for (std::size_t a = 0; a < 150; ++a) {
          for (std::size_t b = a + 1; b < 150; ++b) {
            const double weight = kernel.weight * KernelValue(kernel, a, b);
            const bool keeps = weight >= row.cutoff;
            pairs += keeps ? 1.0 : 0.0;
            kept += keeps ? weight : 0.0;
            total += weight;
          }
        }
      }
      SCOPED_TRACE(::testing::Message() << "trial " << trial << ", cutoff " << row.cutoff);
      if (!with_scales) {
        EXPECT_EQ(row.pairs, pairs) << "small models are counted exactly";
      }
      EXPECT_NEAR(row.pairs, pairs, 0.02 * 2.0 * 150.0 * 149.0 / 2.0);
      EXPECT_NEAR(row.left_out, 1.0 - kept / total, 0.02);
      if (r > 0) {
        EXPECT_GT(row.left_out, 1e-4) << "more rows than needed";
        EXPECT_GE(row.cutoff, 2.0 * census.rows[r - 1].cutoff);
        EXPECT_LE(row.cutoff, 3.0 * census.rows[r - 1].cutoff);
        EXPECT_LE(row.pairs, census.rows[r - 1].pairs);
        EXPECT_GE(row.left_out, census.rows[r - 1].left_out);
      }
    }
  }
}

TEST(DenseVerifierTest, ModelsWithoutPairsHaveAnEmptyCensus) {
  EXPECT_TRUE(CountPairs(DenseCrf(Matrix<float>(5, 2), {}, PottsLabels(2))).rows.empty());
  GaussianKernel kernel{"one", Matrix<double>(1, 1), 1.0};
  EXPECT_TRUE(CountPairs(DenseCrf(Matrix<float>(1, 2), {kernel}, PottsLabels(2))).rows.empty());
  kernel = {"no weight", Matrix<double>(5, 1), 0.0};
  EXPECT_TRUE(CountPairs(DenseCrf(Matrix<float>(5, 2), {kernel}, PottsLabels(2))).rows.empty());
  kernel = {"no scale", Matrix<double>(5, 1), 1.0, std::vector<double>(5, 0.0)};
  const DenseCrf model(Matrix<float>(5, 2), {kernel}, PottsLabels(2));
  EXPECT_TRUE(CountPairs(model).rows.empty());
  EXPECT_EQ(EstimatePairs(model, 0.0), 0.0);
}

class DenseEvidenceTest : public ::testing::Test {
 protected:
  const DenseCrf model_{
      Matrix<float>(3, 2, 1.0F), {GaussianKernel{"flat", Matrix<double>(3, 1)}}, LinearLabels(2)};
  const Matrix<float> v_{3, static_cast<std::size_t>(model_.num_cuts()), 0.5F};
  const Matrix<float> y_{3, 2, 0.5F};
};

TEST_F(DenseEvidenceTest, ProofsMustFitTheModel) {
  const auto verify = [this](FlowProof proof) {
    return [this, proof] { VerifiedUpper(model_, proof, {}); };
  };
  EXPECT_NO_THROW(verify({{1.0, FlowShape::kClip, v_}})());
  for (const auto& [rows, cols] : {std::pair(2, 2), {3, 1}, {4, 2}, {0, 0}}) {
    ExpectInvalid(
        verify({{0.5, FlowShape::kClip, v_}, {0.5, FlowShape::kSign, Matrix<float>(rows, cols)}}),
        "potential 1 of the proof is ");
  }
  for (float bad : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    Matrix<float> v = v_;
    v(1, 0) = bad;
    ExpectInvalid(verify({{1.0, FlowShape::kClip, v}}), "at variable 1, cut 0");
  }
  for (double bad : {-0.1, std::nan(""), static_cast<double>(kInfinity)}) {
    ExpectInvalid(verify({{bad, FlowShape::kClip, v_}}), "potential 0 of the proof has share");
  }
  ExpectInvalid(verify({{0.6, FlowShape::kClip, v_}, {0.5, FlowShape::kSign, v_}}),
                "the shares of the proof sum to 1.1, expected at most 1");
  EXPECT_NO_THROW(verify(FlowProof(10, {0.1, FlowShape::kClip, v_}))());
  EXPECT_NO_THROW(verify(FlowProof(3, {1.0 / 3.0 + 1e-12, FlowShape::kClip, v_}))());
}

TEST_F(DenseEvidenceTest, MarginalsMustBeDistributions) {
  const auto refuse = [this](const Matrix<float>& y, const std::string& complaint) {
    ExpectInvalid([&] { VerifiedAt(model_, y, {}); }, complaint);
  };
  for (const auto& [rows, cols] : {std::pair(2, 2), {3, 1}, {4, 2}, {0, 0}}) {
    refuse(Matrix<float>(rows, cols, 0.5F), "the model has 3 variables and 2 labels");
  }
  for (float bad : {-1e-9F, -0.5F, std::numeric_limits<float>::quiet_NaN(), kInfinity}) {
    Matrix<float> y = y_;
    y(1, 1) = bad;
    refuse(y, "the marginals of variable 1 are not a distribution");
  }
  Matrix<float> y = y_;
  y(2, 0) = y(2, 1) = 0.0F;
  refuse(y, "the marginals of variable 2 are not a distribution");
}

TEST_F(DenseEvidenceTest, LabelingsMustFitTheModel) {
  ExpectInvalid(
      [this] {
        VerifiedEnergy(model_, {0, 1}, {});
      },
      "the labeling has 2 variables, expected 3");
  ExpectInvalid(
      [this] {
        VerifiedEnergy(model_, {0, 1, 2}, {});
      },
      "the label of variable 2 is 2, expected 0 to 1");
  ExpectInvalid(
      [this] {
        VerifiedEnergy(model_, {-1, 1, 1}, {});
      },
      "the label of variable 0 is -1");
}

TEST_F(DenseEvidenceTest, OptionsMustBeFiniteAndNotNegative) {
  for (double bad : {-1e-300, std::nan(""), static_cast<double>(kInfinity)}) {
    for (const PairOptions& options :
         {PairOptions{.cutoff = bad}, PairOptions{.far_tolerance = bad}}) {
      ExpectInvalid([&] { VerifiedUpper(model_, {}, options); }, "expected a finite number >= 0");
      ExpectInvalid([&] { VerifiedAt(model_, y_, options); }, "expected a finite number >= 0");
    }
    ExpectInvalid([&] { EstimatePairs(model_, bad); }, "the cutoff is");
  }
}

}  // namespace
}  // namespace submarine::internal
