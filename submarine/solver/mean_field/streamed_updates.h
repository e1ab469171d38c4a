// The classic update of mean field on lattices, y = softmax(-(phi + factor K M y) / T), for all
// variables at once; M is the identity, or a band of labels (labels/label_band.h). Rows go from slicing through the softmax to splatting without leaving the
// cache; marginals are written only where they will be read.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/filter/lattice_stream.h"

namespace submarine::internal {

struct StreamedUpdates {
  const Matrix<float>& unary;    // phi
  float temperature = 1.0F;      // T
  float factor = 1.0F;           // of the products
  std::vector<float> band = {};  // M; empty: the identity
  int iterations = 0;
  Matrix<float> start = {};  // empty: the softmax of the unaries
  // Before every update, with the number of those that were made; return false to stop. If given,
  // marginals are kept from update to update.
  std::function<bool(int made)> go_on = {};
  // Before every update, with the marginals by now, which are then kept likewise: it may change the unaries.
  std::function<void(const Matrix<float>& marginals)> before_update = {};
  // When the lattices' vertices are not needed any more, and when rows first..last-1 of the result
  // are done: whole ranges (LatticeStream::range_rows), by several threads. Not called if stopped.
  std::function<void()> after_blur = {};
  std::function<void(std::size_t first, std::size_t last)> after_rows = {};
};

struct StreamedMarginals {
  Matrix<float> marginals;
  int iterations = 0;
};

StreamedMarginals RunUpdates(StreamedUpdates updates, LatticeStream* stream);

}  // namespace submarine::internal
