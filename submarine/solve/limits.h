// Keeping the limits of a call: the clock that an interrupt brings forward, and what fits into what is left.
#pragma once

#include <cstddef>
#include <string_view>

#include "submarine/base/stopwatch.h"
#include "submarine/solve/solve.h"

namespace submarine::internal {

// The time limit of a call and the watch that may end it sooner: from then on `grace` seconds are left.
class Alarm {
 public:
  Alarm(const Stopwatch& clock, double limit_seconds, double grace, const Watch& watch)
      : clock_(clock), deadline_(limit_seconds), grace_(grace), watch_(watch) {}

  double Seconds() const { return clock_.Seconds(); }
  double SecondsLeft() const { return deadline_ - clock_.Seconds(); }
  double deadline() const { return deadline_; }
  bool stopped() const { return stopped_; }

  // Shows the record; false once the watch has asked to stop.
  bool Tell(std::string_view phase, const SolveRecord& record);
  // Shows how far a phase without iterations has come, beside the latest record; false when its time is
  // up, which leaves `reserve` seconds.
  bool Progress(std::string_view phase, double done, double reserve);

 private:
  const Stopwatch& clock_;
  double deadline_;
  const double grace_;
  const Watch& watch_;
  bool stopped_ = false;
  SolveRecord latest_;
};

// Whether the certified gap is the one asked for, or hardly larger.
bool KeepsGap(const Certificate& certificate, double gap);

// Whether work of so many seconds is begun when so many are left of the time limit: a call may overrun by a
// tenth, or by two seconds.
bool FitsTime(double seconds, double left);

}  // namespace submarine::internal
