#include "submarine/base/simd/row_kernels.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/base/simd/simd_test_util.h"

namespace submarine::internal {
namespace {

// The plain forms, which the kernels are compared with.
namespace scalar {

double Sign(double x) { return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : 0.0); }

double SoftmaxRow(const double* s, std::size_t n, double inverse_temperature, double* y) {
  const double least = *std::min_element(s, s + n);
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += y[i] = std::exp((least - s[i]) * inverse_temperature);
  for (std::size_t i = 0; i < n; ++i) y[i] /= sum;
  return std::log(sum) - least * inverse_temperature;
}

double LogSumExpRow(const double* s, std::size_t n, double inverse_temperature) {
  const double least = *std::min_element(s, s + n);
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += std::exp((least - s[i]) * inverse_temperature);
  return std::log(sum) - least * inverse_temperature;
}

void LogSumExpDerivativesRow(const double* s, const double* d, double t, std::size_t n,
                             double inverse_temperature, double* first, double* second) {
  double least = s[0] + t * d[0];
  for (std::size_t i = 1; i < n; ++i) least = std::min(least, s[i] + t * d[i]);
  double sum = 0.0;
  double mean = 0.0;
  double square = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double p = std::exp((least - s[i] - t * d[i]) * inverse_temperature);
    sum += p;
    mean += p * d[i];
    square += p * d[i] * d[i];
  }
  mean /= sum;
  *first = -mean;
  *second = std::max(0.0, square / sum - mean * mean) * inverse_temperature;
}

EntropicStep EntropicStepRow(const double* s_new, const double* s_old, const double* u_old,
                             const double* y_old, double temperature, double weight, std::size_t n,
                             double* u_new, double* y_new) {
  const double scale = 1.0 / (temperature + weight);
  EntropicStep step{0.0, 0.0};
  double least = (s_new[0] + weight * u_old[0]) * scale;
  for (std::size_t i = 1; i < n; ++i)
    least = std::min(least, (s_new[i] + weight * u_old[i]) * scale);
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i)
    sum += std::exp(least - (s_new[i] + weight * u_old[i]) * scale);
  for (std::size_t i = 0; i < n; ++i) {
    const double u = (s_new[i] + weight * u_old[i]) * scale - least;
    const double y = std::exp(-u) / sum;
    step.divergence += 0.5 * (y - y_old[i]) * (u_old[i] - u);
    step.interaction += (y - y_old[i]) * (s_new[i] - s_old[i]);
    u_new[i] = u;
    y_new[i] = y;
  }
  return step;
}

double StepFlowRow(const double* q, const double* z_a, const double* z_b, const double* length,
                   const double* mobility, double step, std::size_t n, double* q_new) {
  double change = 0.0;
  for (std::size_t c = 0; c < n; ++c) {
    const double before = q[c];
    const double after = std::clamp(before + step * mobility[c] * (z_a[c] - z_b[c]), -1.0, 1.0);
    change += length[c] / mobility[c] * (after - before) * (after - before);
    q_new[c] = after;
  }
  return change;
}

void BlendFlowRow(const double* z_a, const double* z_b, double rate, std::size_t n, double* q) {
  for (std::size_t c = 0; c < n; ++c) q[c] += rate * (Sign(z_a[c] - z_b[c]) - q[c]);
}

void AccumulateFlowRow(const double* q, const double* length, double scale, std::size_t n,
                       double* out) {
  for (std::size_t c = 0; c < n; ++c) out[c] += scale * length[c] * q[c];
}

void AccumulateSignRow(const double* z_a, const double* z_b, const double* length, double scale,
                       std::size_t n, double* out) {
  for (std::size_t c = 0; c < n; ++c) out[c] += scale * length[c] * Sign(z_a[c] - z_b[c]);
}

double TotalVariationRow(const double* z_a, const double* z_b, const double* length,
                         std::size_t n) {
  double sum = 0.0;
  for (std::size_t c = 0; c < n; ++c) sum += length[c] * std::abs(z_a[c] - z_b[c]);
  return sum;
}

double DotRow(const double* x, const double* y, std::size_t n) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

