#include "submarine/solver/exact/column_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace submarine::internal {
namespace {

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
