// The texts and files of a fit.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "apps/fit/fit.h"

namespace submarine::apps {

// Means over held-out pictures, with the fitted parameters and with the defaults.
struct FitMeans {
  double fitted = 0.0;
  double defaults = 0.0;
  int better = 0;  // number of pictures on which the fitted ones score higher
};
FitMeans HeldOutMeans(const FitResult& result, FitScore score);

std::string FitText(const FitResult& result, const FitSettings& settings);
std::string FitMarkdown(const FitResult& result, const FitSettings& settings);
// The "fit" of a parameter file: where the parameters come from.
nlohmann::ordered_json FitProvenance(const FitResult& result, const FitSettings& settings);
// Includes the key "page" (docs/formats.md), for `submarine report`.
nlohmann::ordered_json FitSummary(const FitResult& result, const FitSettings& settings);

}  // namespace submarine::apps
