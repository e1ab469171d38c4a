// The limits of a call, which one object holds: the deadline, which an interrupt brings forward, and memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "submarine/base/stopwatch.h"
#include "submarine/solve/method/options.h"
#include "submarine/solve/method/result.h"

namespace submarine::internal {

// The watch may end a call before its deadline: after that, options.interrupt_seconds are left.
class Budget {
 public:
  Budget(const Stopwatch& clock, const SolveOptions& options, const Watch& watch)
      : clock_(clock),
        limit_(options.limits.time_limit_seconds),
        deadline_(limit_),
        grace_(options.limits.interrupt_seconds),
        max_bytes_(static_cast<double>(options.limits.max_bytes)),
        watch_(watch) {}

  double limit() const { return limit_; }  // seconds that were given
  double max_bytes() const { return max_bytes_; }

  const Stopwatch& clock() const { return clock_; }
  double Seconds() const { return clock_.Seconds(); }
  double SecondsLeft() const { return deadline_ - clock_.Seconds(); }
  bool over() const { return stopped_ || SecondsLeft() <= 0.0; }
  double deadline() const { return deadline_; }
  bool stopped() const { return stopped_; }

  // Passes the record to the watch; false once the watch has asked to stop.
  bool Tell(std::string_view phase, const SolveRecord& record);
  // Shows how far a phase without iterations has come, beside the latest record; false once no more
  // than `reserve` seconds are left.
  bool Progress(std::string_view phase, double done, double reserve);
  // For work that checks often and has nothing new to report: whether the watch, which is called
  // again from time to time, has asked to stop; or the time limit ends it, too.
  bool AsksToStop();
  bool Expired() { return AsksToStop() || SecondsLeft() <= 0.0; }

 private:
  const Stopwatch& clock_;
  const double limit_;
  double deadline_;
  const double grace_;
  const double max_bytes_;
  const Watch& watch_;
  bool stopped_ = false;
  std::string phase_ = "preparing";
  SolveRecord latest_{.k = -1};
  double next_question_ = 0.0;  // when AsksToStop calls the watch again
};

}  // namespace submarine::internal
