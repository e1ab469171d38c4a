// The output of a solve: the JSON summary, the text for people, the picture.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "submarine/solve/solve.h"

namespace submarine::apps {

// Top level: lower, upper, dual, energy, seconds (null if the method has none), iterations, and
// what they are about. The options listed are those for dense models if `dense`, else the others.
nlohmann::ordered_json SummaryJson(const SolveResult& result, const SolveOptions& options,
                                   const std::string& model_file, bool dense);

// As text. File names are bytes; those that are not UTF-8 appear as replacement characters.
std::string JsonText(const nlohmann::ordered_json& json);

// H of every row, in nats.
std::vector<float> Entropies(const MarginalRows& marginals);

// Throws InvalidInput when the picture of such a grid would be too large for a PNG.
void CheckPictureSize(int width, int height);

// Two panels side by side: the best label of every pixel, and the entropy of its marginal (dark:
// certain).
void WritePicture(const std::string& file, const SolveResult& result, int width, int height);

}  // namespace submarine::apps
