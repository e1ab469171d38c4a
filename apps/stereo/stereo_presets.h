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

}  // namespace submarine::apps
