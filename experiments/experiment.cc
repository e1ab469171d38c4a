#include "experiments/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <span>
#include <string_view>
#include <utility>

#include "apps/cli/messages.h"
#include "apps/fit/content_hash.h"
#include "submarine/base/error.h"
#include "submarine/base/numbers.h"
#include "submarine/base/parallel.h"
#include "submarine/base/version.h"
#include "submarine/io/file/atomic_file.h"

namespace submarine::apps {
namespace {

std::string TextOf(const Row& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string Joined(const Row& about, const char* between) {
  std::string text;
  for (const auto& [key, value] : about.items())
    text += (text.empty() ? "" : between) + TextOf(value);
  return text;
}

// A name of any characters as one of a file. Those that look the same afterwards are told apart.
std::string FileName(const Row& about) {
  const std::string name = Joined(about, ".");
  std::string safe = name;
  for (char& c : safe) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 &&
        std::string_view(".,_-").find(c) == std::string_view::npos)
      c = '_';
  }
  return safe == name
             ? name
             : fmt::format("{}.{:08x}", safe, ContentHash(std::span<const char>(name)) >> 32);
}

std::string CsvField(const Row& value) {
  std::string text = TextOf(value);
  if (text == "null") return "";  // a number that is not finite
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string CsvLine(const std::vector<std::string>& fields) {
  return fmt::format("{}\n", fmt::join(fields, ","));
}

}  // namespace

Experiment::Experiment(const std::filesystem::path& directory, const std::string& command,
                       std::vector<std::string> columns, std::size_t wanted, bool quiet)
    : directory_(directory),
      store_(directory, "submarine-experiments " + command),
      columns_(std::move(columns)),
      wanted_(wanted),
      quiet_(quiet),
      line_(quiet) {
  CatchInterrupts();
}

void Experiment::Run(std::size_t count, const std::function<Task(std::size_t)>& task,
                     bool parallel) {
  std::vector<std::optional<Row>> rows(count);
  std::atomic<std::size_t> next{0};
  const auto take_one = [&] {
    const std::size_t k = next++;
    rows[k] = Complete(task(k));
  };
  if (parallel) {
    internal::ParallelFor(count, 1, [&](std::size_t, std::size_t) { take_one(); });
  } else {
    while (next < count) take_one();
  }
  for (std::optional<Row>& row : rows) {
    if (row) rows_.push_back(*std::move(row));
  }
}

std::optional<Row> Experiment::Complete(const Task& task) {
  const std::string name = FileName(task.about);
  std::optional<Row> result = store_.Find(name, task.parameters);
  if (result && !result->is_object()) store_.Refuse(name);
  const bool stored = result.has_value();
  if (!stored) {
    bool stopped = Interrupted();
    if (stopped) return std::nullopt;
    result = task.run([&](const std::string& doing) {
      if (!doing.empty()) Show(fmt::format("{}: {}", Joined(task.about, " "), doing));
      stopped = stopped || Interrupted();
      return !stopped;
    });
    if (stopped) return std::nullopt;
    store_.Store(name, {{"about", task.about},
                        {"parameters", task.parameters},
                        {"result", *result},
                        {"version", kVersion}});
  }
  {
    const std::lock_guard lock(mutex_);
    ++done_;
    made_ += stored ? 0 : 1;
  }
  if (!stored) Show("");
  Row row = task.about;
  row.update(*result);
  return row;
}

void Experiment::Show(const std::string& text) {
  const std::lock_guard lock(mutex_);
  const double seconds = clock_.Seconds();
  std::string left;
  if (made_ > 0) {
    left = fmt::format(", about {} left", DurationText(seconds / static_cast<double>(made_) *
                                                       static_cast<double>(wanted_ - done_)));
  }
  line_.Show(fmt::format("{} of {} done, {} elapsed{}  {}", done_, wanted_, DurationText(seconds),
                         left, text));
}

void Experiment::Finish() {
  line_.Clear();
  std::string text = CsvLine(columns_);
  for (const Row& row : rows_) {
    std::vector<std::string> values;
    values.reserve(columns_.size());
    for (const std::string& column : columns_) values.push_back(CsvField(row.value(column, Row())));
    text += CsvLine(values);
  }
  internal::WriteFileAtomically(directory_ / "results.csv", text);
  if (!quiet_) {
    PrintLine(fmt::format("{}: {} results. experiments/plot.py shows tables and a figure of them.",
                          (directory_ / "results.csv").string(), rows_.size()));
  }
  if (rows_.size() < wanted_) {
    throw submarine::Interrupted(fmt::format(
        "interrupted: {} of {} results are missing; run the same command again to continue",
        wanted_ - rows_.size(), wanted_));
  }
}

}  // namespace submarine::apps
