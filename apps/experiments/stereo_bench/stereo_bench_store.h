// Finished runs of a stereo benchmark, one file each: DIRECTORY/runs/PAIR.METHOD.PRESET.json. A
// file appears when its run is complete, so a benchmark that was killed continues where it stopped.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/experiments/run_store.h"
#include "apps/experiments/stereo_bench/stereo_bench.h"

namespace submarine::apps {

struct BenchRun {
  std::string pair;
  BenchMethod method = BenchMethod::kConstant;
  BenchResult result;
};

class BenchStore {
 public:
  // Throws as RunStore does.
  explicit BenchStore(const std::filesystem::path& directory);

  // The stored result if it has exactly these parameters. Throws FileError for a file of another
  // origin.
  std::optional<BenchResult> Find(const BenchPair& pair, const BenchSettings& settings,
                                  BenchMethod method) const;
  void Store(const BenchPair& pair, const BenchSettings& settings, BenchMethod method,
             const BenchResult& result) const;

 private:
  static std::string NameOf(const BenchPair& pair, const BenchSettings& settings,
                            BenchMethod method);

  RunStore runs_;
};

nlohmann::ordered_json ToJson(const BenchResult& result);

}  // namespace submarine::apps
