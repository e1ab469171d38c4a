// Edmonds' greedy algorithm for any set function given as an oracle: a reference implementation of
// the closed forms in sparse_extension.h. n + 1 evaluations of F.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace submarine::internal {

using SetFunction = std::function<double(std::span<const char> in_set)>;

// The vertex of EP(F) that maximises <s, z>: elements enter in order of decreasing z (ties by
// index), each with its marginal value. F must be submodular with F(empty) = 0.
std::vector<double> GreedyVertex(const SetFunction& f, std::span<const double> z);

// The Lovasz extension of F at z, through the greedy vertex: <s, z>.
double LovaszValue(const SetFunction& f, std::span<const double> z);

// max over A of s(A) - F(A), by enumerating all subsets of the z.size() <= 24 elements: <= 0 means
// s in EP(F).
double WorstViolation(const SetFunction& f, std::span<const double> s);

}  // namespace submarine::internal
