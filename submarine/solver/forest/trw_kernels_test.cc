#include "submarine/solver/forest/trw_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace submarine::internal {
namespace {

// The plain forms, which the kernels are compared with.
namespace scalar {

double MaxRow(const double* x, std::size_t n) {
  double largest = -HUGE_VAL;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, x[i]);
  return largest;
}

double ExpRow(const double* x, double shift, std::size_t n, double* out) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += out[i] = std::exp(x[i] - shift);
  return sum;
}

void LogRow(const double* x, double shift, std::size_t n, double* out) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = x[i] < std::numeric_limits<double>::min() ? -HUGE_VAL : std::log(x[i]) + shift;
  }
}

double BeliefRow(const double* psi, const double* m, std::size_t messages, int roots, std::size_t n,
                 double* g) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    double product = m[i];
    for (std::size_t k = 1; k < messages; ++k) product *= m[k * n + i];
    for (int r = 0; r < roots; ++r) product = std::sqrt(product);
    sum += g[i] = psi[i] * product;
  }
  return sum;
}

double QuotientRow(const double* g, const double* m, std::size_t n, double* q) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += q[i] = g[i] / m[i];
  return sum;
}

double PottsMessageRow(const double* g, const double* m, std::size_t n, std::size_t labels,
                       double stay, double leave, double* out) {
  const double sum = scalar::QuotientRow(g, m, n, out);
  const double whole = sum * (stay + static_cast<double>(labels) * leave);
  for (std::size_t i = 0; i < n; ++i) out[i] = (stay * out[i] + leave * sum) / whole;
  return whole;
}

double PottsPairRow(const double* psi, const double* m, int side, std::size_t n, std::size_t labels,
                    const PottsPair& pair) {
  std::vector<double> g(n);
  scalar::BeliefRow(psi, m, 4, 1, n, g.data());
  double scale = 1.0;
  for (std::size_t f : {0, 1}) {
    const double* received = m + (2 * f + static_cast<std::size_t>(side)) * n;
    scale *= scalar::PottsMessageRow(g.data(), received, n, labels, pair.stay[f], pair.leave[f],
                                     pair.out[f]);
  }
  return scale;
}

}  // namespace scalar

// Every kernel against its scalar twin, for all lengths up to a few vectors and shifted starts.
class TrwKernels : public ::testing::Test {
 protected:
  std::vector<double> Draw(std::size_t n, double low, double high) {
    std::uniform_real_distribution<double> uniform(low, high);
    std::vector<double> row(n);
    for (double& x : row) x = uniform(rng_);
    return row;
  }
  void ForRows(const std::function<void(std::size_t n, std::size_t shift)>& body) {
    for (std::size_t n = 1; n <= 40; ++n) body(n, n % 3);
  }
  static void ExpectClose(const std::vector<double>& x, const std::vector<double>& y) {
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(x[i], y[i], 1e-14 * (1.0 + std::abs(y[i])))
          << "entry " << i << " of " << x.size();
  }
  std::mt19937_64 rng_{7};
};

TEST_F(TrwKernels, MaxExpAndLog) {
  ForRows([&](std::size_t n, std::size_t shift) {
    const std::vector<double> x = Draw(n + shift, -30.0, 5.0);
    EXPECT_EQ(MaxRow(x.data() + shift, n), scalar::MaxRow(x.data() + shift, n));
    std::vector<double> fast(n);
    std::vector<double> slow(n);
    EXPECT_NEAR(ExpRow(x.data() + shift, 5.0, n, fast.data()),
                scalar::ExpRow(x.data() + shift, 5.0, n, slow.data()), 1e-13);
    ExpectClose(fast, slow);
    std::vector<double> p = fast;
    p[n / 2] = 0.0;
    LogRow(p.data(), 2.5, n, fast.data());
    scalar::LogRow(p.data(), 2.5, n, slow.data());
    EXPECT_EQ(fast[n / 2], -HUGE_VAL);
    EXPECT_EQ(slow[n / 2], -HUGE_VAL);
    fast[n / 2] = slow[n / 2] = 0.0;
    ExpectClose(fast, slow);
  });
}

