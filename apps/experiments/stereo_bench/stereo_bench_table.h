// The results of a stereo benchmark: the paper's table, with ours beside it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/experiments/stereo_bench/stereo_bench.h"
#include "apps/experiments/stereo_bench/stereo_bench_store.h"

namespace submarine::apps {

struct BenchRows {
  BenchSettings settings;
  std::vector<std::string> pairs;  // in the order of the command
  std::vector<BenchRun> runs;      // the finished ones

  const BenchResult* Find(const std::string& pair, BenchMethod method) const;
};

// Geometric means, over the pairs that have both, of a method's seconds and energy relative to
// those of mean field; none if no pair has both.
struct BenchRatios {
  int pairs = 0;
  double seconds = 0.0;
  double energy = 0.0;
};
std::optional<BenchRatios> RatiosToMeanField(const BenchRows& rows, BenchMethod method);

std::string BenchCsv(const BenchRows& rows);
std::string BenchMarkdown(const BenchRows& rows);
std::string BenchText(const BenchRows& rows);  // for the terminal
// Includes the key "page" (docs/formats.md), for `submarine report`.
nlohmann::ordered_json BenchSummary(const BenchRows& rows);

// Energies relative to mean field's, seconds and bad pixels, as DIRECTORY/figure.svg and
// figure.png.
void WriteBenchFigure(const std::filesystem::path& directory, const BenchRows& rows);

}  // namespace submarine::apps
