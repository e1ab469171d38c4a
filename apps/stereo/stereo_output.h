// The output of a stereo solve: disparities, their uncertainty, the evaluation against ground
// truth, the page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/report/picture_page.h"
#include "apps/solve/bundle.h"
#include "apps/solve/proven_values.h"
#include "apps/stereo/stereo.h"
#include "submarine/solve/solve.h"

namespace submarine::apps {

struct StereoTruth {
  std::vector<float> disparity;    // NaN: unknown; empty: no truth
  std::vector<std::uint8_t> mask;  // empty: none
};

struct StereoResult {
  std::vector<float> disparities;
  std::vector<float>
      uncertainty;  // the probability of being off by more than 1 px; empty: not known
  std::vector<std::uint8_t>
      occluded;            // 1 where the right view does not confirm it; empty: not known
  std::vector<float> raw;  // before filling and smoothing, NaN where occluded; empty: not known
  std::optional<StereoEvaluation> evaluation;
};

// With or without a solve, with or without semi-global evidence; at least one of them.
StereoResult ConcludeStereo(const SolveResult* outcome, const internal::SemiGlobalMatch* match,
                            const StereoTruth& truth);

// What the certificate proves of the disparities in the region, the whole picture if it is empty: how
// many are within 1 px if the model is right, and their mean.
std::vector<ProvenValue> ProveDisparities(const SolveResult& outcome, const StereoResult& result,
                                          const StereoTruth& truth,
                                          const std::vector<std::uint8_t>& region);
std::string ProvenText(const std::vector<ProvenValue>& proven, bool of_region);

nlohmann::ordered_json SettingsJson(const StereoSettings& settings, const std::string& left,
                                    const std::string& right, int shrink);
nlohmann::ordered_json EvaluationJson(const StereoEvaluation& evaluation, const std::string& truth);
std::string EvaluationText(const StereoEvaluation& evaluation);

// Writes all files of the bundle except summary.json and the page itself. `outcome` may be null.
PicturePage StereoPage(const Bundle* bundle, const std::string& title, const StereoPair& pair,
                       const StereoSettings& settings, const SolveResult* outcome,
                       const StereoResult& result, const StereoTruth& truth, int top);

}  // namespace submarine::apps