double EntropyRow(const double* y, std::size_t n) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum -= y[i] > 0.0 ? y[i] * std::log(y[i]) : 0.0;
  return sum;
}

}  // namespace scalar

using testing::ForEachTarget;
using testing::ForTarget;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kCanary = 12345.678;
constexpr std::size_t kMaxLength = 70;

// A row that starts `offset` doubles after an aligned address, with canaries around it.
class Row {
 public:
  Row(std::size_t n, std::size_t offset) : n_(n), offset_(offset), storage_(n + offset + 9) {
    std::fill(storage_.begin(), storage_.end(), kCanary);
  }
  Row(const std::vector<double>& values, std::size_t offset) : Row(values.size(), offset) {
    std::copy(values.begin(), values.end(), data());
  }

  double* data() { return storage_.data() + offset_; }
  const double* data() const { return storage_.data() + offset_; }
  double operator[](std::size_t i) const { return data()[i]; }

  void ExpectCanariesAlive() const {
    for (std::size_t k = 0; k < storage_.size(); ++k) {
      if (k < offset_ || k >= offset_ + n_) {
        ASSERT_EQ(storage_[k], kCanary);
      }
    }
  }

 private:
  std::size_t n_;
  std::size_t offset_;
  std::vector<double, AlignedAllocator<double>> storage_;
};

class RandomRows {
 public:
  explicit RandomRows(std::uint64_t seed) : rng_(seed) {}

  double Real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(rng_);
  }

  std::vector<double> Uniform(std::size_t n, double low, double high) {
    std::vector<double> row(n);
    for (double& x : row) x = Real(low, high);
    return row;
  }

  // A distribution with exact zeros and values too small to be normalised numbers.
  std::vector<double> Distribution(std::size_t n) {
    std::vector<double> y(n);
    double sum = 0.0;
    for (double& p : y) {
      const double kind = Real(0.0, 1.0);
      p = kind < 0.2 ? 0.0 : (kind < 0.3 ? 4e-310 : Real(0.0, 1.0));
      sum += p;
    }
    if (sum < 1e-3) {
      y[0] += 1.0;
      sum += 1.0;
    }
    for (double& p : y) p /= sum;
    return y;
  }

 private:
  std::mt19937_64 rng_;
};

double LargestMagnitude(std::span<const double> x) {
  double largest = 0.0;
  for (double value : x) largest = std::max(largest, std::abs(value));
  return largest;
}

struct Shape {
  std::size_t n;
  std::size_t offset;
};

// All lengths, aligned and misaligned, on every target.
void ForEachShape(const std::function<void(const Shape&)>& body) {
  ForEachTarget([&] {
    for (std::size_t n = 1; n <= kMaxLength; ++n) {
      for (std::size_t offset : {0, 1}) {
        SCOPED_TRACE(::testing::Message() << "length " << n << ", offset " << offset);
        body({n, offset});
        if (::testing::Test::HasFailure()) return;
      }
    }
  });
}

// Ranges of s: equal entries, moderate, and the extremes that models may have.
constexpr double kSpreads[] = {0.0, 1.0, 50.0, 1e6};
constexpr double kInverseTemperatures[] = {1e-6, 1.0, 30.0, 1e8};

#if HWY_ARCH_X86
// The rest of this file means little unless ForEachTarget really switches: only AVX2 and its
// successors fuse multiplication and addition, which then do not cancel here.
TEST(RowKernelsTest, TargetsAreSwitched) {
  const double x = 1.0 + kEpsilon;
  for (std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    double residual = -(x * x);
    ForTarget(target, [&] { AccumulateFlowRow(&x, &x, 1.0, 1, &residual); });
    if (target == HWY_AVX2 || target == HWY_AVX3) {
      EXPECT_NE(residual, 0.0) << hwy::TargetName(target);
    } else if (target == HWY_SSE4 || target == HWY_SSSE3) {
      EXPECT_EQ(residual, 0.0) << hwy::TargetName(target);
    }
  }
}
#endif

