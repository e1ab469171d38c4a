#include "submarine/extension/simplex_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <random>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/base/simd/simd_test_util.h"

namespace submarine::internal {
namespace {

// The plain forms, which the kernels are compared with.
namespace scalar {

double WrightOmega(double x) {
  if (x < -60.0) return std::exp(x);
  double w = x > 1.0 ? x - std::log(x) : std::exp(x) / (1.0 + std::exp(x));
  for (int k = 0; k < 8; ++k) w *= (1.0 + x - std::log(w)) / (1.0 + w);
  return w;
}

// The offset at which the max(0, r_i + offset) sum to 1, where r <= 0 and max r = 0. Newton's
// method on a convex increasing sum, from above: the offsets decrease and labels drop out until no
// more do.
double ProjectionOffset(const std::vector<double>& r) {
  double offset = 1.0;
  for (std::size_t k = 0; k <= r.size(); ++k) {
    double sum = 0.0;
    double count = 0.0;
    for (const double value : r) {
      if (value + offset > 0.0) {
        sum += value + offset;
        count += 1.0;
      }
    }
    const double next = offset - (sum - 1.0) / count;
    if (!(next < offset)) break;
    offset = next;
  }
  return offset;
}

void Project(const float* s, const float* centre, float g, std::size_t n, float* y, float* lambda) {
  std::vector<double> r(n);
  for (std::size_t i = 0; i < n; ++i) r[i] = static_cast<double>(g) * centre[i] - s[i];
  const double top = *std::max_element(r.begin(), r.end());
  for (double& value : r) value = (value - top) * InverseTemperature(g);
  const double offset = ProjectionOffset(r);
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<float>(std::max(0.0, r[i] + offset));
  *lambda = static_cast<float>(top - g * offset);
}

void SimplexProxRow(const float* s, const float* centre, float g, float temperature, std::size_t n,
                    float* y, float* lambda) {
  if (temperature <= kLeastProxTemperature * g) {
    Project(s, centre, g, n, y, lambda);
    return;
  }
  g = std::max(g, kLeastProxRatio * temperature);
  const double ratio = static_cast<double>(g) / temperature;
  const auto argument = [&](std::size_t i) {
    return (static_cast<double>(g) * centre[i] - s[i]) / temperature;
  };
  double top = argument(0);
  for (std::size_t i = 1; i < n; ++i) top = std::max(top, argument(i));
  double offset = ratio + std::log(ratio);
  for (int k = 0; k < 200; ++k) {
    double sum = 0.0;
    double slope = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      const double w = WrightOmega(argument(i) - top + offset);
      sum += w;
      slope += w / (1.0 + w);
    }
    offset -= (sum - ratio) / slope;
    if (std::abs(sum - ratio) <= 1e-12 * ratio) break;
  }
  for (std::size_t i = 0; i < n; ++i)
    y[i] = static_cast<float>(WrightOmega(argument(i) - top + offset) / ratio);
  *lambda = static_cast<float>(top - offset);
}

float SoftmaxRow(const float* s, float temperature, std::size_t n, float* y) {
  const double least = *std::min_element(s, s + n);
  const double inverse = InverseTemperature(temperature);
  double total = 0.0;
  for (std::size_t i = 0; i < n; ++i) total += std::exp((least - s[i]) * inverse);
  for (std::size_t i = 0; i < n; ++i)
    y[i] = static_cast<float>(std::exp((least - s[i]) * inverse) / total);
  return static_cast<float>(temperature * std::log(total) - least);
}

void SoftmaxBlock(float temperature, std::size_t count, std::size_t n, std::size_t stride,
                  float* rows, float* y) {
  for (std::size_t a = 0; a < count; ++a, rows += stride) {
    SoftmaxRow(rows, temperature, n, rows);
    std::fill(rows + n, rows + stride, 0.0F);
    if (y != nullptr) std::copy(rows, rows + n, y + a * n);
  }
}

float LogSumExpRow(const float* s, float temperature, std::size_t n) {
  const double least = *std::min_element(s, s + n);
  const double inverse = InverseTemperature(temperature);
  double total = 0.0;
  for (std::size_t i = 0; i < n; ++i) total += std::exp((least - s[i]) * inverse);
  return static_cast<float>(temperature * std::log(total) - least);
}

float EntropyMinusEnergyRow(const float* y, const float* phi, float temperature, std::size_t n) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double p = y[i];
    sum -= p > 0.0 ? p * (temperature * std::log(p) + phi[i]) : 0.0;
  }
  return static_cast<float>(sum);
}

