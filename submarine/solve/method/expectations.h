// What the certificate of a solve proves in words that people use: areas, agreement, means. For
// results of Solve with options.expectations.
//
//   const SolveResult result = Solve(model, {.expectations = true, .limits = {.time_limit_seconds = 30}});
//   const Expectation same = AgreementOf(result, result.labels);   // in variables: pixels
//
// All are about labelings drawn from the model of the certificate, exp(-E/T)/Z_T, not about the
// picture's truth. Functions throw InvalidInput where the solve was not asked for expectations, and for
// shapes that do not fit. Each takes a few dozen passes over the variables (or the paths of routes, the
// forests, exact inference).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/bound/expectation.h"
#include "submarine/solve/method/result.h"

namespace submarine {

// Of S(x) = sum_a values(a, x_a), values: variables x labels.
Expectation ExpectationOf(const SolveResult& result, const Matrix<double>& values);

// For every label the number of variables that have it, among those where the mask is not 0; empty: all.
std::vector<Expectation> AreasOf(const SolveResult& result, std::span<const char> mask = {});

// The number of variables that have the given label; those of negative labels do not count.
Expectation AgreementOf(const SolveResult& result, std::span<const int> labels);

// P(x_a = label): for small models, where log Z is known to a few nats.
Expectation ProbabilityOf(const SolveResult& result, std::size_t variable, int label);

}  // namespace submarine
