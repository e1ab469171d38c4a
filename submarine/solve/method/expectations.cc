#include "submarine/solve/method/expectations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <variant>

#include "submarine/base/error.h"
#include "submarine/base/numbers.h"
#include "submarine/bound/tilted_upper.h"

namespace submarine {
namespace {

const internal::TiltedUpper& TiltedOf(const SolveResult& result) {
  if (!result.tilted) {
    throw InvalidInput(
        "the solve was not asked for expectations; set the option of this name before it");
  }
  return *result.tilted;
}

// sum_a sum_i y_a(i) values(a, i).
std::optional<double> SumOver(const MarginalRows& marginals, const Matrix<double>& values) {
  double sum = 0.0;
  std::size_t rows = 0;
  const auto add = [&](std::size_t a, const auto& y) {
    for (std::size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(y[i]) * values(a, i);
  };
  std::visit(
      [&](const auto& matrix) {
        if constexpr (std::is_same_v<decltype(matrix), const std::vector<std::vector<double>>&>) {
          rows = matrix.size();
          for (std::size_t a = 0; a < rows; ++a) add(a, matrix[a]);
        } else {
          rows = matrix.rows();
          for (std::size_t a = 0; a < rows; ++a) add(a, matrix.row(a));
        }
      },
      marginals);
  return rows > 0 ? std::optional(sum) : std::nullopt;
}

std::optional<double> Claimed(const SolveResult& result, const Matrix<double>& values) {
  const bool by_marginals = result.termination == Termination::kExact || result.updates > 0;
  return SumOver(by_marginals ? result.marginals : result.mean_field, values);
}

Matrix<double> NoValues(const internal::TiltedUpper& upper) {
  std::size_t labels = 0;
  for (std::size_t a = 0; a < upper.num_variables(); ++a)
    labels = std::max(labels, upper.num_labels(a));
  return {upper.num_variables(), labels};
}

void CheckSize(const char* what, std::size_t size, const internal::TiltedUpper& upper) {
  if (size == upper.num_variables()) return;
  throw InvalidInput(
      fmt::format("the {} has {} entries for {} variables", what, size, upper.num_variables()));
}

}  // namespace

Expectation ExpectationOf(const SolveResult& result, const Matrix<double>& values) {
  Expectation found =
      internal::CertifiedExpectation(TiltedOf(result), result.certificate.lower, values);
  found.claimed = Claimed(result, values);
  return found;
}

std::vector<Expectation> AreasOf(const SolveResult& result, std::span<const char> mask) {
  const internal::TiltedUpper& upper = TiltedOf(result);
  if (!mask.empty()) CheckSize("mask", mask.size(), upper);
  Matrix<double> values = NoValues(upper);
  const auto set_column = [&](std::size_t label, double value) {
    for (std::size_t a = 0; a < values.rows(); ++a) {
      if ((mask.empty() || mask[a] != 0) && label < upper.num_labels(a)) values(a, label) = value;
    }
  };
  std::vector<Expectation> areas;
  for (std::size_t label = 0; label < values.cols(); ++label) {
    set_column(label, 1.0);
    areas.push_back(ExpectationOf(result, values));
    set_column(label, 0.0);
  }
  return areas;
}

Expectation AgreementOf(const SolveResult& result, std::span<const int> labels) {
  const internal::TiltedUpper& upper = TiltedOf(result);
  CheckSize("labeling", labels.size(), upper);
  Matrix<double> values = NoValues(upper);
  for (std::size_t a = 0; a < labels.size(); ++a) {
    if (labels[a] < 0) continue;
    const auto label = static_cast<std::size_t>(labels[a]);
    if (label >= upper.num_labels(a)) {
      throw InvalidInput(fmt::format("variable {} has the label {}, expected at most {}", a, label,
                                     upper.num_labels(a) - 1));
    }
    values(a, label) = 1.0;
  }
  return ExpectationOf(result, values);
}

Expectation ProbabilityOf(const SolveResult& result, std::size_t variable, int label) {
  const internal::TiltedUpper& upper = TiltedOf(result);
  if (label < 0) throw InvalidInput(fmt::format("the label is {}, expected 0 or more", label));
  Expectation found = internal::CertifiedProbability(upper, result.certificate.lower, variable,
                                                     static_cast<std::size_t>(label));
  Matrix<double> values = NoValues(upper);
  values(variable, static_cast<std::size_t>(label)) = 1.0;
  found.claimed = Claimed(result, values);
  return found;
}

}  // namespace submarine
