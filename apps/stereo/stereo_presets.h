// What is known about stereo pairs by the names of their directories, and their settings in a
// benchmark.
#pragma once

#include <optional>
#include <string>

#include "apps/stereo/stereo.h"

namespace submarine::apps {

enum class StereoPreset {
  kDefault,  // one setting for all pairs
  kPaper,  // Pansari, Russell, Kumar 2018: the four pairs of their table, each with its own setting
  kPaperSlip,  // the same, with the right view in the kernel where their runs had it
};
std::string ToString(StereoPreset preset);

// The settings of a pair whose directory has this name, ignoring case. Throws InvalidInput if the
// preset does not know the pair.
StereoSettings PresetSettings(StereoPreset preset, const std::string& name);

// The paper's model but for its truncation, which was chosen for every pair.
StereoSettings PaperStereoSettings();

// The divisor of the samples in the Middlebury pair's disparity.png; none for other names.
std::optional<double> KnownTruthFactor(const std::string& name);

// Figures from the paper's table and from our runs of the authors' code, for comparison with ours:
// cited, never computed here. Energies and the bound are for their lattice kernel, ordered pairs,
// no self terms; seconds are for their code with one thread on a two-core machine like the one we
// measured on.
struct CitedRuns {
  double mean_field_energy;     // published: normalised kernel, scored un-normalised
  double submod_energy;         // published
  double submod_bound;          // on log Z, pairs counted once, after 100 iterations
  double scored_kernel_energy;  // mean field run on the kernel that is scored
  double mean_field_seconds;
  double submod_seconds;
  // Fractions of pixels off by more than 1 px: mean field as published, Submod, mean field on the
  // scored kernel.
  std::optional<double> mean_field_bad;
  std::optional<double> submod_bad;
  std::optional<double> scored_kernel_bad;
  bool guided_by_right;  // so the figures belong to the preset paper-slip
};
std::optional<CitedRuns> CitedFor(const std::string& name);

}  // namespace submarine::apps
