// The summary of an experiment: how far each method's bound lies above that of TRW.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/experiments/synth/synth.h"
#include "apps/experiments/synth/synth_store.h"

namespace submarine::apps {

struct SynthMoments {
  int count = 0;
  double mean = 0.0;
  double deviation = 0.0;  // sample standard deviation; 0 for a single value
};

// One point of a curve.
struct SynthRow {
  std::size_t metric = 0;
  std::size_t weight = 0;
  SynthMethod method = SynthMethod::kTrw;
  SynthMoments value;
  // r = (value - TRW) / |TRW|, over the instances where both are known.
  std::optional<SynthMoments> ratio;
  SynthMoments seconds;
};

// In the order of the settings; combinations without results are left out.
std::vector<SynthRow> Summarise(const SynthSettings& settings, const SynthResults& results);

std::string SynthTable(const SynthSettings& settings, const std::vector<SynthRow>& rows);
std::string SynthSummaryJson(const SynthSettings& settings, const std::vector<SynthRow>& rows);

// Ratios against weights, one panel per metric, as DIRECTORY/figure.svg and figure.png.
void WriteSynthFigure(const std::filesystem::path& directory, const SynthSettings& settings,
                      const std::vector<SynthRow>& rows);

}  // namespace submarine::apps
