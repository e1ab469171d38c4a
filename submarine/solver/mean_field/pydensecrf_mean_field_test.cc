#include "submarine/solver/mean_field/pydensecrf_mean_field.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/filter/lattice/lattice.h"

namespace submarine {
namespace {

Matrix<float> RandomMatrix(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<float> uniform(0.0F, 3.0F);
  Matrix<float> matrix(rows, cols);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix.data()[i] = uniform(rng);
  return matrix;
}

// K of the classic lattice, with its diagonal, column by column.
std::vector<std::vector<double>> KernelOf(const Matrix<float>& features) {
  const auto lattice =
      internal::LatticeOperator::MakeClassic(features, false, std::size_t{1} << 30);
  const std::size_t n = features.rows();
  Matrix<float> identity(n, n);
  for (std::size_t a = 0; a < n; ++a) identity(a, a) = 1.0F;
  Matrix<float> product(n, n);
  lattice->AddProductWithSelf(identity, 1.0F, &product);
  std::vector<std::vector<double>> k(n, std::vector<double>(n));
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) k[a][b] = product(a, b);
  return k;
}

struct Case {
  KernelNormalisation normalisation;
  std::vector<float> compatibility;  // 3 labels
};

// softmax of what the definition says, in double.
Matrix<double> Reference(const Matrix<float>& unary, const Matrix<float>& features,
                         const Case& term, const Matrix<float>& q) {
  const std::size_t n = q.rows();
  const std::size_t labels = q.cols();
  const auto k = KernelOf(features);
  std::vector<double> sum(n, 0.0);
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) sum[a] += k[a][b];
  const auto scaled = [&](std::size_t a, std::size_t b) {
    switch (term.normalisation) {
      case KernelNormalisation::kSymmetric:
        return k[a][b] / std::sqrt(sum[a] * sum[b]);
      case KernelNormalisation::kBefore:
        return k[a][b] / sum[b];
      case KernelNormalisation::kAfter:
        return k[a][b] / sum[a];
      case KernelNormalisation::kNone:
        break;
    }
    return k[a][b];
  };
  const auto m = [&](std::size_t i, std::size_t j) -> double {
    const std::vector<float>& c = term.compatibility;
    if (c.size() == labels * labels) return c[i * labels + j];
    return i != j ? 0.0 : c[c.size() == 1 ? 0 : i];
  };
  Matrix<double> y(n, labels);
  for (std::size_t a = 0; a < n; ++a) {
    double total = 0.0;
    for (std::size_t i = 0; i < labels; ++i) {
      double s = unary(a, i);
      for (std::size_t b = 0; b < n; ++b)
        for (std::size_t j = 0; j < labels; ++j) s += m(i, j) * scaled(a, b) * q(b, j);
      y(a, i) = std::exp(-s);
      total += y(a, i);
    }
    for (std::size_t i = 0; i < labels; ++i) y(a, i) /= total;
  }
  return y;
}

TEST(PydensecrfMeanFieldTest, StepsAreThoseOfTheDefinition) {
  const Matrix<float> unary = RandomMatrix(15, 3, 1);
  const Matrix<float> features = RandomMatrix(15, 2, 2);
  for (const Case& term :
       {Case{KernelNormalisation::kSymmetric, {-2.0F}}, Case{KernelNormalisation::kNone, {-1.0F}},
        Case{KernelNormalisation::kBefore, {-2.0F, 1.0F, 0.5F}},
        Case{KernelNormalisation::kAfter, {0, 1, 2, 1, 0, 3, 2, 3, -1}}}) {
    PydensecrfMeanField field(15, 3);
    field.SetUnary(unary);
    field.AddTerm(features, term.normalisation, term.compatibility);
    Matrix<float> q = field.Start();
    const Matrix<double> expected = Reference(unary, features, term, q);
    PydensecrfMeanField::Workspace workspace;
    field.Step(&workspace, &q);
    // Sums of 15 x 3 products of numbers up to 10, in single precision.
    for (std::size_t a = 0; a < 15; ++a)
      for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(q(a, i), expected(a, i), 3e-5);
    const Matrix<float> inferred = field.Infer(1);
    for (std::size_t i = 0; i < q.size(); ++i) EXPECT_NEAR(inferred.data()[i], q.data()[i], 1e-6);
  }
}

// Rows that are streamed are those that are stepped through, but for rounding.
TEST(PydensecrfMeanFieldTest, StreamingChangesNothing) {
  constexpr std::size_t kRows = 6000;
  PydensecrfMeanField field(kRows, 5);
  field.SetUnary(RandomMatrix(kRows, 5, 7));
  field.AddTerm(RandomMatrix(kRows, 2, 8), KernelNormalisation::kSymmetric, {-3.0F});
  field.AddTerm(RandomMatrix(kRows, 3, 9), KernelNormalisation::kSymmetric, {-2.0F});
  Matrix<float> q = field.Start();
  PydensecrfMeanField::Workspace workspace;
  for (int k = 0; k < 3; ++k) field.Step(&workspace, &q);
  const Matrix<float> streamed = field.Infer(3);
  for (std::size_t i = 0; i < q.size(); ++i) ASSERT_NEAR(streamed.data()[i], q.data()[i], 2e-5);
}

