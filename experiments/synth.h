// The paper's synthetic experiment: upper bounds on log Z of random grids by several methods.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/experiment.h"
#include "submarine/base/matrix.h"
#include "submarine/labels/label_cuts.h"

namespace submarine::apps {

// What --methods accepts.
std::vector<std::string> SynthMethods();

// Everything that results depend on.
struct SynthSettings {
  int width = 100;
  int height = 100;
  int labels = 20;
  std::vector<double> range = {0.0, 10.0};  // unaries are uniform in it
  std::vector<std::string> metrics = {"potts", "tree1", "tree2"};
  std::vector<double> weights = {1.0, 2.0, 5.0, 10.0};
  int instances = 100;
  std::vector<std::string> methods = {"submod-fw", "submod", "alternate", "trw", "mf"};
  bool as_published = false;  // also published-submod, published-alternate (synth_published.h)
  std::uint64_t seed = 1;
  int steps = 100;              // of Frank-Wolfe
  double gap = 1e-4;            // relative, of submod
  double trw_tolerance = 1e-7;  // relative gain of the last sweep
  int rho_steps = 20;           // of trw-opt
  bool deterministic = false;   // no times in the results, no decision depends on the clock
};

// Throws InvalidInput.
void CheckSynthSettings(const SynthSettings& settings);

// The unaries of an instance depend on the seed only: they are the same under every metric, weight
// and method.
Matrix<double> SynthUnaries(const SynthSettings& settings, int instance);

// Instance by instance, so that an interrupted run has complete instances.
class SynthTasks {
 public:
  // Refers to the settings. Throws InvalidInput for a metric that does not fit.
  explicit SynthTasks(const SynthSettings& settings);

  std::size_t size() const;
  Task operator[](std::size_t k) const;

 private:
  const SynthSettings& settings_;
  std::vector<std::string> methods_;
  std::vector<LabelSpace> labels_;  // of every metric
};

}  // namespace submarine::apps
