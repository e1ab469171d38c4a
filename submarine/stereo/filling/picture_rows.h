// Loops over the rows of a picture, with several threads.
#pragma once

#include <cstddef>

#include "submarine/base/parallel.h"

namespace submarine::internal {

template <class Body>
void ForEachRow(int height, const Body& body) {
  constexpr std::size_t kRowsAtOnce = 4;
  ParallelFor(static_cast<std::size_t>(height), kRowsAtOnce,
              [&](std::size_t begin, std::size_t end) {
                for (std::size_t y = begin; y < end; ++y) body(static_cast<int>(y));
              });
}

}  // namespace submarine::internal
