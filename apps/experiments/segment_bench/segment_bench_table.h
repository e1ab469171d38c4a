// The results of a segmentation benchmark as a table and a summary.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/experiments/segment_bench/segment_bench.h"

namespace submarine::apps {

struct SegmentRun {
  std::string picture;
  std::string parameters;  // their name
  SegmentMethod method;
  SegmentResult result;
};

struct SegmentRows {
  std::vector<NamedParameters> parameters;
  std::vector<SegmentMethod> methods;
  std::vector<std::string> pictures;
  std::vector<SegmentRun> runs;  // the finished ones
};

// Means over the finished pictures, all with equal weight; seconds are means too.
struct SegmentMean {
  int pictures = 0;
  SegmentResult result;
};
std::optional<SegmentMean> MeanOf(const SegmentRows& rows, const std::string& parameters,
                                  const SegmentMethod& method);

nlohmann::ordered_json ToJson(const SegmentResult& result);
SegmentResult ReadSegmentResult(const nlohmann::json& object);  // throws json::exception

std::string SegmentCsv(const SegmentRows& rows);
std::string SegmentMarkdown(const SegmentRows& rows);
std::string SegmentText(const SegmentRows& rows);  // for the terminal
// Includes the key "page" (docs/formats.md), for `submarine report`.
nlohmann::ordered_json SegmentSummary(const SegmentRows& rows);
// Writes DIRECTORY/figure.svg and figure.png.
void WriteSegmentFigure(const std::filesystem::path& directory, const SegmentRows& rows);

}  // namespace submarine::apps