float FreeEnergyRow(const float* y, const float* phi, const float* s, float temperature,
                    std::size_t n) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double p = y[i];
    const double cost = 0.5 * (static_cast<double>(phi[i]) + s[i]);
    sum -= p > 0.0 ? p * (temperature * std::log(p) + cost) : 0.0;
  }
  return static_cast<float>(sum);
}

}  // namespace scalar

using testing::ForEachTarget;

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
constexpr double kTiny = std::numeric_limits<float>::min();
constexpr float kCanary = 12345.678F;
constexpr std::size_t kMaxLabels = 40;
constexpr float kTemperatures[] = {1.0F, 0.0F, 1e-12F, 0.1F, 10.0F, 1e12F};

// A row that starts `offset` floats after an aligned address and is followed by canaries.
class Row {
 public:
  Row(std::size_t n, std::size_t offset) : n_(n), offset_(offset), storage_(1, n + offset + 16) {
    std::fill(storage_.data(), storage_.data() + storage_.size(), kCanary);
  }
  float* data() { return storage_.data() + offset_; }
  const float* data() const { return storage_.data() + offset_; }
  float& operator[](std::size_t i) { return data()[i]; }
  float operator[](std::size_t i) const { return data()[i]; }
  std::size_t size() const { return n_; }

  void ExpectCanariesAlive() const {
    for (std::size_t k = 0; k < storage_.size(); ++k) {
      if (k < offset_ || k >= offset_ + n_) {
        ASSERT_EQ(storage_.data()[k], kCanary) << "written outside the row";
      }
    }
  }

 private:
  std::size_t n_;
  std::size_t offset_;
  Matrix<float> storage_;
};

class RandomRows {
 public:
  explicit RandomRows(std::uint64_t seed) : rng_(seed) {}

  double Real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(rng_);
  }
  std::size_t Index(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(rng_);
  }
  Row Uniform(std::size_t n, double low, double high) {
    Row row(n, Index(5));
    for (std::size_t i = 0; i < n; ++i) row[i] = static_cast<float>(Real(low, high));
    return row;
  }
  // Spread out, concentrated with tiny and zero entries, or all on one label.
  Row Distribution(std::size_t n) {
    Row row(n, Index(5));
    const std::size_t kind = Index(3);
    double sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      const double p = kind == 0   ? Real(0.0, 1.0)
                       : kind == 1 ? std::pow(10.0, Real(-45.0, 0.0))
                                   : 0.0;
      row[i] = static_cast<float>(p);
    }
    row[Index(n)] += 0.5F;
    for (std::size_t i = 0; i < n; ++i) sum += row[i];
    for (std::size_t i = 0; i < n; ++i) row[i] = static_cast<float>(row[i] / sum);
    return row;
  }

 private:
  std::mt19937_64 rng_;
};

struct ProxCase {
  Row s;
  Row centre;
  float g;
  float temperature;

  double ratio() const { return static_cast<double>(g) / temperature; }
  double Argument(std::size_t i) const {
    return (static_cast<double>(g) * centre[i] - s[i]) / temperature;
  }
  // By how much single precision may misplace an argument of omega: each is a difference of the
  // arguments and of lambda, which is within log L of G + log G.
  double ArgumentError() const {
    double largest = 0.0;
    for (std::size_t i = 0; i < s.size(); ++i)
      largest =
          std::max(largest, (static_cast<double>(g) * centre[i] + std::abs(s[i])) / temperature);
    return 2.0 * kEpsilon * (2.0 * largest + ratio() + std::abs(std::log(ratio())) + 8.0);
  }
};

void ExpectDistribution(const Row& y) {
  double sum = 0.0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    ASSERT_TRUE(std::isfinite(y[i])) << i;
    ASSERT_GE(y[i], 0.0F) << i;
    sum += y[i];
  }
  ASSERT_NEAR(sum, 1.0, kEpsilon * static_cast<double>(y.size()));
}

