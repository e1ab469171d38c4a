#include "submarine/solver/exact/column_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace submarine::internal {
namespace {

// The plain forms, which the kernels are compared with.
namespace scalar {

void LogSumExpColumns(const double* rows, std::size_t num_rows, std::size_t columns,
                      double temperature, double* out) {
  for (std::size_t j = 0; j < columns; ++j) {
    double largest = rows[j];
    for (std::size_t x = 1; x < num_rows; ++x) largest = std::max(largest, rows[x * columns + j]);
    out[j] = largest;
    if (temperature == 0.0 || largest == -HUGE_VAL) continue;
    double sum = 0.0;
    for (std::size_t x = 0; x < num_rows; ++x) {
      sum += std::exp((rows[x * columns + j] - largest) / temperature);
    }
    out[j] += temperature * std::log(sum);
  }
}

void SoftmaxColumns(const double* weight, std::size_t num_rows, std::size_t columns,
                    double temperature, double* rows) {
  for (std::size_t j = 0; j < columns; ++j) {
    double largest = rows[j];
    for (std::size_t x = 1; x < num_rows; ++x) largest = std::max(largest, rows[x * columns + j]);
    double sum = 0.0;
    for (std::size_t x = 0; x < num_rows; ++x) {
      double& value = rows[x * columns + j];
      value = largest == -HUGE_VAL ? 0.0 : std::exp((value - largest) / temperature);
      sum += value;
    }
    if (sum == 0.0) continue;
    for (std::size_t x = 0; x < num_rows; ++x) rows[x * columns + j] *= weight[j] / sum;
  }
}

}  // namespace scalar

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> RandomValues(std::size_t size, double spread, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> value(-spread, 0.0);
  std::bernoulli_distribution impossible(0.2);
  std::vector<double> values(size);
  for (double& v : values) v = impossible(random) ? -kInfinity : value(random);
  return values;
}

TEST(ColumnKernelsTest, LogSumExpMatchesScalarTwin) {
  for (std::size_t rows : {1, 2, 5}) {
    for (std::size_t columns : {1, 2, 3, 4, 7, 8, 33}) {
      for (double temperature : {0.0, 1e-3, 1.0, 7.0}) {
        for (double spread : {1.0, 1e3, 1e9}) {
          const std::vector<double> table = RandomValues(rows * columns, spread, rows + columns);
          std::vector<double> expected(columns);
          std::vector<double> actual(columns);
          scalar::LogSumExpColumns(table.data(), rows, columns, temperature, expected.data());
          LogSumExpColumns(table.data(), rows, columns, temperature, actual.data());
          for (std::size_t j = 0; j < columns; ++j) {
            if (expected[j] == -kInfinity) {
              EXPECT_EQ(actual[j], -kInfinity);
            } else {
              EXPECT_NEAR(actual[j], expected[j], 1e-14 * std::max(1.0, std::abs(expected[j])));
            }
          }
        }
      }
    }
  }
}

TEST(ColumnKernelsTest, SoftmaxMatchesScalarTwin) {
  for (std::size_t rows : {1, 2, 5}) {
    for (std::size_t columns : {1, 2, 3, 4, 7, 8, 33}) {
      for (double temperature : {1e-3, 1.0, 7.0}) {
        for (double spread : {1.0, 1e3, 1e9, 1e300}) {
          std::vector<double> expected = RandomValues(rows * columns, spread, rows + columns);
          std::vector<double> weight(columns);
          for (std::size_t j = 0; j < columns; ++j) weight[j] = 0.5 * static_cast<double>(j);
          std::vector<double> actual = expected;
          scalar::SoftmaxColumns(weight.data(), rows, columns, temperature, expected.data());
          SoftmaxColumns(weight.data(), rows, columns, temperature, actual.data());
          for (std::size_t k = 0; k < actual.size(); ++k) {
            EXPECT_NEAR(actual[k], expected[k], 1e-12 * expected[k] + 1e-300);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace submarine::internal
