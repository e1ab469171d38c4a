#include "apps/experiments/stereo_bench/stereo_bench_store.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>

#include "apps/cli/file_checks.h"
#include "apps/solve/solve_output.h"
#include "submarine/base/error.h"
#include "submarine/base/version.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/file/json_file.h"

namespace submarine::apps {
namespace {

using internal::DisparityErrors;
using internal::ReadJsonFile;
using internal::WriteFileAtomically;

using nlohmann::json;
using Json = nlohmann::ordered_json;

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <class T>
std::optional<T> Optional(const json& object, const char* key) {
  const json& value = object.at(key);
  return value.is_null() ? std::nullopt : std::optional(value.get<T>());
}

Json ErrorsJson(const std::optional<DisparityErrors>& errors) {
  if (!errors) return nullptr;
  return {{"pixels", errors->pixels},
          {"bad_0.5", errors->bad_half},
          {"bad_1", errors->bad_one},
          {"bad_2", errors->bad_two},
          {"mean_absolute", errors->mean_absolute}};
}

std::optional<DisparityErrors> ReadErrors(const json& errors) {
  if (errors.is_null()) return std::nullopt;
  return DisparityErrors{errors.at("pixels").get<std::int64_t>(),
                         errors.at("bad_0.5").get<double>(), errors.at("bad_1").get<double>(),
                         errors.at("bad_2").get<double>(),
                         errors.at("mean_absolute").get<double>()};
}

BenchResult ReadResult(const json& object) {
  BenchResult result;
  result.energy = object.at("energy").get<double>();
  result.published_energy = Optional<double>(object, "published_energy");
  result.lower = Optional<double>(object, "lower");
  result.upper = Optional<double>(object, "upper");
  result.dual = Optional<double>(object, "dual");
  result.seconds = object.at("seconds").get<double>();
  result.iterations = Optional<int>(object, "iterations");
  result.termination = object.at("termination").get<std::string>();
  result.pairs = object.at("pairs").get<std::string>();
  result.errors = ReadErrors(object.at("errors"));
  result.refined = ReadErrors(object.at("refined_errors"));
  return result;
}

}  // namespace

Json ToJson(const BenchResult& result) {
  return {{"energy", result.energy},
          {"published_energy", OrNull(result.published_energy)},
          {"lower", OrNull(result.lower)},
          {"upper", OrNull(result.upper)},
          {"dual", OrNull(result.dual)},
          {"seconds", result.seconds},
          {"iterations", OrNull(result.iterations)},
          {"termination", result.termination},
          {"pairs", result.pairs},
          {"errors", ErrorsJson(result.errors)},
          {"refined_errors", ErrorsJson(result.refined)}};
}

BenchStore::BenchStore(const std::filesystem::path& directory) : runs_(directory / "runs") {
  std::error_code error;
  std::filesystem::create_directories(runs_, error);
  if (error) {
    throw FileError(
        fmt::format("cannot make the directory \"{}\": {}", runs_.string(), error.message()));
  }
  lock_ = std::make_unique<DirectoryLock>(runs_);
  if (lock_->state() == DirectoryLock::State::kHeldByAnother)
    throw InvalidInput(fmt::format("another process writes to {}", directory.string()));
}

std::filesystem::path BenchStore::FileOf(const BenchPair& pair, const BenchSettings& settings,
                                         BenchMethod method) const {
  return runs_ /
         fmt::format("{}.{}.{}.json", pair.name, ToString(method), ToString(settings.preset));
}

std::optional<BenchResult> BenchStore::Find(const BenchPair& pair, const BenchSettings& settings,
                                            BenchMethod method) const {
  const std::filesystem::path file = FileOf(pair, settings, method);
  if (!Exists(file)) return std::nullopt;
  const json stored = ReadJsonFile(file);
  try {
    // Through text, as the stored ones went.
    const json parameters = json::parse(BenchParameters(pair, settings, method).dump());
    if (stored.at("parameters") != parameters) return std::nullopt;
    return ReadResult(stored.at("result"));
  } catch (const json::exception&) {
    throw FileError(fmt::format(
        "{} is not what submarine stereo-bench wrote; delete it to run this again", file.string()));
  }
}

void BenchStore::Store(const BenchPair& pair, const BenchSettings& settings, BenchMethod method,
                       const BenchResult& result) const {
  const Json json = {{"pair", pair.name},
                     {"method", ToString(method)},
                     {"preset", ToString(settings.preset)},
                     {"parameters", BenchParameters(pair, settings, method)},
                     {"result", ToJson(result)},
                     {"version", kVersion}};
  WriteFileAtomically(FileOf(pair, settings, method), JsonText(json));
}

}  // namespace submarine::apps