// Since log y + G y = x - lambda, dy/dx = y / (1 + G y): the error of y from an error of x, counted
// again for the error of lambda.
void ExpectProx(const ProxCase& c, float guess) {
  const std::size_t n = c.s.size();
  Row fast(n, 3);
  Row slow(n, 1);
  float fast_lambda = guess;
  float slow_lambda = kUnknownLambda;
  SimplexProxRow(c.s.data(), c.centre.data(), c.g, c.temperature, n, fast.data(), &fast_lambda);
  scalar::SimplexProxRow(c.s.data(), c.centre.data(), c.g, c.temperature, n, slow.data(),
                         &slow_lambda);
  fast.ExpectCanariesAlive();
  slow.ExpectCanariesAlive();
  ASSERT_NO_FATAL_FAILURE(ExpectDistribution(fast));
  ASSERT_NO_FATAL_FAILURE(ExpectDistribution(slow));
  const double error = c.ArgumentError();
  ASSERT_NEAR(fast_lambda, slow_lambda, error + 1e-4 * (1.0 + c.ratio()));
  // Arguments are clamped at -60.
  const double floor = 2.0 * std::exp(-60.0) / c.ratio() + kTiny;
  for (std::size_t i = 0; i < n; ++i) {
    const double tolerance = std::min(slow[i] * std::expm1(2.0 * error), 2.0 * error / c.ratio()) +
                             slow[i] * kEpsilon * static_cast<double>(n + 16) + floor;
    ASSERT_NEAR(fast[i], slow[i], tolerance) << "label " << i;
  }
  // The optimality condition of the fast one: log y + G y - x is the same for all labels.
  double low = HUGE_VAL;
  double high = -HUGE_VAL;
  for (std::size_t i = 0; i < n; ++i) {
    if (fast[i] <= 1e3 * floor) continue;
    const double y = fast[i];
    const double slack = error + kEpsilon * static_cast<double>(n + 16) * (1.0 + c.ratio() * y);
    const double multiplier = c.Argument(i) - std::log(y) - c.ratio() * y;
    low = std::min(low, multiplier + slack);
    high = std::max(high, multiplier - slack);
  }
  ASSERT_LE(high, low) << "lambda differs between labels";
}

TEST(SimplexKernelsTest, ProxAgreesWithItsTwinAndIsOptimal) {
  ForEachTarget([] {
    RandomRows random(1);
    for (std::size_t n = 2; n <= kMaxLabels; ++n) {
      for (double g = 1e-3; g < 2e6; g *= 10.0) {
        for (float temperature : {1.0F, 0.1F, 10.0F}) {
          for (double spread : {0.1, 10.0, 1e3, 1e5}) {
            SCOPED_TRACE(::testing::Message() << n << " labels, g " << g << ", T " << temperature
                                              << ", s up to " << spread);
            const ProxCase c{random.Uniform(n, -spread, spread), random.Distribution(n),
                             static_cast<float>(g), temperature};
            const float near = static_cast<float>(-spread * random.Uniform(1, 0.0, 1.0)[0]);
            for (float guess : {kUnknownLambda, near, -1e30F, 1e30F})
              ASSERT_NO_FATAL_FAILURE(ExpectProx(c, guess)) << "guess " << guess;
          }
        }
      }
    }
  });
}

TEST(SimplexKernelsTest, ProxOfEqualCostsStaysAtTheUniformCentre) {
  ForEachTarget([] {
    for (std::size_t n = 2; n <= kMaxLabels; ++n) {
      for (float g : {1e-3F, 1.0F, 1e6F}) {
        Row s(n, 0);
        Row centre(n, 0);
        for (std::size_t i = 0; i < n; ++i) {
          s[i] = 7.0F;
          centre[i] = 1.0F / static_cast<float>(n);
        }
        Row y(n, 0);
        float lambda = kUnknownLambda;
        SimplexProxRow(s.data(), centre.data(), g, 1.0F, n, y.data(), &lambda);
        for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(y[i], centre[i], 4 * kEpsilon);
      }
    }
  });
}

