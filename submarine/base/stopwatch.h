#pragma once

#include <atomic>
#include <chrono>

namespace submarine::internal {

// Seconds on a clock that only goes forward: the machine's, unless a test has put its own here.
inline std::atomic<double (*)()> time_source = nullptr;

class Stopwatch {
 public:
  double Seconds() const { return Now() - start_; }

 private:
  static double Now() {
    if (double (*const source)() = time_source.load(std::memory_order_relaxed)) return source();
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  double start_ = Now();
};

}  // namespace submarine::internal
