// Interrupting parallel loops from outside.
#pragma once

#include <atomic>
#include <functional>

namespace submarine::internal {

// While it lives, ParallelFor and ParallelSum that begin in the thread which made it can be interrupted: they ask the
// function before every chunk that this thread works on, and once it has said true they begin no more
// chunks and throw Interrupted. What such a loop was writing is then incomplete. Scopes nest, the
// innermost counts; an empty function is never asked.
class LoopInterrupt {
 public:
  explicit LoopInterrupt(const std::function<bool()>& interrupted);
  ~LoopInterrupt();
  LoopInterrupt(const LoopInterrupt&) = delete;
  LoopInterrupt& operator=(const LoopInterrupt&) = delete;

  // Throws Interrupted once the function has said true. Any thread may call it, but only the one that made
  // this asks the function.
  void Check();

 private:
  const std::function<bool()>& interrupted_;
  std::atomic<bool> stopped_ = false;
  LoopInterrupt* outer_;
};

}  // namespace submarine::internal
