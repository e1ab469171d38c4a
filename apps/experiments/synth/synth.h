// The paper's synthetic experiment: upper bounds on log Z of random grids by several methods.
// Defines what to compute (settings, tasks) and a single result.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/labels/label_cuts.h"

namespace submarine::apps {

enum class SynthMethod {
  kSubmodFrankWolfe,  // as in the paper: a fixed number of steps 2/(k+2)
  kSubmod,            // converged to a certified gap
  kAlternate,
  kTrw,  // rho = 1/2: rows and columns
  kTrwOptimised,
  kMeanField,
  kHybrid,  // exact along rows, flows along columns
  // synth_published.h: the mistakes behind the published curves
  kPublishedSubmod,
  kPublishedAlternate,
};
std::string_view ToString(SynthMethod method);
std::optional<SynthMethod> ParseSynthMethod(std::string_view name);
std::vector<std::string> SynthMethodNames();  // those that --methods accepts

// Everything that results depend on.
struct SynthSettings {
  int width = 100;
  int height = 100;
  int labels = 20;
  double low = 0.0;  // unaries are uniform in [low, high)
  double high = 10.0;
  std::vector<std::string> metrics = {"potts", "tree1", "tree2"};
  std::vector<double> weights = {1.0, 2.0, 5.0, 10.0};
  int instances = 100;
  std::vector<SynthMethod> methods = {SynthMethod::kSubmodFrankWolfe, SynthMethod::kSubmod,
                                      SynthMethod::kAlternate,        SynthMethod::kTrw,
                                      SynthMethod::kMeanField,        SynthMethod::kHybrid};
  std::uint64_t seed = 1;
  int steps = 100;              // of Frank-Wolfe
  double gap = 1e-4;            // relative, of submod
  double hybrid_gap = 1e-3;     // relative, of hybrid, whose iterations take several times as long
  double trw_tolerance = 1e-7;  // relative gain of the last sweep
  int rho_steps = 20;           // of trw-opt
  bool deterministic = false;   // no times in the results, no decision depends on the clock
};

// A metric of the settings: tree1 and tree2 are the paper's; any other name is parsed by
// metric_spec.h.
LabelSpace SynthLabels(const std::string& metric, int num_labels);

struct SynthTask {
  std::size_t metric = 0;  // index into the settings' lists
  std::size_t weight = 0;
  int instance = 0;
  SynthMethod method = SynthMethod::kTrw;

  bool operator<(const SynthTask& other) const {
    return std::tie(metric, weight, instance, method) <
           std::tie(other.metric, other.weight, other.instance, other.method);
  }
};

// Instance by instance, so that an interrupted run has complete instances.
std::vector<SynthTask> SynthTasks(const SynthSettings& settings);

struct SynthResult {
  double value = 0.0;          // the verified bound on log Z
  std::optional<double> dual;  // a lower bound on all bounds of this kind, if the method has one
  int iterations = 0;
  std::string termination;
  std::optional<double> seconds;
};

// CheckSynthSettings throws InvalidInput for invalid settings. The unaries of an instance depend on
// the seed only: they are the same under every metric, weight and method.
void CheckSynthSettings(const SynthSettings& settings);
Matrix<double> SynthUnaries(const SynthSettings& settings, int instance);

// None if `go_on` returned false before the end. `labels` is SynthLabels of the task's metric.
std::optional<SynthResult> RunSynthTask(const SynthSettings& settings, const SynthTask& task,
                                        const LabelSpace& labels,
                                        const std::function<bool()>& go_on);

}  // namespace submarine::apps
