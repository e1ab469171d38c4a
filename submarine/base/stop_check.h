// When to end work early: after some time, or when a callback says so.
#pragma once

#include <functional>
#include <limits>
#include <utility>

#include "submarine/base/stopwatch.h"

namespace submarine::internal {

// For loops whose passes take milliseconds, on the thread that runs them. The clock starts with the
// object.
class StopCheck {
 public:
  StopCheck() = default;  // never stops
  explicit StopCheck(double seconds, std::function<bool()> interrupted = {})
      : seconds_(seconds), callback_(std::move(interrupted)) {}

  // Once true, always true.
  bool Stopped() const {
    if (!interrupted_ && callback_) interrupted_ = callback_();
    return interrupted_ || TimeIsUp();
  }
  bool TimeIsUp() const { return clock_.Seconds() >= seconds_; }
  // Whether the callback asked to stop.
  bool interrupted() const { return interrupted_; }
  double Seconds() const { return clock_.Seconds(); }

 private:
  double seconds_ = std::numeric_limits<double>::infinity();
  std::function<bool()> callback_;
  Stopwatch clock_;
  mutable bool interrupted_ = false;
};

}  // namespace submarine::internal
