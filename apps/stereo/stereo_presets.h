// What is known about pairs by the name of their directory, and the settings that a benchmark gives
// them.
#pragma once

#include <optional>
#include <string>

#include "apps/stereo/stereo.h"

namespace submarine::apps {

enum class StereoPreset {
  kDefault,  // one setting for all pairs
  kPaper,  // Pansari, Russell, Kumar 2018: the four pairs of their table, each with its own setting
  kPaperSlip,  // the same, guided by the right view where their runs were
};
std::string ToString(StereoPreset preset);

// The settings of a pair whose directory has this name, in whatever case. Throws InvalidInput where
// the preset does not know the pair.
StereoSettings PresetSettings(StereoPreset preset, const std::string& name);

// What samples of the Middlebury pair's disparity.png are divided by; nothing for other names.
std::optional<double> KnownTruthFactor(const std::string& name);

// Figures of the paper's table and of the authors' own code run by us, for comparison with ours:
// cited, never computed here. Energies and the bound are theirs, on their lattice kernel, ordered
// pairs, no self terms; seconds are of their code on two cores, one thread, of the kind that ours
// were measured on.
struct CitedRuns {
  double mean_field_energy;     // published: normalised kernel, scored un-normalised
  double submod_energy;         // published
  double submod_bound;          // on log Z, pairs counted once, after 100 iterations
  double scored_kernel_energy;  // mean field run on the kernel that is scored
  double mean_field_seconds;
  double submod_seconds;
  // Shares of pixels off by more than 1 px: mean field as published, Submod, mean field on the
  // scored kernel.
  std::optional<double> mean_field_bad;
  std::optional<double> submod_bad;
  std::optional<double> scored_kernel_bad;
  bool guided_by_right;  // so the figures belong to the preset paper-slip
};
std::optional<CitedRuns> CitedFor(const std::string& name);

}  // namespace submarine::apps
