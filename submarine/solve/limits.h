// Keeping the time limit of a call: the deadline, which an interrupt brings forward.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "submarine/base/stopwatch.h"
#include "submarine/solve/solve.h"

namespace submarine::internal {

// The time limit of a call and the watch that may end it sooner: after that, `grace` seconds are
// left.
class Alarm {
 public:
  Alarm(const Stopwatch& clock, double limit_seconds, double grace, const Watch& watch)
      : clock_(clock), deadline_(limit_seconds), grace_(grace), watch_(watch) {}

  double Seconds() const { return clock_.Seconds(); }
  double SecondsLeft() const { return deadline_ - clock_.Seconds(); }
  double deadline() const { return deadline_; }
  bool stopped() const { return stopped_; }

  // Passes the record to the watch; false once the watch has asked to stop.
  bool Tell(std::string_view phase, const SolveRecord& record);
  // Shows how far a phase without iterations has come, beside the latest record; false once no more
  // than `reserve` seconds are left.
  bool Progress(std::string_view phase, double done, double reserve);
  // For work that checks often and has nothing new to report: whether the watch, which is called
  // again from time to time, or the time limit ends it.
  bool Rings();

 private:
  const Stopwatch& clock_;
  double deadline_;
  const double grace_;
  const Watch& watch_;
  bool stopped_ = false;
  std::string phase_;
  SolveRecord latest_;
  double next_question_ = 0.0;  // when Rings calls the watch again
};

// Whether the certified gap is at most the one asked for, with some tolerance.
bool KeepsGap(const Certificate& certificate, double gap);

}  // namespace submarine::internal