// Without the square, only -s/T counts.
TEST(SimplexKernelsTest, ProxWithVanishingSquareIsTheSoftmax) {
  ForEachTarget([] {
    RandomRows random(2);
    for (std::size_t n = 2; n <= kMaxLabels; ++n) {
      for (float temperature : {1.0F, 0.1F, 10.0F}) {
        for (float g : {1e-3F, 1e-6F, 1e-12F, 1e-30F}) {
          const Row s = random.Uniform(n, -5.0, 5.0);
          const Row centre = random.Distribution(n);
          Row scaled(n, 0);
          for (std::size_t i = 0; i < n; ++i) scaled[i] = s[i] / temperature;
          Row softmax(n, 0);
          scalar::SoftmaxRow(scaled.data(), 1.0F, n, softmax.data());
          // log y + G y = G centre - s/T - lambda: nothing moves by more than 2 G.
          const double error =
              std::expm1(2.0 * static_cast<double>(g) / temperature) +
              kEpsilon * (4.0 * 5.0 / temperature + 2.0 * std::log(1e6) + 2.0 * kMaxLabels);
          for (const bool fast : {false, true}) {
            Row y(n, 0);
            float lambda = kUnknownLambda;
            (fast ? SimplexProxRow : scalar::SimplexProxRow)(s.data(), centre.data(), g,
                                                             temperature, n, y.data(), &lambda);
            for (std::size_t i = 0; i < n; ++i)
              ASSERT_NEAR(y[i], softmax[i], softmax[i] * error + 1e-18)
                  << n << " labels, T " << temperature << ", g " << g << ", fast " << fast;
          }
        }
      }
    }
  });
}

// The condition for the projection p of x = centre - s/g: x_i - p_i is the same for all labels with p_i > 0
// and no larger for the others.
void ExpectProjection(const Row& s, const Row& centre, float g, const Row& y, double error) {
  double low = HUGE_VAL;
  double high = -HUGE_VAL;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double x = centre[i] - static_cast<double>(s[i]) / g;
    if (y[i] > 0.0F) low = std::min(low, x - y[i]);
    high = std::max(high, x - y[i]);
  }
  ASSERT_LE(high, low + 2.0 * error);
}

TEST(SimplexKernelsTest, ProxWithoutEntropyIsTheProjection) {
  ForEachTarget([] {
    RandomRows random(8);
    for (std::size_t n = 1; n <= kMaxLabels; ++n) {
      for (double g : {1e-3, 1.0, 1e3, 1e6}) {
        for (double spread : {0.0, 0.01, 1.0, 100.0}) {
          for (const double T : {0.0, 1e-12, 1e-10}) {
            SCOPED_TRACE(::testing::Message() << n << " labels, g " << g << ", s up to " << spread
                                              << " g, T " << T << " g");
            const Row s = random.Uniform(n, -spread * g, spread * g);
            const Row centre = random.Distribution(n);
            Row fast(n, 3);
            Row slow(n, 1);
            float lambda = kUnknownLambda;
            const auto temperature = static_cast<float>(T * g);
            SimplexProxRow(s.data(), centre.data(), static_cast<float>(g), temperature, n,
                           fast.data(), &lambda);
            scalar::SimplexProxRow(s.data(), centre.data(), static_cast<float>(g), temperature, n,
                                   slow.data(), &lambda);
            fast.ExpectCanariesAlive();
            ASSERT_NO_FATAL_FAILURE(ExpectDistribution(fast));
            ASSERT_NO_FATAL_FAILURE(ExpectDistribution(slow));
            // Arguments of size spread + 1 are rounded three times, sums of n of them once each.
            const double error = kEpsilon * (4.0 * (spread + 1.0) + static_cast<double>(n));
            for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(fast[i], slow[i], error) << i;
            const auto g_float = static_cast<float>(g);
            ASSERT_NO_FATAL_FAILURE(ExpectProjection(s, centre, g_float, fast, error));
            ASSERT_NO_FATAL_FAILURE(ExpectProjection(s, centre, g_float, slow, error));
          }
        }
      }
    }
  });
}

// All that a DenseCrf allows, and more.
TEST(SimplexKernelsTest, ProxIsADistributionAtAnyMagnitude) {
  ForEachTarget([] {
    RandomRows random(3);
    for (std::size_t n = 2; n <= kMaxLabels; ++n) {
      for (double g = 1e-36; g < 1e34; g *= 1e4) {
        for (double spread : {0.0, 1e-20, 1.0, 1e10, 1e30}) {
          const Row s = random.Uniform(n, -spread, spread);
          const Row centre = random.Distribution(n);
          Row y(n, 2);
          float lambda = kUnknownLambda;
          for (const float T : {1.0F, 0.0F, 1e-30F, 1e-12F, 1e12F, 1e30F}) {
            SimplexProxRow(s.data(), centre.data(), static_cast<float>(g), T, n, y.data(), &lambda);
            ASSERT_NO_FATAL_FAILURE(ExpectDistribution(y))
                << "g " << g << ", spread " << spread << ", T " << T;
            scalar::SimplexProxRow(s.data(), centre.data(), static_cast<float>(g), T, n, y.data(),
                                   &lambda);
            ASSERT_NO_FATAL_FAILURE(ExpectDistribution(y))
                << "g " << g << ", spread " << spread << ", T " << T;
          }
        }
      }
    }
  });
}