TEST(RowKernelsTest, SoftmaxMatchesScalarTwin) {
  RandomRows random(1);
  ForEachShape([&](const Shape& shape) {
    for (double spread : kSpreads) {
      for (double inverse_temperature : kInverseTemperatures) {
        const Row s(random.Uniform(shape.n, 7.0 - spread, 7.0 + spread), shape.offset);
        Row expected(shape.n, 0);
        Row actual(shape.n, shape.offset);
        const double expected_log =
            scalar::SoftmaxRow(s.data(), shape.n, inverse_temperature, expected.data());
        const double log = SoftmaxRow(s.data(), shape.n, inverse_temperature, actual.data());
        const double tolerance = 1e-13 * std::max(1.0, std::abs(expected_log));
        ASSERT_NEAR(log, expected_log, tolerance);
        ASSERT_NEAR(LogSumExpRow(s.data(), shape.n, inverse_temperature), expected_log, tolerance);
        ASSERT_NEAR(scalar::LogSumExpRow(s.data(), shape.n, inverse_temperature), expected_log,
                    tolerance);
        for (std::size_t i = 0; i < shape.n; ++i) {
          ASSERT_NEAR(actual[i], expected[i], 1e-13 * expected[i] + 1e-300);
        }
        actual.ExpectCanariesAlive();

        Row in_place = s;
        SoftmaxRow(in_place.data(), shape.n, inverse_temperature, in_place.data());
        for (std::size_t i = 0; i < shape.n; ++i) ASSERT_EQ(in_place[i], actual[i]);
      }
    }
  });
}

TEST(RowKernelsTest, LogSumExpDerivativesMatchScalarTwin) {
  RandomRows random(2);
  ForEachShape([&](const Shape& shape) {
    for (double spread : kSpreads) {
      for (double inverse_temperature : {1e-6, 1.0, 1e3}) {
        for (double t : {0.0, 0.37, 1.0}) {
          const Row s(random.Uniform(shape.n, -spread, spread), shape.offset);
          const Row d(random.Uniform(shape.n, -3.0, 5.0), shape.offset);
          double expected_first = 0.0;
          double expected_second = 0.0;
          double first = 0.0;
          double second = 0.0;
          scalar::LogSumExpDerivativesRow(s.data(), d.data(), t, shape.n, inverse_temperature,
                                          &expected_first, &expected_second);
          LogSumExpDerivativesRow(s.data(), d.data(), t, shape.n, inverse_temperature, &first,
                                  &second);
          // s + t d is rounded differently with a fused multiply-add, and 1/T amplifies that.
          const double relative = 1e-13 + 4.0 * kEpsilon * inverse_temperature * (spread + 5.0);
          ASSERT_NEAR(first, expected_first, relative * 5.0);
          ASSERT_NEAR(second, expected_second, relative * 25.0 * inverse_temperature);
          ASSERT_GE(second, 0.0);
        }
      }
    }
  });
}

TEST(RowKernelsTest, LogSumExpDerivativesAreThoseOfLogSumExp) {
  RandomRows random(3);
  const double T = 0.7;
  const std::vector<double> s = random.Uniform(9, -2.0, 2.0);
  const std::vector<double> d = random.Uniform(9, -1.0, 1.0);
  const auto value = [&](double t) {
    std::vector<double> moved(9);
    for (std::size_t i = 0; i < 9; ++i) moved[i] = s[i] + t * d[i];
    return T * scalar::LogSumExpRow(moved.data(), 9, 1.0 / T);
  };
  double first = 0.0;
  double second = 0.0;
  scalar::LogSumExpDerivativesRow(s.data(), d.data(), 0.4, 9, 1.0 / T, &first, &second);
  const double h = 1e-4;
  EXPECT_NEAR(first, (value(0.4 + h) - value(0.4 - h)) / (2.0 * h), 1e-8);
  EXPECT_NEAR(second, (value(0.4 + h) - 2.0 * value(0.4) + value(0.4 - h)) / (h * h), 1e-6);
}

struct EntropicCase {
  std::vector<double> s_new;
  std::vector<double> s_old;
  std::vector<double> u_old;
  std::vector<double> y_old;
  double temperature;
  double weight;
};

EntropicCase RandomEntropicCase(std::size_t n, double spread, double temperature, double weight,
                                RandomRows* random) {
  EntropicCase c{random->Uniform(n, -spread, spread),
                 random->Uniform(n, -spread, spread),
                 random->Uniform(n, 0.0, 30.0),
                 std::vector<double>(n),
                 temperature,
                 weight};
  scalar::SoftmaxRow(c.u_old.data(), n, 1.0, c.y_old.data());
  return c;
}

