#include "apps/experiments/synth/synth_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <system_error>

#include "apps/cli/file_checks.h"
#include "submarine/base/error.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/file/json_file.h"

namespace submarine::apps {
namespace {

using internal::ReadJsonFile;
using internal::WriteFileAtomically;

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::string_view kHeader =
    "metric,weight,instance,method,value,dual,iterations,termination,seconds\n";
constexpr std::size_t kColumns = 9;

json ToJson(const SynthSettings& settings) {
  json methods = json::array();
  for (SynthMethod method : settings.methods) methods.push_back(ToString(method));
  return {{"width", settings.width},
          {"height", settings.height},
          {"labels", settings.labels},
          {"unary_range", {settings.low, settings.high}},
          {"metrics", settings.metrics},
          {"weights", settings.weights},
          {"instances", settings.instances},
          {"methods", methods},
          {"seed", settings.seed},
          {"steps", settings.steps},
          {"gap", settings.gap},
          {"hybrid_gap", settings.hybrid_gap},
          {"trw_tolerance", settings.trw_tolerance},
          {"rho_steps", settings.rho_steps},
          {"deterministic", settings.deterministic}};
}

[[noreturn]] void Damaged(const fs::path& file, const std::string& problem) {
  throw FileError(
      fmt::format("{}: {}, expected what submarine synth wrote", file.string(), problem));
}

struct Stored {
  SynthSettings settings;
  SynthShard shard;
};

Stored ReadSettings(const fs::path& directory) {
  const fs::path file = directory / "settings.json";
  const json all = ReadJsonFile(file);
  try {
    Stored stored;
    SynthSettings& settings = stored.settings;
    settings.width = all.at("width").get<int>();
    settings.height = all.at("height").get<int>();
    settings.labels = all.at("labels").get<int>();
    settings.low = all.at("unary_range").at(0).get<double>();
    settings.high = all.at("unary_range").at(1).get<double>();
    settings.metrics = all.at("metrics").get<std::vector<std::string>>();
    settings.weights = all.at("weights").get<std::vector<double>>();
    settings.instances = all.at("instances").get<int>();
    settings.methods.clear();
    for (const auto& name : all.at("methods")) {
      const auto method = ParseSynthMethod(name.get<std::string>());
      if (!method) Damaged(file, fmt::format("there is no method {}", name.dump()));
      settings.methods.push_back(*method);
    }
    settings.seed = all.at("seed").get<std::uint64_t>();
    settings.steps = all.at("steps").get<int>();
    settings.gap = all.at("gap").get<double>();
    settings.hybrid_gap = all.at("hybrid_gap").get<double>();
    settings.trw_tolerance = all.at("trw_tolerance").get<double>();
    settings.rho_steps = all.at("rho_steps").get<int>();
    settings.deterministic = all.at("deterministic").get<bool>();
    stored.shard = {all.at("shard").at(0).get<int>(), all.at("shard").at(1).get<int>()};
    CheckSynthSettings(settings);
    return stored;
  } catch (const json::exception&) {
    Damaged(file, "a setting is missing or of the wrong type");
  }
}

std::string SettingsText(const SynthSettings& settings, SynthShard shard) {
  json all = ToJson(settings);
  all["shard"] = {shard.index, shard.count};
  return all.dump(2) + "\n";
}

// The first setting that differs, in words; empty if none does.
std::string Difference(const SynthSettings& there, const SynthSettings& here) {
  const json a = ToJson(there);
  const json b = ToJson(here);
  for (const auto& [key, value] : a.items()) {
    if (value != b.at(key))
      return fmt::format("{}: {} and {}", key, value.dump(), b.at(key).dump());
  }
  return "";
}

std::string Quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::vector<std::string> Fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t k = 0; k < line.size(); ++k) {
    const char c = line[k];
    if (c == '"' && quoted && k + 1 < line.size() && line[k + 1] == '"') {
      fields.back() += line[++k];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

template <class T>
std::optional<T> Number(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::string OptionalText(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "";
}

std::string Line(const SynthSettings& settings, const SynthTask& task, const SynthResult& result) {
  return fmt::format("{},{},{},{},{:.17g},{},{},{},{}\n", Quoted(settings.metrics[task.metric]),
                     settings.weights[task.weight], task.instance, ToString(task.method),
                     result.value, OptionalText(result.dual, "{:.17g}"), result.iterations,
                     Quoted(result.termination), OptionalText(result.seconds, "{:.3f}"));
}

template <class T>
std::optional<std::size_t> IndexOf(const std::vector<T>& list, const T& value) {
  const auto found = std::find(list.begin(), list.end(), value);
  if (found == list.end()) return std::nullopt;
  return static_cast<std::size_t>(found - list.begin());
}

// The result in one line, or none if it does not belong to these settings.
std::optional<SynthResults::value_type> ParseLine(const SynthSettings& settings,
                                                  std::string_view line) {
  const std::vector<std::string> fields = Fields(line);
  if (fields.size() != kColumns) return std::nullopt;
  const auto metric = IndexOf(settings.metrics, fields[0]);
  const auto weight_value = Number<double>(fields[1]);
  const auto weight = IndexOf(settings.weights, weight_value.value_or(std::nan("")));
  const auto instance = Number<int>(fields[2]);
  const auto method = ParseSynthMethod(fields[3]);
  const auto value = Number<double>(fields[4]);
  const auto dual = Number<double>(fields[5]);
  const auto iterations = Number<int>(fields[6]);
  const auto seconds = Number<double>(fields[8]);
  const bool complete = metric && weight && instance && method && value && iterations &&
                        (dual || fields[5].empty()) && (seconds || fields[8].empty());
  if (!complete || *instance < 0 || *instance >= settings.instances || !std::isfinite(*value) ||
      !IndexOf(settings.methods, *method)) {
    return std::nullopt;
  }
  return SynthResults::value_type{{*metric, *weight, *instance, *method},
                                  {*value, dual, *iterations, fields[7], seconds}};
}

std::string ReadText(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf() || stream.peek() == EOF))
    throw FileError(fmt::format("{}: cannot be read", file.string()));
  return std::move(text).str();
}

// The results of all complete lines; *whole is where these end.
SynthResults ReadResults(const fs::path& file, const SynthSettings& settings, std::size_t* whole) {
  SynthResults results;
  const std::string text = ReadText(file);
  std::size_t begin = 0;
  for (int number = 1;; ++number) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    const std::string_view line(text.data() + begin, end + 1 - begin);
    if (number == 1) {
      if (line != kHeader) Damaged(file, "line 1 is not the header of a results file");
    } else {
      const auto parsed = ParseLine(settings, line.substr(0, line.size() - 1));
      if (!parsed) Damaged(file, fmt::format("line {} is not a result of this experiment", number));
      const auto [known, added] = results.insert(*parsed);
      if (!added && known->second.value != parsed->second.value)
        Damaged(file, fmt::format("line {} contradicts an earlier one", number));
    }
    begin = end + 1;
  }
  *whole = begin;
  return results;
}

void MakeDirectory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    throw FileError(
        fmt::format("{}: cannot be made a directory: {}", directory.string(), error.message()));
  }
}