TEST(SimplexKernelsTest, SoftmaxAndLogSumExpAgreeWithTheirTwins) {
  ForEachTarget([] {
    RandomRows random(4);
    for (std::size_t n = 1; n <= kMaxLabels; ++n) {
      for (double spread : {0.0, 1.0, 80.0, 1e5, 1e30}) {
        for (float T : kTemperatures) {
          SCOPED_TRACE(::testing::Message() << n << " labels, spread " << spread << ", T " << T);
          const double shift = random.Real(-spread, spread);
          Row s = random.Uniform(n, shift - spread, shift + spread);
          if (random.Index(4) == 0) s[0] = s[n - 1];
          Row fast(n, 1);
          Row slow(n, 2);
          const double value = SoftmaxRow(s.data(), T, n, fast.data());
          const double twin = scalar::SoftmaxRow(s.data(), T, n, slow.data());
          fast.ExpectCanariesAlive();
          slow.ExpectCanariesAlive();
          const double least = *std::min_element(s.data(), s.data() + n);
          const double rounding = kEpsilon * (std::abs(least) + T * (static_cast<double>(n) + 4.0));
          ASSERT_NEAR(value, twin, rounding);
          ASSERT_NEAR(LogSumExpRow(s.data(), T, n), twin, rounding);
          ASSERT_EQ(scalar::LogSumExpRow(s.data(), T, n), twin);
          if (T == 0.0F) {
            ASSERT_EQ(value, -least);
          }
          ASSERT_NO_FATAL_FAILURE(ExpectDistribution(fast));
          for (std::size_t i = 0; i < n; ++i) {
            const double above = s[i] - least;
            const double exponent = above == 0.0 ? 0.0 : std::min(100.0, above / T);
            ASSERT_NEAR(fast[i], slow[i],
                        slow[i] * kEpsilon * (exponent + static_cast<double>(n) + 6.0) + kTiny)
                << i;
          }
        }
      }
    }
  });
}

TEST(SimplexKernelsTest, EntropyMinusCostsAgreesWithItsTwins) {
  ForEachTarget([] {
    RandomRows random(5);
    for (std::size_t n = 1; n <= kMaxLabels; ++n) {
      for (double spread : {0.0, 1.0, 1e5, 1e30}) {
        const float T = kTemperatures[random.Index(std::size(kTemperatures))];
        const Row y = random.Distribution(n);
        const Row phi = random.Uniform(n, -spread, spread);
        double size = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
          const double p = y[i];
          if (p > 0.0) size += p * (T * std::abs(std::log(p)) + std::abs(phi[i]));
        }
        const double twin = scalar::EntropyMinusEnergyRow(y.data(), phi.data(), T, n);
        const double rounding = kEpsilon * (static_cast<double>(n) + 6.0) * (size + 1e-30);
        ASSERT_NEAR(EntropyMinusEnergyRow(y.data(), phi.data(), T, n), twin, rounding);
        const Row s = random.Uniform(n, -spread, spread);
        double size_of_s = size;
        for (std::size_t i = 0; i < n; ++i) size_of_s += y[i] * std::abs(s[i]);
        ASSERT_NEAR(FreeEnergyRow(y.data(), phi.data(), s.data(), T, n),
                    scalar::FreeEnergyRow(y.data(), phi.data(), s.data(), T, n),
                    kEpsilon * (static_cast<double>(n) + 6.0) * (size_of_s + 1e-30));
      }
    }
  });
}

TEST(SimplexKernelsTest, SoftmaxOfRowsIsThatOfEachRow) {
  ForEachTarget([] {
    RandomRows random(6);
    for (std::size_t n = 1; n <= kMaxLabels; ++n) {
      const Row s = random.Uniform(7 * n, -20.0, 20.0);
      Row together(7 * n, 0);
      const float T = n % 2 == 0 ? 1.0F : 3.0F;
      SoftmaxRows(s.data(), T, 7, n, together.data());
      for (std::size_t a = 0; a < 7; ++a) {
        std::vector<float> alone(n);
        scalar::SoftmaxRow(s.data() + a * n, T, n, alone.data());
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_NEAR(together[a * n + i], alone[i], 64 * kEpsilon * alone[i] + 1e-12);
      }
    }
  });
}

