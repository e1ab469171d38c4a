// Interrupting parallel loops from outside.
#pragma once

#include <atomic>
#include <functional>

namespace submarine::internal {

// While this object lives, every ParallelFor and ParallelSum started by the thread that made it can
// be interrupted: they call the function before every chunk that this thread works on, and once it
// has returned true they start no more chunks and throw Interrupted. The output of such a loop is
// then incomplete. Scopes nest and the innermost one counts; an empty function is never called.
class LoopInterrupt {
 public:
  explicit LoopInterrupt(const std::function<bool()>& interrupted);
  ~LoopInterrupt();
  LoopInterrupt(const LoopInterrupt&) = delete;
  LoopInterrupt& operator=(const LoopInterrupt&) = delete;

  // Throws Interrupted once the function has returned true. Any thread may call this, but the
  // function is called only on the thread that made the object.
  void Check();

 private:
  const std::function<bool()>& interrupted_;
  std::atomic<bool> stopped_ = false;
  LoopInterrupt* outer_;
};

}  // namespace submarine::internal