// Tables are freed range by range while others still read theirs.
TEST(PydensecrfMeanFieldTest, TheLastInferenceIsTheSameAndTakesTheTermsOut) {
  constexpr std::size_t kRows = 40000;
  const Matrix<float> unary = RandomMatrix(kRows, 5, 7);
  for (const bool streamed : {true, false}) {
    for (const int threads : {1, 4}) {
      PydensecrfMeanField field(kRows, 5);
      field.set_threads(threads);
      field.SetUnary(unary);
      const auto add_terms = [&] {
        field.AddTerm(RandomMatrix(kRows, 2, 8), KernelNormalisation::kSymmetric, {-3.0F});
        field.AddTerm(RandomMatrix(kRows, 3, 9), KernelNormalisation::kSymmetric, {-2.0F});
        if (!streamed)
          field.AddTerm(RandomMatrix(kRows, 1, 9), KernelNormalisation::kAfter, {-2.0F});
      };
      add_terms();
      const Matrix<float> expected = field.Infer(3);
      EXPECT_EQ(field.InferLast(3), expected);
      EXPECT_EQ(field.num_terms(), 0U);
      EXPECT_EQ(field.Infer(3), field.Start());
      add_terms();
      EXPECT_EQ(field.InferLast(3), expected);
    }
  }
}

TEST(PydensecrfMeanFieldTest, CostsLabelByLabelAreTheSameCosts) {
  const Matrix<float> unary = RandomMatrix(700, 3, 8);
  std::vector<float> by_label(unary.size());
  for (std::size_t a = 0; a < unary.rows(); ++a)
    for (std::size_t i = 0; i < unary.cols(); ++i) by_label[i * unary.rows() + a] = unary(a, i);
  PydensecrfMeanField field(700, 3);
  field.SetUnaryByLabel(by_label);
  EXPECT_EQ(field.unary(), unary);
  by_label[2 * 700 + 699] = NAN;
  EXPECT_THROW(field.SetUnaryByLabel(by_label), InvalidInput);
  EXPECT_EQ(field.unary(), unary);
  by_label.pop_back();
  EXPECT_THROW(field.SetUnaryByLabel(by_label), InvalidInput);
}

TEST(PydensecrfMeanFieldTest, WithoutTermsItIsTheSoftmaxOfTheUnaries) {
  PydensecrfMeanField field(2, 2);
  EXPECT_EQ(field.Infer(3)(0, 0), 0.5F);
  Matrix<float> unary(2, 2);
  unary(0, 1) = 1.0F;
  field.SetUnary(unary);
  const Matrix<float> q = field.Infer(3);
  EXPECT_NEAR(q(0, 1), 1.0 / (1.0 + std::exp(1.0)), 1e-6);
  // log q + phi is the same for both labels: minus the log of what they share.
  EXPECT_NEAR(field.Divergence(q), -std::log(1.0 + std::exp(-1.0)) - std::log(2.0), 1e-5);
}

TEST(PydensecrfMeanFieldTest, ManyFeaturesHaveAFilterToo) {
  PydensecrfMeanField field(20, 2);
  field.SetUnary(RandomMatrix(20, 2, 5));
  field.AddTerm(RandomMatrix(20, 9, 6), KernelNormalisation::kSymmetric, {-3.0F});
  const Matrix<float> q = field.Infer(4);
  for (std::size_t a = 0; a < 20; ++a) EXPECT_NEAR(q(a, 0) + q(a, 1), 1.0F, 1e-5F);
  EXPECT_NE(q, field.Start());
}

TEST(PydensecrfMeanFieldTest, RefusesWhatIsNone) {
  EXPECT_THROW(PydensecrfMeanField(0, 2), InvalidInput);
  PydensecrfMeanField field(4, 2);
  EXPECT_THROW(field.SetUnary(Matrix<float>(4, 3)), InvalidInput);
  EXPECT_THROW(field.SetUnary(Matrix<float>(4, 2, NAN)), InvalidInput);
  const auto none = KernelNormalisation::kNone;
  EXPECT_THROW(field.AddTerm(Matrix<float>(3, 2), none, {1.0F}), InvalidInput);
  EXPECT_THROW(field.AddTerm(Matrix<float>(4, 17), none, {1.0F}), InvalidInput);
  EXPECT_THROW(field.AddTerm(Matrix<float>(4, 2, INFINITY), none, {1.0F}), InvalidInput);
  EXPECT_THROW(field.AddTerm(Matrix<float>(4, 2), none, {1.0F, 2.0F, 3.0F}), InvalidInput);
  EXPECT_THROW(field.AddTerm(Matrix<float>(4, 2), none, {NAN}), InvalidInput);
  EXPECT_EQ(field.num_terms(), 0U);
}

}  // namespace
}  // namespace submarine
