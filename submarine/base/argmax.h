// The first of the largest entries: the most probable label.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/base/parallel.h"

namespace submarine::internal {

template <class Row>
int Argmax(const Row& row) {
  return static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin());
}

// That of every row.
template <class T>
std::vector<int> ArgmaxLabels(const Matrix<T>& marginals) {
  std::vector<int> labels(marginals.rows());
  ParallelFor(marginals.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) labels[a] = Argmax(marginals.row(a));
  });
  return labels;
}

}  // namespace submarine::internal
