// The texts and files of a fit.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "submarine/fit/fit.h"

namespace submarine::apps {

using internal::FitOptions;
using internal::FitResult;

// Whether the classifier's labels get better, held out, and what to do.
std::string FitText(const FitResult& result, const FitOptions& settings);
std::string FitMarkdown(const FitResult& result, const FitOptions& settings);
// The "fit" of a parameter file: where the parameters come from.
nlohmann::ordered_json FitProvenance(const FitResult& result, const FitOptions& settings);
// Includes the key "page" (docs/formats.md), for `submarine report`.
nlohmann::ordered_json FitSummary(const FitResult& result, const FitOptions& settings);

}  // namespace submarine::apps
