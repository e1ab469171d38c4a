// A permanent attack on the certificates: thousands of nasty small models (nasty_models.h), every method,
// metric, certificate and temperature, against enumeration in long double.
//
// By hand, any number of other cases, or a single one that failed:
//   SUBMARINE_ATTACK_SEED=12345 SUBMARINE_ATTACK_CASES=100000 build/bin/attack_test
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <variant>

#include "submarine/base/error.h"
#include "submarine/solve/solve.h"
#include "tests/attack/nasty_models.h"

namespace submarine::internal::attack {
namespace {

constexpr int kCases = 20000;
constexpr int kShards = 10;
constexpr std::uint64_t kSeed = 20261116;

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

bool IsDistribution(std::span<const double> row) {
  double sum = 0.0;
  for (const double p : row) {
    if (!(p >= 0.0 && p <= 1.0 + 1e-6)) return false;
    sum += p;
  }
  return std::abs(sum - 1.0) < 1e-4;
}

bool AreDistributions(const MarginalRows& marginals) {
  return std::visit(
      [](const auto& rows) {
        const auto check = [](const auto& row) {
          return IsDistribution(std::vector<double>(row.begin(), row.end()));
        };
        if constexpr (requires { rows.rows(); }) {
          for (std::size_t a = 0; a < rows.rows(); ++a) {
            if (!check(rows.row(a))) return false;
          }
        } else {
          for (const auto& row : rows) {
            if (!check(row)) return false;
          }
        }
        return true;
      },
      marginals);
}

// Whether the certificate is about the model as given, and not about what an operator makes of it.
bool IsAboutTheModel(const Certificate& certificate) {
  return certificate.model.find("as applied by") == std::string::npos &&
         certificate.model.find("row sums of") == std::string::npos;
}

void Check(const Case& attacked, const SolveResult& result) {
  const Certificate& certificate = result.certificate;
  const auto [truth, error] = attacked.truth;
  EXPECT_TRUE(result.usable());
  EXPECT_TRUE(certificate.lower || certificate.upper) << "nothing was certified";
  for (const auto& bound :
       {certificate.lower, certificate.upper, certificate.dual, result.energy}) {
    if (bound) {
      EXPECT_FALSE(std::isnan(bound->value()));
    }
  }
  EXPECT_TRUE(AreDistributions(result.marginals));
  if (!IsAboutTheModel(certificate)) return;
  if (certificate.lower) {
    EXPECT_LE(static_cast<long double>(certificate.lower->value()), truth + error);
  }
  if (certificate.upper) {
    EXPECT_GE(static_cast<long double>(certificate.upper->value()), truth - error);
  }
  const auto [least, least_error] = attacked.least_energy;
  if (result.energy) {
    EXPECT_GE(static_cast<long double>(result.energy->value()), least - least_error);
  }
}

// Typed refusals are answers, too; anything else that is thrown is a defect.
enum class Answer { kSolved, kRefused };

Answer Attack(std::uint64_t seed) {
  SCOPED_TRACE(::testing::Message()
               << "SUBMARINE_ATTACK_SEED=" << seed << " SUBMARINE_ATTACK_CASES=1");
  try {
    const Case attacked = MakeCase(seed);
    SCOPED_TRACE(attacked.description);
    try {
      const SolveResult result = std::visit(
          [&](const auto& model) { return Solve(model, attacked.options); }, attacked.model);
      Check(attacked, result);
      return Answer::kSolved;
    } catch (const Error&) {
      return Answer::kRefused;
    } catch (const std::exception& defect) {
      ADD_FAILURE() << "a defect: " << defect.what();
      return Answer::kRefused;
    }
  } catch (const InvalidInput&) {
    return Answer::kRefused;  // the generator's numbers are no model
  }
}

class AttackTest : public ::testing::TestWithParam<int> {};

TEST_P(AttackTest, CertificatesHold) {
  const auto first = FromEnvironment("SUBMARINE_ATTACK_SEED", kSeed);
  const auto cases = FromEnvironment("SUBMARINE_ATTACK_CASES", kCases);
  std::uint64_t tried = 0;
  std::uint64_t solved = 0;
  for (std::uint64_t k = static_cast<std::uint64_t>(GetParam()); k < cases && !HasFailure();
       k += kShards) {
    ++tried;
    solved += Attack(first + k) == Answer::kSolved ? 1 : 0;
  }
  // An attack that is mostly turned away tests little.
  if (tried >= 100) {
    EXPECT_GE(solved, tried * 7 / 10);
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, AttackTest, ::testing::Range(0, kShards));

}  // namespace
}  // namespace submarine::internal::attack
