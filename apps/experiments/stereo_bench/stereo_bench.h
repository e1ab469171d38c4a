// One run of a stereo benchmark: a pair, a method, a preset.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/stereo/stereo.h"
#include "apps/stereo/stereo_presets.h"
#include "submarine/model/dense_crf.h"
#include "submarine/stereo/evaluation.h"

namespace submarine::apps {

enum class BenchMethod {
  kPublishedMeanField,  // as the paper's authors ran it (apps/experiments/stereo_bench/stereo_published.h)
  kSelfTermMeanField,  // their update, including self terms, on the model that is scored
  kMeanField,          // on the model, with the paper's stopping rule
  kFrankWolfe,         // Submod as published: 100 iterations with line search
  kAuto,               // ours, to a certified interval
  kConstant,           // the best labeling with one disparity everywhere
};
std::string ToString(BenchMethod method);
std::optional<BenchMethod> ParseBenchMethod(const std::string& name);
std::vector<std::string> BenchMethodNames();
// Whether a method reproduces published results, which only the paper's presets allow.
bool IsOfPaper(BenchMethod method);
// All methods that the preset allows.
std::vector<BenchMethod> DefaultBenchMethods(StereoPreset preset);

struct BenchSettings {
  StereoPreset preset = StereoPreset::kDefault;
  std::vector<BenchMethod> methods;
  double gap = kStereoGap;  // of kAuto
  int frank_wolfe_iterations = 100;
  double mean_field_change = 1e-3;  // |Q_new - Q_old|^2 over the image
  int mean_field_iterations = 1000;
};

// left.png, right.png and, if present, disparity.png of a directory.
struct BenchPair {
  std::string name;  // of the directory
  StereoPair views;
  std::vector<float> truth;  // empty: none
  StereoSettings settings;   // with the number of disparities
  std::uint64_t contents;    // a hash of views and truth
};

// The last part of the directory's path.
std::string PairName(const std::filesystem::path& directory);

// `truth_factors` take precedence over those known by name. Throws FileError, InvalidInput.
BenchPair ReadBenchPair(const std::filesystem::path& directory, StereoPreset preset,
                        const std::map<std::string, double>& truth_factors);

struct BenchResult {
  // Of the labeling, with exact Gaussians, ordered pairs and no self terms: the same model for all
  // methods.
  double energy = 0.0;
  std::optional<double> published_energy;  // of kPublishedMeanField, with their lattice kernel
  // Bounds on log Z, and on the least upper bound; certified if the method is kAuto.
  std::optional<double> lower, upper, dual;
  double seconds = 0.0;  // from model to result, without evaluating other methods' energies
  std::optional<int> iterations;
  std::string termination;
  std::string pairs;                                // a description of the operator
  std::optional<internal::DisparityErrors> errors;  // of the labels: whole pixels, as published
  std::optional<internal::DisparityErrors>
      refined;  // of RefinedDisparities, as `submarine stereo` gives them
};

// The parameters of a run: runs with the same parameters have the same result, except for seconds.
nlohmann::ordered_json BenchParameters(const BenchPair& pair, const BenchSettings& settings,
                                       BenchMethod method);

// `watch` is called with the current activity and returns false to stop, which gives no result.
// Throws what the solvers throw.
using BenchWatch = std::function<bool(const std::string& doing)>;
std::optional<BenchResult> RunBench(const BenchPair& pair, const DenseCrf& model,
                                    const BenchSettings& settings, BenchMethod method,
                                    const BenchWatch& watch);

}  // namespace submarine::apps
