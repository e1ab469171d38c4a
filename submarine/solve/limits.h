// Keeping the limits of a call: the clock that an interrupt brings forward, and what work takes.
#pragma once

#include <cstddef>
#include <string_view>

#include "submarine/base/stopwatch.h"
#include "submarine/model/factor_graph.h"
#include "submarine/model/sparse_crf.h"
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

// Seconds that certifying takes on two cores, rounded up.
struct SparseCostEstimate {
  double flow_certificate = 0.0;    // upper bound by flows and its dual value
  double forest_certificate = 0.0;  // upper bound by forests: all pairs of labels of every edge
  double hybrid_dual = 0.0;         // dual value of a forest with flows
  double lower_certificate = 0.0;   // mean field's value
};
SparseCostEstimate SparseCosts(const SparseCrf& model);
double TableCertificateSeconds(const FactorGraph& graph);

}  // namespace submarine::internal
