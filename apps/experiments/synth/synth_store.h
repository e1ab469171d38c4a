// Results of an experiment on disk. A directory holds
//
//   settings.json   what is computed: a run with other settings is refused
//   results.csv     one line per result, appended as soon as it is known
//
// so that a run that was killed continues where it stopped: an incomplete last line is dropped.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "apps/cli/locked_file.h"
#include "apps/experiments/synth/synth.h"

namespace submarine::apps {

using SynthResults = std::map<SynthTask, SynthResult>;

// Every n-th task starting with the i-th, 1 <= i <= n.
struct SynthShard {
  int index = 1;
  int count = 1;
  bool operator==(const SynthShard&) const = default;
};

class SynthStore {
 public:
  // Opens the directory for a run, or makes it. Throws InvalidInput when it holds an experiment
  // with other settings or another shard, or another process writes to it; FileError when it
  // cannot be read or written.
  SynthStore(const std::filesystem::path& directory, const SynthSettings& settings,
             SynthShard shard);

  const SynthResults& results() const { return results_; }

  // May be called from any thread. The line is on disk when this returns.
  void Append(const SynthTask& task, const SynthResult& result);

 private:
  LockedFile file_;
  SynthSettings settings_;
  SynthResults results_;
  std::mutex mutex_;
};

// Writes `settings` and the results of all directories to `output`, including its own results, if
// any; returns both. Throws InvalidInput when settings differ or results contradict each other,
// FileError when files cannot be read or written.
struct MergedSynth {
  SynthSettings settings;
  SynthResults results;
};
MergedSynth MergeSynth(const std::vector<std::filesystem::path>& directories,
                       const std::filesystem::path& output);

// The settings as settings.json holds them (without the shard).
std::string SynthSettingsJson(const SynthSettings& settings);

}  // namespace submarine::apps
