#include "submarine/io/model/bundle_header.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/file/bundle_path.h"
#include "submarine/io/file/input_file.h"
#include "submarine/io/file/text_scanner.h"
#include "submarine/io/model/metric_spec.h"
#include "submarine/labels/metric_fit.h"

namespace submarine::internal {
namespace {

// "[3, 0, 1]": the position of the k-th value in an array of this shape.
std::string Place(std::size_t k, const NpyShape& shape) {
  std::vector<std::size_t> index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = k % static_cast<std::size_t>(shape[d]);
    k /= static_cast<std::size_t>(shape[d]);
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

using Json = nlohmann::json;

Clique CliqueFrom(const Json& json, const std::string& where, std::size_t num_variables) {
  const JsonFields fields(json, where, {"members", "gamma", "truncation", "weights"});
  Clique clique;
  const Json& members = fields.At("members");
  const auto is_variable = [&](const Json& member) {
    return member.is_number_integer() && member >= 0 && member < num_variables;
  };
  if (!members.is_array() || !std::all_of(members.begin(), members.end(), is_variable)) {
    fields.Refuse("members",
                  fmt::format("must be a list of variables from 0 to {}", num_variables - 1));
  }
  clique.members = members.get<std::vector<int>>();
  clique.gamma = fields.Number("gamma");
  clique.truncation = fields.Number("truncation");
  if (fields.Has("weights")) clique.weights = fields.Numbers("weights");
  return clique;
}

}  // namespace

std::string BundlePathProblem(const std::string& name) {
  if (IsNameInBundle(name)) return "";
  return fmt::format("{} is not the name of a file inside the directory of the header",
                     Quoted(name));
}

void CheckBundleMetric(const std::string& spec, const std::filesystem::path& directory) {
  const std::optional<std::string> file = MetricFileOf(spec);
  if (!file) return;
  if (const std::string problem = BundlePathProblem(*file); !problem.empty()) {
    throw InvalidInput(problem);
  }
  PathInBundle(directory, *file);
}

std::string MetricBesideHeader(const std::filesystem::path& header, const std::string& spec,
                               const LabelMetric& metric) {
  const auto names_it = [&](const std::filesystem::path& directory) {
    try {
      const auto labels = static_cast<int>(metric.distance.rows());
      const LabelSpace named = ParseMetricSpec(spec, labels, false, nullptr, directory);
      return named.metrics.front().distance == metric.distance;
    } catch (const InvalidInput&) {
      return false;
    }
  };
  const std::filesystem::path directory = header.parent_path();
  std::filesystem::path beside = header;
  if (const std::optional<std::string> file = MetricFileOf(spec)) {
    std::error_code ignored;
    if (BundlePathProblem(*file).empty() && std::filesystem::exists(directory / *file, ignored) &&
        names_it(directory))
      return spec;
    const std::string text = ReadWholeFile(*file);
    if (names_it({})) {
      beside.replace_extension(".metric" + std::filesystem::path(*file).extension().string());
      WriteFileAtomically(beside, text);
      return std::string(spec).replace(spec.find(*file), file->size(), beside.filename().string());
    }
  } else if (names_it({})) {
    return spec;
  }
  beside = BesideHeader(header, "metric");
  const auto labels = static_cast<std::int64_t>(metric.distance.rows());
  WriteNpy(beside, std::span(metric.distance.data(), metric.distance.size()),
           NpyShape{labels, labels});
  return (WorstTriangle(metric.distance) ? "compatibility:" : "") + beside.filename().string();
}

std::filesystem::path BundleHeader::FilePath(std::string_view key) const {
  const std::string name = fields.String(key);
  if (const std::string problem = BundlePathProblem(name); !problem.empty()) Fail(key, problem);
  try {
    return PathInBundle(directory, name);
  } catch (const FileError& error) {
    Fail(key, error.what());
  }
}

void BundleHeader::Fail(std::string_view key, std::string_view problem) const {
  throw FileError(fmt::format("{}: key \"{}\": {}", fields.where(), key, problem));
}

void BundleHeader::FailInArray(std::string_view key, std::string_view problem) const {
  Fail(key, fmt::format("\"{}\" {}", FilePath(key).string(), problem));
}

void BundleHeader::FailAtValue(std::string_view key, const NpyShape& shape, std::size_t index,
                               double value, std::string_view what) const {
  FailInArray(key, fmt::format("has the value {} at {}, but {} must be finite", value,
                               Place(index, shape), what));
}

std::unique_ptr<NpyReader> BundleHeader::OpenArray(std::string_view key) const {
  const std::filesystem::path array = FilePath(key);
  try {
    return std::make_unique<NpyReader>(array);
  } catch (const FileError& error) {
    Fail(key, error.what());
  }
}

std::unique_ptr<NpyReader> BundleHeader::OpenArray(std::string_view key, const NpyShape& shape,
                                                   std::string_view axes) const {
  std::unique_ptr<NpyReader> reader = OpenArray(key);
  if (reader->shape() != shape) {
    FailInArray(key, fmt::format("has shape {}, but {} = {} was expected",
                                 ShapeText(reader->shape()), axes, ShapeText(shape)));
  }
  return reader;
}

LabelSpace BundleHeader::ReadMetric(int num_labels, bool strict_hst,
                                    std::vector<std::string>* warnings) const {
  const std::string spec = fields.String("metric");
  try {
    CheckBundleMetric(spec, directory);
    return ParseMetricSpec(spec, num_labels, strict_hst, warnings, directory);
  } catch (const InvalidInput& error) {
    throw InvalidInput(fmt::format("{}: key \"metric\": {}", fields.where(), error.what()));
  }
}

double BundleHeader::ReadConstant() const {
  return fields.Has("constant") ? fields.Number("constant") : 0.0;
}

std::vector<Clique> BundleHeader::ReadCliques(std::size_t num_variables) const {
  std::vector<Clique> cliques;
  if (!fields.Has("cliques")) return cliques;
  std::string where = fields.where();
  Json read;
  const Json* list = &fields.At("cliques");
  if (list->is_string()) {
    const std::filesystem::path file = FilePath("cliques");
    read = ReadJsonFile(file);
    list = &read;
    where = file.string();
  }
  if (!list->is_array()) {
    throw FileError(fmt::format(
        "{}: cliques must be a list of objects, or the name of a JSON file that holds one", where));
  }
  for (const Json& json : *list) {
    cliques.push_back(
        CliqueFrom(json, fmt::format("{}: clique {}", where, cliques.size()), num_variables));
  }
  try {
    CheckCliques(cliques, num_variables);
  } catch (const InvalidInput& error) {
    throw FileError(fmt::format("{}: {}", where, error.what()));
  }
  return cliques;
}

std::string WriteCliques(const std::filesystem::path& header, std::span<const Clique> cliques) {
  Json list = Json::array();
  for (const Clique& clique : cliques) {
    Json json = {
        {"members", clique.members}, {"gamma", clique.gamma}, {"truncation", clique.truncation}};
    if (!clique.weights.empty()) json["weights"] = clique.weights;
    list.push_back(std::move(json));
  }
  std::filesystem::path file = header;
  file.replace_extension(".cliques.json");
  WriteFileAtomically(file, list.dump() + "\n");
  return file.filename().string();
}

std::filesystem::path BesideHeader(const std::filesystem::path& header, std::string_view what) {
  std::filesystem::path name = header;
  return name.replace_extension(fmt::format(".{}.npy", what));
}

}  // namespace submarine::internal
