#include "apps/experiments/stereo_bench/stereo_bench_store.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "submarine/base/version.h"

namespace submarine::apps {
namespace {

using internal::DisparityErrors;

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

BenchStore::BenchStore(const std::filesystem::path& directory) : runs_(directory, "stereo-bench") {}

std::string BenchStore::NameOf(const BenchPair& pair, const BenchSettings& settings,
                               BenchMethod method) {
  return fmt::format("{}.{}.{}", pair.name, ToString(method), ToString(settings.preset));
}

std::optional<BenchResult> BenchStore::Find(const BenchPair& pair, const BenchSettings& settings,
                                            BenchMethod method) const {
  const std::string name = NameOf(pair, settings, method);
  const auto result = runs_.Find(name, BenchParameters(pair, settings, method));
  try {
    return result ? std::optional(ReadResult(*result)) : std::nullopt;
  } catch (const json::exception&) {
    runs_.Refuse(name);
  }
}

void BenchStore::Store(const BenchPair& pair, const BenchSettings& settings, BenchMethod method,
                       const BenchResult& result) const {
  runs_.Store(NameOf(pair, settings, method),
              {{"pair", pair.name},
               {"method", ToString(method)},
               {"preset", ToString(settings.preset)},
               {"parameters", BenchParameters(pair, settings, method)},
               {"result", ToJson(result)},
               {"version", kVersion}});
}

}  // namespace submarine::apps
