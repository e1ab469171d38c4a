// The inner loops of tree-reweighted message passing, on rows of n doubles. Rows may have any length
// and alignment; rows padded to a multiple of the vector width are fastest.
#pragma once

#include <cstddef>

namespace submarine::internal {

// The kernels and destinations of the two messages of PottsPairRow.
struct PottsPair {
  double stay[2];
  double leave[2];
  double* out[2];
};

double MaxRow(const double* x, std::size_t n);

// out = exp(x - shift); returns the sum of out. Aliasing is fine.
double ExpRow(const double* x, double shift, std::size_t n, double* out);

// out = log(x) + shift, -inf at 0. Aliasing is fine.
void LogRow(const double* x, double shift, std::size_t n, double* out);

// g = psi (product over `messages` consecutive rows of m)^(1 / 2^roots); returns the sum of g.
double BeliefRow(const double* psi, const double* m, std::size_t messages, int roots, std::size_t n,
                 double* g);

// q = g / m; returns the sum of q.
double QuotientRow(const double* g, const double* m, std::size_t n, double* q);

// out = scale * (stay g / m + leave sum(g / m)), scaled so that `labels` entries sum to 1; entries
// of g beyond them must be 0. Returns 1 / scale.
double PottsMessageRow(const double* g, const double* m, std::size_t n, std::size_t labels,
                       double stay, double leave, double* out);

// A variable on two chains, its belief and both messages at once: with g = psi (m0 m1 m2 m3)^(1/2)
// of the four rows of m and q_f = g / m_(2f + side), writes out_f as PottsMessageRow would for f =
// 0, 1. Returns the product of both 1 / scale.
double PottsPairRow(const double* psi, const double* m, int side, std::size_t n, std::size_t labels,
                    const PottsPair& pair);

}  // namespace submarine::internal
