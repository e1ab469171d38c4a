// A thread limit for tests that compare results of different numbers of threads.
#pragma once

#include <optional>

#include "submarine/base/parallel.h"

namespace submarine::internal::testing {

// From now on in this thread; 0 means all cores.
inline void SetThreadCount(int threads) {
  thread_local std::optional<ThreadLimit> limit;
  limit.reset();
  if (threads > 0) limit.emplace(threads);
}

}  // namespace submarine::internal::testing