TEST(RowKernelsTest, EntropicStepMatchesScalarTwin) {
  RandomRows random(4);
  ForEachShape([&](const Shape& shape) {
    for (double spread : kSpreads) {
      for (auto [temperature, weight] : {std::pair(1.0, 0.5), {0.0, 10.0}, {3.0, 1e-3}}) {
        const EntropicCase c = RandomEntropicCase(shape.n, spread, temperature, weight, &random);
        const Row s_new(c.s_new, shape.offset);
        const Row s_old(c.s_old, shape.offset);
        const Row y_old(c.y_old, shape.offset);
        Row u(c.u_old, shape.offset);  // also tests that u_new may be u_old
        Row y_new(shape.n, shape.offset);
        Row expected_u(shape.n, 0);
        Row expected_y(shape.n, 0);
        const EntropicStep expected = scalar::EntropicStepRow(
            s_new.data(), s_old.data(), c.u_old.data(), y_old.data(), temperature, weight, shape.n,
            expected_u.data(), expected_y.data());
        const EntropicStep actual =
            EntropicStepRow(s_new.data(), s_old.data(), u.data(), y_old.data(), temperature, weight,
                            shape.n, u.data(), y_new.data());
        // u is rounded differently with a fused multiply-add.
        const double u_error = 4.0 * kEpsilon * (spread + weight * 30.0) / (temperature + weight);
        const double relative = 1e-13 + u_error;
        const double largest_u =
            30.0 + LargestMagnitude({expected_u.data(), expected_u.data() + shape.n});
        for (std::size_t i = 0; i < shape.n; ++i) {
          ASSERT_NEAR(u[i], expected_u[i], u_error + 1e-13);
          ASSERT_NEAR(y_new[i], expected_y[i], relative * expected_y[i] + 1e-300);
        }
        ASSERT_NEAR(actual.divergence, expected.divergence, 4.0 * relative * largest_u);
        ASSERT_NEAR(actual.interaction, expected.interaction, 4.0 * relative * (1.0 + spread));
        u.ExpectCanariesAlive();
        y_new.ExpectCanariesAlive();
      }
    }
  });
}

// The step solves its problem (the gradient of the Lagrangian is constant), and reports the
// divergence and the interaction by definition.
TEST(RowKernelsTest, EntropicStepIsTheProximalStep) {
  RandomRows random(5);
  const std::size_t n = 6;
  const EntropicCase c = RandomEntropicCase(n, 3.0, 0.8, 1.7, &random);
  std::vector<double> u(n);
  std::vector<double> y(n);
  const EntropicStep step =
      scalar::EntropicStepRow(c.s_new.data(), c.s_old.data(), c.u_old.data(), c.y_old.data(),
                              c.temperature, c.weight, n, u.data(), y.data());
  double total = 0.0;
  double divergence = 0.0;
  double interaction = 0.0;
  const auto gradient = [&](std::size_t i) {
    return -c.temperature * std::log(y[i]) - c.s_new[i] - c.weight * std::log(y[i] / c.y_old[i]);
  };
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_NEAR(gradient(i), gradient(0), 1e-12);
    EXPECT_NEAR(u[i] - u[0], std::log(y[0]) - std::log(y[i]), 1e-12);
    total += y[i];
    divergence += 0.5 * y[i] * std::log(y[i] / c.y_old[i]);
    divergence += 0.5 * c.y_old[i] * std::log(c.y_old[i] / y[i]);
    interaction += (c.s_new[i] - c.s_old[i]) * (y[i] - c.y_old[i]);
  }
  EXPECT_NEAR(total, 1.0, 1e-14);
  EXPECT_NEAR(step.divergence, divergence, 1e-12);
  EXPECT_NEAR(step.interaction, interaction, 1e-12);
}

