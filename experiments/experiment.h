// What the experiments share: finished runs are kept, one file each, DIRECTORY/runs/NAME.json, the
// missing ones are made, and all of them become the lines of DIRECTORY/results.csv.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/terminal.h"
#include "apps/fit/run_store.h"
#include "submarine/base/stopwatch.h"

namespace submarine::apps {

using Row = nlohmann::ordered_json;  // columns of the table by name: numbers, texts and nulls

// Called with the current activity, which may be empty; returns false to stop.
using Watch = std::function<bool(const std::string& doing)>;

struct Task {
  Row about;                             // the first columns: which run this is
  Row parameters;                        // a finished run counts only if it had exactly these
  std::function<Row(const Watch&)> run;  // the other columns; ignored if `watch` returned false
};

class Experiment {
 public:
  // `command` is for messages; `columns` are those of the table. Throws as RunStore does.
  Experiment(const std::filesystem::path& directory, const std::string& command,
             std::vector<std::string> columns, std::size_t wanted, bool quiet);

  // Makes the missing ones of task(0) to task(count - 1). May be called several times. Where
  // `parallel`, threads take the tasks in order as they become free.
  void Run(std::size_t count, const std::function<Task(std::size_t)>& task, bool parallel = false);

  // Writes the table; throws Interrupted if results are missing.
  void Finish();

 private:
  // All columns; none if it was stopped.
  std::optional<Row> Complete(const Task& task);
  void Show(const std::string& text);

  std::filesystem::path directory_;
  RunStore store_;
  std::vector<std::string> columns_;
  std::size_t wanted_;
  bool quiet_;
  ProgressLine line_;
  internal::Stopwatch clock_;
  std::mutex mutex_;
  std::size_t made_ = 0;  // now, not before
  std::size_t done_ = 0;
  std::vector<Row> rows_;
};

}  // namespace submarine::apps
