// Sums over the rows of a small table, column by column, where elimination spends its time.
#pragma once

#include <cstddef>

namespace submarine::internal {
// out[j] = T log sum_x exp(rows[x * columns + j] / T), the maximum over x at T = 0. Entries may be
// -inf; the result is -inf where all of them are.
void LogSumExpColumns(const double* rows, std::size_t num_rows, std::size_t columns,
                      double temperature, double* out);

// Replaces every column by weight[j] * softmax(column / T), T > 0; by zeros if all its entries are
// -inf.
void SoftmaxColumns(const double* weight, std::size_t num_rows, std::size_t columns,
                    double temperature, double* rows);

}  // namespace submarine::internal