TEST(RowKernelsTest, StepFlowMatchesScalarTwin) {
  RandomRows random(6);
  ForEachShape([&](const Shape& shape) {
    for (double step : {0.0, 0.3, 1e6}) {
      const Row q(random.Uniform(shape.n, -1.0, 1.0), shape.offset);
      const Row z_a(random.Uniform(shape.n, 0.0, 1.0), shape.offset);
      const Row z_b(random.Uniform(shape.n, 0.0, 1.0), shape.offset);
      const Row length(random.Uniform(shape.n, 0.0, 2.0), shape.offset);
      const Row mobility(random.Uniform(shape.n, 0.1, 1.0), shape.offset);
      Row expected(shape.n, 0);
      const double expected_change =
          scalar::StepFlowRow(q.data(), z_a.data(), z_b.data(), length.data(), mobility.data(),
                              step, shape.n, expected.data());
      Row actual(shape.n, shape.offset);
      const double change = StepFlowRow(q.data(), z_a.data(), z_b.data(), length.data(),
                                        mobility.data(), step, shape.n, actual.data());
      ASSERT_NEAR(change, expected_change, 1e-13 * std::max(1.0, expected_change));
      for (std::size_t c = 0; c < shape.n; ++c) {
        ASSERT_NEAR(actual[c], expected[c], 1e-15);
        ASSERT_LE(std::abs(actual[c]), 1.0);
      }
      actual.ExpectCanariesAlive();

      Row in_place = q;
      ASSERT_EQ(StepFlowRow(in_place.data(), z_a.data(), z_b.data(), length.data(), mobility.data(),
                            step, shape.n, in_place.data()),
                change);
      for (std::size_t c = 0; c < shape.n; ++c) ASSERT_EQ(in_place[c], actual[c]);
    }
  });
}

// z_a with a third of its entries equal to z_b, some as zeros of the other sign.
Row PartlyEqual(const Row& z_b, const Shape& shape, RandomRows* random) {
  Row z_a(random->Uniform(shape.n, 0.0, 1.0), shape.offset);
  for (std::size_t c = 0; c < shape.n; c += 3) z_a.data()[c] = z_b[c] == 0.0 ? -z_b[c] : z_b[c];
  return z_a;
}

TEST(RowKernelsTest, SignKernelsMatchScalarTwins) {
  RandomRows random(7);
  ForEachShape([&](const Shape& shape) {
    Row z_b(random.Uniform(shape.n, 0.0, 1.0), shape.offset);
    for (std::size_t c = 0; c < shape.n; c += 6) z_b.data()[c] = 0.0;
    const Row z_a = PartlyEqual(z_b, shape, &random);
    const Row length(random.Uniform(shape.n, 0.0, 2.0), shape.offset);
    const std::vector<double> start = random.Uniform(shape.n, -1.0, 1.0);
    for (double rate : {0.0, 0.3, 1.0}) {
      Row expected(start, 0);
      Row actual(start, shape.offset);
      scalar::BlendFlowRow(z_a.data(), z_b.data(), rate, shape.n, expected.data());
      BlendFlowRow(z_a.data(), z_b.data(), rate, shape.n, actual.data());
      for (std::size_t c = 0; c < shape.n; ++c) ASSERT_NEAR(actual[c], expected[c], 1e-15);
      actual.ExpectCanariesAlive();
    }
    for (double scale : {-2.5, 0.0, 1e4}) {
      Row expected(start, 0);
      Row actual(start, shape.offset);
      scalar::AccumulateSignRow(z_a.data(), z_b.data(), length.data(), scale, shape.n,
                                expected.data());
      AccumulateSignRow(z_a.data(), z_b.data(), length.data(), scale, shape.n, actual.data());
      for (std::size_t c = 0; c < shape.n; ++c) {
        ASSERT_NEAR(actual[c], expected[c], 1e-15 * (1.0 + 2.0 * std::abs(scale)));
        if (c % 3 == 0) {
          ASSERT_EQ(actual[c], start[c]) << "a tie has sign 0";
        }
      }
      actual.ExpectCanariesAlive();
    }
  });
}

