// What the candidates of a sparse solve share: the model, the limits, and all that was found so far.
//
// Candidates verify what they find at once; the best verified value of each side is kept.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/bound/bound.h"
#include "submarine/bound/tilted_upper.h"
#include "submarine/model/sparse_crf.h"
#include "submarine/solve/candidate/budget.h"
#include "submarine/solve/method/policy.h"
#include "submarine/solver/common/bound_solver.h"
#include "submarine/solver/flow/rounding.h"

namespace submarine::internal {

struct SparseState {
  SparseState(const SparseCrf& given, const SolveOptions& of_call, Budget* limits)
      : model(given), options(of_call), budget(*limits) {}

  const SparseCrf& model;
  const SolveOptions& options;
  Budget& budget;
  SparseView view;  // of the call; ViewOf adds what is known by now
  SparseCostEstimate costs;
  int max_iterations = 0;

  // What runs, and whether it has a first bound.
  std::string_view phase;
  double gap = 1e-4;
  bool has_first_bound = false;

  // Proven: bounds, labels and their energy.
  SolveResult solved;
  // Marginals: of the upper bound, and of mean field. Both stay empty where only unaries were looked at.
  Matrix<double> marginals;
  std::vector<int> rounded;  // from those of the upper bound
  Matrix<double> mean_field;

  double SecondsFor(double reserve) const { return std::max(0.0, budget.SecondsLeft() - reserve); }
  bool Tell(std::string_view name, const SolveRecord& record) {
    has_first_bound = true;
    return budget.Tell(name, record);
  }
  // Limits and reports of a solver that `reserve` seconds of work follow.
  template <class Options>
  void Configure(double reserve, Options* solver) {
    solver->temperature = options.temperature;
    solver->max_iterations = max_iterations;
    solver->time_limit_seconds = SecondsFor(reserve);
    const double begin = budget.Seconds();
    solver->on_iteration = [this, begin](const SolveRecord& record) {
      return Tell(phase, RecordOf(record, begin));
    };
    solver->interrupted = [this] { return budget.AsksToStop(); };
  }

  // Of a solver that started at time `begin`, on the clock of the call.
  static SolveRecord RecordOf(SolveRecord record, double begin);
  void TakeRecords(const std::vector<SolveRecord>& records, double begin);
  void TakeUpper(const Bound& upper);
  // With a place for the tilted bound, if the call asks for expectations; the tightest is kept.
  void TakeUpper(const std::function<Bound(TiltedPlace)>& verify);
  void TakeLower(const Bound& lower);
  void TakeLabels(std::vector<int> labels);  // if they are better
  std::vector<int> Rounded(const Matrix<double>& marginals);
};

// What is known by now.
SparseView ViewOf(const SparseState& state);

}  // namespace submarine::internal
