// A stereo benchmark: pairs by several methods.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "apps/stereo/stereo.h"
#include "apps/stereo/stereo_presets.h"
#include "experiments/experiment.h"

namespace submarine::apps {

// What --methods accepts: mean field as the paper's authors ran it (stereo_published.h) and their
// update, self terms included, on the model that is scored; mean field of the model with the paper's
// stopping rule; 100 steps of Frank-Wolfe, their Submod; ours, to a certified interval; the best
// labeling with one disparity everywhere.
std::vector<std::string> StereoMethods();
// Whether a method reproduces published results, which only the paper's presets allow.
bool IsOfPaper(const std::string& method);

struct BenchSettings {
  StereoPreset preset = StereoPreset::kDefault;
  std::vector<std::string> methods;
  double gap = kStereoGap;  // of auto
  int frank_wolfe_iterations = 100;
  double mean_field_change = 1e-3;  // |Q_new - Q_old|^2 over the image
  int mean_field_iterations = 1000;
};

// left.png, right.png and, if present, disparity.png of a directory; or view1.png, view5.png and disp1.png, as Middlebury
// names its pairs of 2006 at a third of their size.
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

// One task per method. They refer to pair and settings, and share the model, which is built when it
// is first needed. The energy in each result is that of the labeling with exact Gaussians, ordered
// pairs and no self terms, the same model for all methods; published_energy that of mf-published
// with the authors' lattice. The bounds are certified if the method is auto. Errors are of the
// labels, in whole pixels as published, and refined, as `submarine stereo` gives them.
std::vector<Task> StereoTasks(const BenchPair& pair, const BenchSettings& settings);

}  // namespace submarine::apps