void CheckStored(const fs::path& directory, const SynthSettings& settings, SynthShard shard) {
  const Stored stored = ReadSettings(directory);
  const std::string difference = Difference(stored.settings, settings);
  if (!difference.empty()) {
    throw InvalidInput(
        fmt::format("{} holds an experiment with other settings ({}); use another directory",
                    directory.string(), difference));
  }
  if (!(stored.shard == shard)) {
    throw InvalidInput(fmt::format("{} holds shard {}/{}, not {}/{}; use another directory",
                                   directory.string(), stored.shard.index, stored.shard.count,
                                   shard.index, shard.count));
  }
}

// A refused directory is left unchanged. The check is repeated once the directory is locked.
fs::path CheckedFile(const fs::path& directory, const SynthSettings& settings, SynthShard shard) {
  MakeDirectory(directory);
  if (Exists(directory / "settings.json")) CheckStored(directory, settings, shard);
  return directory / "results.csv";
}

}  // namespace

SynthStore::SynthStore(const fs::path& directory, const SynthSettings& settings, SynthShard shard)
    : file_(CheckedFile(directory, settings, shard)), settings_(settings) {
  if (Exists(directory / "settings.json")) {
    CheckStored(directory, settings, shard);
  } else if (file_.Size() > 0) {
    throw InvalidInput(fmt::format("{} has results but no settings.json; use another directory",
                                   directory.string()));
  } else {
    WriteFileAtomically(directory / "settings.json", SettingsText(settings, shard));
  }
  std::size_t whole = 0;
  results_ = ReadResults(file_.path(), settings, &whole);
  file_.CutTo(whole);
  if (whole == 0) file_.Append(kHeader);
}

void SynthStore::Append(const SynthTask& task, const SynthResult& result) {
  const std::lock_guard lock(mutex_);
  file_.Append(Line(settings_, task, result));
  results_.emplace(task, result);
}

std::string SynthSettingsJson(const SynthSettings& settings) { return ToJson(settings).dump(2); }

MergedSynth MergeSynth(const std::vector<fs::path>& directories, const fs::path& output) {
  MergedSynth merged;
  const fs::path& first = directories.front();
  const auto join = [&](const fs::path& directory) {
    const Stored stored = ReadSettings(directory);
    if (directory == first) merged.settings = stored.settings;
    const std::string difference = Difference(merged.settings, stored.settings);
    if (!difference.empty()) {
      throw InvalidInput(fmt::format("{} and {} hold experiments with different settings ({})",
                                     first.string(), directory.string(), difference));
    }
    std::size_t whole = 0;
    for (const auto& [task, result] :
         ReadResults(directory / "results.csv", merged.settings, &whole)) {
      const auto [known, added] = merged.results.emplace(task, result);
      if (!added && known->second.value != result.value) {
        throw InvalidInput(fmt::format(
            "{} contradicts another directory: {} of metric {}, weight {}, instance {} is {:.17g} "
            "and {:.17g}",
            directory.string(), ToString(task.method), merged.settings.metrics[task.metric],
            merged.settings.weights[task.weight], task.instance, result.value,
            known->second.value));
      }
    }
  };
  for (const fs::path& directory : directories) join(directory);
  MakeDirectory(output);
  // Held until the new file is in place; otherwise lines that another run appends to the old file
  // would be lost.
  const LockedFile locked(output / "results.csv");
  if (locked.Size() > 0 || Exists(output / "settings.json")) join(output);
  std::string text(kHeader);
  for (const SynthTask& task : SynthTasks(merged.settings)) {
    const auto found = merged.results.find(task);
    if (found != merged.results.end()) text += Line(merged.settings, task, found->second);
  }
  WriteFileAtomically(output / "settings.json", SettingsText(merged.settings, {}));
  WriteFileAtomically(output / "results.csv", text);
  return merged;
}

}  // namespace submarine::apps
