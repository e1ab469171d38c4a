#include "submarine/solve/prove_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "submarine/base/argmax.h"
#include "submarine/base/error.h"
#include "submarine/base/error_test_util.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine {
namespace {

using internal::testing::ExpectInvalid;
using internal::testing::RandomModels;

// A random model whose variables are taken for the pixels of a picture.
struct Picture {
  Picture(int w, int rows, LabelSpace labels, RandomModels* random)
      : width(w),
        model(WithoutConstant(random->Dense(w * rows, std::move(labels)))),
        marginals(random->Points(model.num_variables(),
                                 static_cast<std::size_t>(model.num_labels()), 0.1, 1.0)),
        in_rows{rows, model.kernels(), model.labels(), {}, random->Integer(0, rows)} {
    in_rows.part = [this](std::vector<GaussianKernel> kernels, int first, int count) {
      Matrix<float> unary(static_cast<std::size_t>(count) * static_cast<std::size_t>(width),
                          model.unary().cols());
      std::copy_n(model.unary()
                      .row(static_cast<std::size_t>(first) * static_cast<std::size_t>(width))
                      .data(),
                  unary.size(), unary.data());
      return DenseCrf(std::move(unary), std::move(kernels), model.labels(), model.counting());
    };
  }
  static DenseCrf WithoutConstant(const DenseCrf& model) {
    return {model.unary(), model.kernels(), model.labels(), model.counting()};
  }
  Matrix<float> Marginals() const {
    Matrix<float> y(marginals.rows(), marginals.cols());
    std::transform(marginals.data(), marginals.data() + marginals.size(), y.data(),
                   [](double p) { return static_cast<float>(p); });
    return y;
  }
  std::vector<int> Labels() const { return internal::ArgmaxLabels(Marginals()); }
  double LogZ() const {
    const int labels = model.num_labels();
    std::vector<int> x(model.num_variables(), 0);
    std::vector<double> exponents;
    for (std::size_t a = 0; a < x.size();) {
      exponents.push_back(-model.Energy(x));
      for (a = 0; a < x.size() && ++x[a] == labels; ++a) x[a] = 0;
    }
    const double largest = *std::max_element(exponents.begin(), exponents.end());
    double sum = 0.0;
    for (const double e : exponents) sum += std::exp(e - largest);
    return largest + std::log(sum);
  }

  int width;
  DenseCrf model;
  Matrix<double> marginals;
  ModelInRows in_rows;
};

TEST(ProveParts, ContainsTheEnumeratedLogZ) {
  RandomModels random(811);
  for (int trial = 0; trial < 150; ++trial) {
    const int rows = random.Integer(2, 4);
    const Picture picture(2, rows, random.Labels(random.Integer(2, 3)), &random);
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << picture.model.Description());
    const double log_z = picture.LogZ();
    const double rounding = 1e-9 * (1.0 + std::abs(log_z));
    SolveOptions options;
    options.limits.max_iterations = 20;
    int calls = 0;
    Watch watch;
    // Sometimes there is no time, or somebody stops it.
    if (trial % 5 == 1) options.limits.time_limit_seconds = 0.0;
    if (trial % 5 == 2)
      watch = [&](std::string_view, const SolveRecord&) { return ++calls < trial / 5; };
    const int strip = random.Integer(1, rows);
    const SolveResult proven =
        ProveParts(picture.in_rows, picture.Marginals(), picture.Labels(), strip, options, watch);
    ASSERT_TRUE(proven.usable());
    ASSERT_TRUE(proven.certificate.lower && proven.certificate.upper);
    EXPECT_LE(*proven.certificate.lower, log_z + rounding);
    EXPECT_GE(*proven.certificate.upper, log_z - rounding);
    if (proven.energy) {
      const double energy = picture.model.Energy(picture.Labels());
      EXPECT_GE(*proven.energy, energy - rounding);
      EXPECT_LE(-*proven.energy, *proven.certificate.lower);
    }
    EXPECT_EQ(proven.certificate.model, picture.model.Description() + ", exact Gaussians");
    if (trial % 5 == 1) {
      EXPECT_EQ(proven.termination, Termination::kTimeLimit);
    }
  }
}