TEST_F(TrwKernels, BeliefIsARootOfTheProduct) {
  for (std::size_t messages : {2u, 4u, 8u}) {
    ForRows([&](std::size_t n, std::size_t shift) {
      const std::vector<double> psi = Draw(n + shift, 0.0, 1.0);
      const std::vector<double> m = Draw(messages * n, 0.1, 1.0);
      const int roots = messages == 8 ? 2 : messages == 4 ? 1 : 0;
      std::vector<double> fast(n);
      std::vector<double> slow(n);
      EXPECT_NEAR(BeliefRow(psi.data() + shift, m.data(), messages, roots, n, fast.data()),
                  scalar::BeliefRow(psi.data() + shift, m.data(), messages, roots, n, slow.data()),
                  1e-13 * static_cast<double>(n));
      ExpectClose(fast, slow);
      double product = 1.0;
      for (std::size_t k = 0; k < messages; ++k) product *= m[k * n];
      EXPECT_NEAR(slow[0], psi[shift] * std::pow(product, 2.0 / static_cast<double>(messages)),
                  1e-13);
    });
  }
}

TEST_F(TrwKernels, QuotientAndPottsMessage) {
  ForRows([&](std::size_t n, std::size_t shift) {
    std::vector<double> g = Draw(n + shift, 0.0, 1.0);
    const std::vector<double> m = Draw(n + shift, 0.1, 1.0);
    const std::size_t labels = n - n / 4;  // the rest is padding
    for (std::size_t i = labels; i < n; ++i) g[shift + i] = 0.0;
    std::vector<double> fast(n);
    std::vector<double> slow(n);
    EXPECT_NEAR(QuotientRow(g.data() + shift, m.data() + shift, n, fast.data()),
                scalar::QuotientRow(g.data() + shift, m.data() + shift, n, slow.data()),
                1e-12 * static_cast<double>(n));
    ExpectClose(fast, slow);
    const std::vector<double> q = slow;
    const double scale =
        PottsMessageRow(g.data() + shift, m.data() + shift, n, labels, 0.8, 0.2, fast.data());
    EXPECT_NEAR(scale,
                scalar::PottsMessageRow(g.data() + shift, m.data() + shift, n, labels, 0.8, 0.2,
                                        slow.data()),
                1e-12 * scale);
    ExpectClose(fast, slow);
    double sum = 0.0;
    double total = 0.0;
    for (std::size_t i = 0; i < labels; ++i) {
      sum += q[i];
      total += slow[i];
    }
    EXPECT_NEAR(total, 1.0, 1e-13);
    EXPECT_NEAR(slow[0] * scale, 0.8 * q[0] + 0.2 * sum, 1e-12 * scale);
  });
}

TEST_F(TrwKernels, PottsPairIsTwoMessages) {
  for (std::size_t n = 4; n <= 40; n += 4) {
    for (int side : {0, 1}) {
      const std::size_t labels = n - n % 3;
      std::vector<double> psi = Draw(n, 0.0, 1.0);
      for (std::size_t i = labels; i < n; ++i) psi[i] = 0.0;
      const std::vector<double> m = Draw(4 * n, 0.1, 1.0);
      std::vector<double> fast(2 * n);
      std::vector<double> slow(2 * n);
      const double scale = PottsPairRow(psi.data(), m.data(), side, n, labels,
                                        {{0.8, 0.3}, {0.2, 0.7}, {fast.data(), fast.data() + n}});
      EXPECT_NEAR(scale,
                  scalar::PottsPairRow(psi.data(), m.data(), side, n, labels,
                                       {{0.8, 0.3}, {0.2, 0.7}, {slow.data(), slow.data() + n}}),
                  1e-12 * scale);
      ExpectClose(fast, slow);
    }
  }
}

}  // namespace
}  // namespace submarine::internal