// A flow that left [-1, 1] by one ulp would no longer be a proof.
TEST(RowKernelsTest, BlendingNeverLeavesTheInterval) {
  RandomRows random(8);
  ForEachTarget([&] {
    for (int trial = 0; trial < 2000; ++trial) {
      const std::vector<double> z_a = random.Uniform(33, 0.0, 1.0);
      const std::vector<double> z_b = random.Uniform(33, 0.0, 1.0);
      std::vector<double> q = random.Uniform(33, -1.0, 1.0);
      q[0] = 1.0;
      q[1] = -1.0;
      const double rate = trial % 4 == 0 ? 1.0 - kEpsilon * trial : random.Real(0.0, 1.0);
      for (int repeat = 0; repeat < 3; ++repeat) {
        BlendFlowRow(z_a.data(), z_b.data(), rate, 33, q.data());
      }
      ASSERT_LE(LargestMagnitude(q), 1.0);
    }
  });
}

TEST(RowKernelsTest, AccumulateFlowMatchesScalarTwin) {
  RandomRows random(9);
  ForEachShape([&](const Shape& shape) {
    const Row q(random.Uniform(shape.n, -1.0, 1.0), shape.offset);
    const Row length(random.Uniform(shape.n, 0.0, 2.0), shape.offset);
    const std::vector<double> start = random.Uniform(shape.n, -1e3, 1e3);
    for (double scale : {-1.0, 0.7, 1e4}) {
      Row expected(start, 0);
      Row actual(start, shape.offset);
      scalar::AccumulateFlowRow(q.data(), length.data(), scale, shape.n, expected.data());
      AccumulateFlowRow(q.data(), length.data(), scale, shape.n, actual.data());
      for (std::size_t c = 0; c < shape.n; ++c) {
        ASSERT_NEAR(actual[c], expected[c], 1e-15 * (1e3 + 2.0 * std::abs(scale)));
      }
      actual.ExpectCanariesAlive();
    }
  });
}

TEST(RowKernelsTest, SumsMatchScalarTwins) {
  RandomRows random(10);
  ForEachShape([&](const Shape& shape) {
    for (double spread : {1.0, 1e6}) {
      const Row x(random.Uniform(shape.n, -spread, spread), shape.offset);
      const Row y(random.Uniform(shape.n, -spread, spread), shape.offset);
      const Row length(random.Uniform(shape.n, 0.0, 2.0), shape.offset);
      const double terms = static_cast<double>(shape.n);
      ASSERT_NEAR(DotRow(x.data(), y.data(), shape.n), scalar::DotRow(x.data(), y.data(), shape.n),
                  1e-15 * terms * spread * spread);
      const double expected = scalar::TotalVariationRow(x.data(), y.data(), length.data(), shape.n);
      ASSERT_NEAR(TotalVariationRow(x.data(), y.data(), length.data(), shape.n), expected,
                  1e-13 * expected);
      ASSERT_EQ(TotalVariationRow(x.data(), x.data(), length.data(), shape.n), 0.0);
    }
    const Row distribution(random.Distribution(shape.n), shape.offset);
    const double expected = scalar::EntropyRow(distribution.data(), shape.n);
    ASSERT_NEAR(EntropyRow(distribution.data(), shape.n), expected, 1e-13 * (1.0 + expected));
  });
}

TEST(RowKernelsTest, EntropyOfKnownDistributions) {
  ForEachTarget([] {
    for (std::size_t n = 1; n <= kMaxLength; ++n) {
      const double count = static_cast<double>(n);
      const std::vector<double> uniform(n, 1.0 / count);
      EXPECT_NEAR(EntropyRow(uniform.data(), n), std::log(count), 1e-13);
      std::vector<double> certain(n, 0.0);
      certain[n / 2] = 1.0;
      EXPECT_EQ(EntropyRow(certain.data(), n), 0.0);
    }
  });
}

// Labels that the cheapest one beats by more than exp can express are impossible, not NaN.
TEST(RowKernelsTest, SoftmaxSurvivesOverflow) {
  ForEachTarget([] {
    const std::vector<double> s{1e300, -1e300, 0.0, 1e6, -1e300};
    std::vector<double> y(s.size());
    for (double inverse_temperature : {1.0, 1e5}) {
      SoftmaxRow(s.data(), s.size(), inverse_temperature, y.data());
      EXPECT_EQ(y, (std::vector<double>{0.0, 0.5, 0.0, 0.0, 0.5}));
    }
  });
}

}  // namespace
}  // namespace submarine::internal