TEST(SimplexKernelsTest, SoftmaxOfABlockIsThatOfItsRows) {
  ForEachTarget([] {
    RandomRows random(7);
    for (std::size_t n = 1; n <= kMaxLabels; ++n) {
      const std::size_t padded = (n + kBlockLanes - 1) / kBlockLanes * kBlockLanes;
      for (const std::size_t stride : {padded, padded + kBlockLanes}) {
        for (const std::size_t count : {1, 2, 9}) {
          for (double spread : {0.0, 1.0, 80.0, 1e30}) {
            SCOPED_TRACE(::testing::Message() << n << " labels, spread " << spread << ", stride "
                                              << stride << ", " << count << " rows");
            Row rows(count * stride, 0);
            for (std::size_t k = 0; k < rows.size(); ++k)
              rows[k] = static_cast<float>(random.Real(-spread, spread));
            // What lies between the rows is not to be looked at.
            for (std::size_t a = 0; a < count; ++a) {
              for (std::size_t i = n; i < stride; ++i) rows[a * stride + i] = -2e30F;
            }
            Row twin = rows;
            Row kept(count * n, 3);
            Row twin_kept(count * n, 1);
            Row unkept = rows;
            const float T = kTemperatures[random.Index(std::size(kTemperatures))];
            SoftmaxBlock(T, count, n, stride, unkept.data(), nullptr);
            SoftmaxBlock(T, count, n, stride, rows.data(), kept.data());
            const Row costs = twin;
            scalar::SoftmaxBlock(T, count, n, stride, twin.data(), twin_kept.data());
            for (const Row* row : {&rows, &twin, &kept, &twin_kept, &unkept})
              ASSERT_NO_FATAL_FAILURE(row->ExpectCanariesAlive());
            for (std::size_t a = 0; a < count; ++a) {
              const float* s = costs.data() + a * stride;
              const double least = *std::min_element(s, s + n);
              double sum = 0.0;
              for (std::size_t i = 0; i < stride; ++i) {
                const std::size_t k = a * stride + i;
                ASSERT_EQ(rows[k], unkept[k]);
                if (i >= n) {
                  ASSERT_EQ(rows[k], 0.0F);
                  ASSERT_EQ(twin[k], 0.0F);
                  continue;
                }
                const double above = s[i] - least;
                const double exponent = above == 0.0 ? 0.0 : std::min(100.0, above / T);
                ASSERT_NEAR(rows[k], twin[k],
                            twin[k] * kEpsilon * (exponent + static_cast<double>(n) + 6.0) + kTiny);
                ASSERT_EQ(kept[a * n + i], rows[k]);
                ASSERT_EQ(twin_kept[a * n + i], twin[k]);
                sum += rows[k];
              }
              ASSERT_NEAR(sum, 1.0, kEpsilon * static_cast<double>(n));
            }
          }
        }
      }
    }
  });
}

TEST(SimplexKernelsTest, KnownValues) {
  ForEachTarget([] {
    Row s(3, 0);
    s[0] = 0.0F;
    s[1] = static_cast<float>(-std::log(2.0));
    s[2] = 0.0F;
    Row y(3, 0);
    EXPECT_NEAR(SoftmaxRow(s.data(), 1.0F, 3, y.data()), std::log(4.0), 2 * kEpsilon);
    EXPECT_NEAR(y[1], 0.5, kEpsilon);
    Row half(2, 0);
    half[0] = half[1] = 0.5F;
    Row phi(2, 0);
    phi[0] = 1.0F;
    phi[1] = 3.0F;
    EXPECT_NEAR(EntropyMinusEnergyRow(half.data(), phi.data(), 1.0F, 2), std::log(2.0) - 2.0,
                4 * kEpsilon);
    EXPECT_EQ(EntropyMinusEnergyRow(half.data(), phi.data(), 0.0F, 2), -2.0F);
    // G = 1 and one label of two costs 2.5 more: the difference of the two optimality conditions.
    Row cost(2, 0);
    cost[0] = 0.0F;
    cost[1] = 2.5F;
    float lambda = kUnknownLambda;
    SimplexProxRow(cost.data(), half.data(), 1.0F, 1.0F, 2, y.data(), &lambda);
    const double p = y[0];
    EXPECT_NEAR(std::log(p / (1.0 - p)) + p - (1.0 - p), 2.5, 20 * kEpsilon);
  });
}

}  // namespace
}  // namespace submarine::internal
