// Finished runs of a stereo benchmark, one file each: DIRECTORY/runs/PAIR.METHOD.PRESET.json. A
// file appears when its run is complete, so a benchmark that was killed goes on where it was.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/directory_lock.h"
#include "apps/experiments/stereo_bench/stereo_bench.h"

namespace submarine::apps {

struct BenchRun {
  std::string pair;
  BenchMethod method = BenchMethod::kConstant;
  BenchResult result;
};

class BenchStore {
 public:
  // Makes the directory. Throws FileError, and InvalidInput when another process writes to it: tables of
  // one would stand beside the summary of the other.
  explicit BenchStore(const std::filesystem::path& directory);

  // The stored result if it is of exactly these parameters. Throws FileError for a file that is not
  // ours.
  std::optional<BenchResult> Find(const BenchPair& pair, const BenchSettings& settings,
                                  BenchMethod method) const;
  void Store(const BenchPair& pair, const BenchSettings& settings, BenchMethod method,
             const BenchResult& result) const;

 private:
  std::filesystem::path FileOf(const BenchPair& pair, const BenchSettings& settings,
                               BenchMethod method) const;

  std::filesystem::path runs_;
  std::unique_ptr<DirectoryLock> lock_;
};

nlohmann::ordered_json ToJson(const BenchResult& result);

}  // namespace submarine::apps