// The upper bound is that of the strips alone, and the lower that of the whole where windows hold it.
TEST(ProveParts, OneStripIsTheWhole) {
  RandomModels random(812);
  Picture picture(3, 8, PottsLabels(3), &random);
  picture.in_rows.reach = 8;
  SolveOptions options;
  options.limits.max_iterations = 50;
  options.dense.certify = Certify::kExact;
  const SolveResult whole = Solve(picture.model, options);
  const SolveResult one =
      ProveParts(picture.in_rows, picture.Marginals(), picture.Labels(), 8, options);
  const SolveResult strips =
      ProveParts(picture.in_rows, picture.Marginals(), picture.Labels(), 2, options);
  EXPECT_NEAR(*one.certificate.upper, *whole.certificate.upper,
              1e-9 * std::abs(*whole.certificate.upper));
  EXPECT_NEAR(*strips.certificate.lower, *one.certificate.lower,
              1e-9 * std::abs(*one.certificate.lower));
  ASSERT_TRUE(one.energy && strips.energy);
  EXPECT_NEAR(*strips.energy, *one.energy, 1e-9 * std::abs(*one.energy));
}

TEST(ProveParts, TellsHowMuchIsDone) {
  RandomModels random(813);
  const Picture picture(5, 20, PottsLabels(3), &random);
  SolveOptions options;
  options.limits.max_iterations = 10;
  double last = 0.0;
  ProveParts(picture.in_rows, picture.Marginals(), picture.Labels(), 4, options,
             [&](std::string_view, const SolveRecord& record) {
               EXPECT_GE(record.done.value(), 0.0);
               EXPECT_LE(*record.done, 1.0);
               last = *record.done;
               return true;
             });
  EXPECT_GT(last, 0.5);
}

TEST(ProveParts, TakesAsManyRowsAsFit) {
  RandomModels random(814);
  const Picture picture(40, 64, PottsLabels(10), &random);
  SolveOptions options;
  EXPECT_EQ(RowsThatFit(picture.in_rows, options), 64);
  options.limits.max_bytes = 1000;
  EXPECT_THROW(RowsThatFit(picture.in_rows, options), TooLarge);
  int before = 64;
  for (options.limits.max_bytes = 1 << 23; before > 1; options.limits.max_bytes /= 2) {
    int rows = 0;
    try {
      rows = RowsThatFit(picture.in_rows, options);
    } catch (const TooLarge&) {
      break;
    }
    EXPECT_LE(rows, before);
    before = rows;
  }
  EXPECT_LT(before, 64);
}

// Strips that need more memory than there is are halved, and at last proven without pairs.
TEST(ProveParts, HalvesStripsThatDoNotFit) {
  RandomModels random(816);
  const Picture picture(40, 64, PottsLabels(10), &random);
  SolveOptions options;
  options.limits.max_iterations = 3;
  options.limits.max_bytes = 1 << 24;
  while (RowsThatFit(picture.in_rows, options) == 64) options.limits.max_bytes -= 1 << 18;
  const auto upper = [&](int rows) {
    return *ProveParts(picture.in_rows, picture.Marginals(), picture.Labels(), rows, options)
                .certificate.upper;
  };
  const double halved = upper(64);
  options.limits.max_bytes = 1000;
  const double unaries = upper(64);
  EXPECT_LT(halved, unaries);
  EXPECT_NEAR(upper(16), unaries, 1e-9 * std::abs(unaries));
}

TEST(ProveParts, RefusesWhatDoesNotFitTogether) {
  RandomModels random(815);
  const Picture picture(3, 4, PottsLabels(3), &random);
  ExpectInvalid([&] { ProveParts(picture.in_rows, picture.Marginals(), picture.Labels(), 0, {}); },
                "strips of 0 rows");
  ExpectInvalid(
      [&] { ProveParts(picture.in_rows, Matrix<float>(5, 3, 1.0F), picture.Labels(), 2, {}); },
      "and 5 marginals");
}

}  // namespace
}  // namespace submarine
