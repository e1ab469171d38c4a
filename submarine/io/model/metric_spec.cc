#include "submarine/io/model/metric_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <mutex>
#include <string_view>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/number_text.h"
#include "submarine/io/file/text_scanner.h"
#include "submarine/io/model/metric_file.h"
#include "submarine/io/model/tree_spec.h"
#include "submarine/labels/metric_fit.h"

namespace submarine {
namespace {

using internal::FromChars;
using internal::MetricFile;
using internal::ParseTreeSpec;
using internal::Quoted;
using internal::ReadMetricFile;

constexpr std::string_view kTree = "tree:";

constexpr std::pair<std::string_view, std::string_view> kPaperTrees[] = {
    {"tree1", "5x4:1,0.5"}, {"tree2", "2x2x5:1,1,0.5"}, {"tree2b", "2x2x5:2,1,0.5"}};

bool NamesFile(std::string_view text) {
  constexpr std::array<std::string_view, 5> kEndings = {".csv", ".tsv", ".txt", ".json", ".npy"};
  return std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) {
    return text.size() > ending.size() && text.ends_with(ending);
  });
}

// The parts of [repair:|compatibility:|tree:]FILE[:LENGTHS].
struct FileSpec {
  std::string file;
  NoMetric no_metric = NoMetric::kRefuse;
  bool only_matrix = false;
  bool only_tree = false;
  std::vector<double> lengths = {};
};

std::vector<double> LengthsOf(std::string_view text) {
  std::vector<double> lengths;
  while (true) {
    double length = 0.0;
    const auto [end, error] = FromChars(text.data(), text.data() + text.size(), length);
    if (error != std::errc{} || !std::isfinite(length) || length < 0.0) return {};
    lengths.push_back(length);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return lengths;
    if (text.front() != ',') return {};
    text.remove_prefix(1);
  }
}

// File names have letters that trees do not have; a text that begins like a tree is one, even if
// misspelt.
bool IsInlineTree(std::string_view text) {
  return text.starts_with('(') ||
         text.find_first_not_of("0123456789x:,.()eE+- \t") == std::string_view::npos;
}

std::optional<FileSpec> FileSpecOf(const std::string& spec) {
  FileSpec parts;
  std::string_view text = spec;
  const auto take = [&](std::string_view prefix) {
    const bool found = text.starts_with(prefix);
    if (found) text.remove_prefix(prefix.size());
    return found;
  };
  if (take("repair:")) {
    parts.no_metric = NoMetric::kRepair;
  } else if (take("compatibility:")) {
    parts.no_metric = NoMetric::kKeep;
  } else if (take(kTree)) {
    parts.only_tree = true;
  }
  parts.only_matrix = parts.no_metric != NoMetric::kRefuse;
  if (const std::size_t colon = text.rfind(':');
      colon != std::string_view::npos && NamesFile(text.substr(0, colon))) {
    parts.lengths = LengthsOf(text.substr(colon + 1));
    if (!parts.lengths.empty()) text = text.substr(0, colon);
  }
  parts.file = text;
  if (text.empty() || (parts.only_tree ? IsInlineTree(text) : !NamesFile(text)))
    return std::nullopt;
  return parts;
}

int ParseTruncation(const std::string& spec, std::string_view text) {
  int truncation = 0;
  const char* end = text.data() + text.size();
  const auto [parsed_end, error] = std::from_chars(text.data(), end, truncation);
  if (error != std::errc{} || parsed_end != end || truncation < 1) {
    throw InvalidInput(
        fmt::format("metric {}: the truncation must be a whole number from 1 on", Quoted(spec)));
  }
  return truncation;
}

// Fits take seconds, and a command asks for the same one several times, for every picture or to
// check its options first: the last one is kept.
LabelSpace FittedOnce(const Matrix<double>& distance, NoMetric no_metric, const std::string& name) {
  struct Last {
    Matrix<double> distance;
    NoMetric no_metric;
    std::string name;
    LabelSpace labels;
  };
  static std::mutex mutex;
  static std::optional<Last> last;
  const std::scoped_lock lock(mutex);
  if (!last || !(last->distance == distance) || last->no_metric != no_metric || last->name != name)
    last = Last{distance, no_metric, name, MetricLabels(distance, no_metric, name)};
  return last->labels;
}

void CheckHst(const std::string& spec, const LabelTree& tree, bool strict_hst,
              std::vector<std::string>* warnings) {
  const std::vector<std::string> violations = tree.HstViolations();
  if (strict_hst && !violations.empty()) {
    throw InvalidInput(
        fmt::format("metric {} is not an r-HST: {}", Quoted(spec), violations.front()));
  }
  if (warnings != nullptr) warnings->insert(warnings->end(), violations.begin(), violations.end());
}

void CheckLabels(const std::string& spec, std::string_view what, int labels, int num_labels) {
  if (labels == num_labels) return;
  throw InvalidInput(fmt::format("metric {}: the {} has {} labels, but the model has {}",
                                 Quoted(spec), what, labels, num_labels));
}

// Where a matrix has as many labels as expected is checked before it is fitted; 0: any number.
SizedMetric ReadFile(const std::string& spec, const FileSpec& parts, int num_labels,
                     const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / parts.file;
  MetricFile file = ReadMetricFile(path, parts.lengths);
  if (file.tree) {
    if (parts.only_matrix)
      throw InvalidInput(fmt::format(
          "metric {}: the file has a label tree, which always is a metric", Quoted(spec)));
    if (num_labels > 0) CheckLabels(spec, "tree", file.tree->num_labels(), num_labels);
    return {file.tree->ToLabels(spec), std::move(file.tree)};
  }
  if (parts.only_tree || !parts.lengths.empty())
    throw InvalidInput(
        fmt::format("metric {}: the file has a matrix, expected a label tree", Quoted(spec)));
  const int labels = static_cast<int>(file.distance.rows());
  if (num_labels > 0) CheckLabels(spec, "matrix", labels, num_labels);
  try {
    SizedMetric metric{FittedOnce(file.distance, parts.no_metric, spec)};
    metric.labels.names = std::move(file.names);
    return metric;
  } catch (const InvalidInput& error) {
    const bool repairable = parts.no_metric == NoMetric::kRefuse && WorstTriangle(file.distance);
    throw InvalidInput(fmt::format(
        "{}: {}{}", path.string(), error.what(),
        repairable ? "; repair:FILE takes the largest metric below it, compatibility:FILE the "
                     "matrix itself"
                   : ""));
  }
}

// Of a tree written inline or named.
std::optional<LabelTree> TreeOf(const std::string& spec) {
  for (const auto& [name, tree] : kPaperTrees) {
    if (spec == name) return ParseTreeSpec(std::string(tree));
  }
  if (!spec.starts_with(kTree) || FileSpecOf(spec)) return std::nullopt;
  return ParseTreeSpec(spec.substr(kTree.size()));
}

}  // namespace

std::optional<std::string> MetricFileOf(const std::string& spec) {
  const std::optional<FileSpec> parts = FileSpecOf(spec);
  return parts ? std::optional(parts->file) : std::nullopt;
}

std::optional<SizedMetric> ReadSizedMetric(const std::string& spec,
                                           const std::filesystem::path& directory) {
  if (const std::optional<FileSpec> parts = FileSpecOf(spec))
    return ReadFile(spec, *parts, 0, directory);
  std::optional<LabelTree> tree = TreeOf(spec);
  if (!tree) return std::nullopt;
  LabelSpace labels = tree->ToLabels(spec);
  return SizedMetric{std::move(labels), std::move(tree)};
}

LabelSpace ParseMetricSpec(const std::string& spec, int num_labels, bool strict_hst,
                           std::vector<std::string>* warnings,
                           const std::filesystem::path& directory) {
  constexpr std::string_view kTruncated = "truncated:";
  if (spec == "potts") return PottsLabels(num_labels);
  if (spec == "linear") return LinearLabels(num_labels);
  if (spec.starts_with(kTruncated)) {
    return TruncatedLinearLabels(num_labels, ParseTruncation(spec, spec.substr(kTruncated.size())));
  }
  if (const std::optional<FileSpec> parts = FileSpecOf(spec)) {
    SizedMetric metric = ReadFile(spec, *parts, num_labels, directory);
    if (metric.tree) CheckHst(spec, *metric.tree, strict_hst, warnings);
    return std::move(metric.labels);
  }
  if (const std::optional<LabelTree> tree = TreeOf(spec)) {
    CheckLabels(spec, "tree", tree->num_labels(), num_labels);
    CheckHst(spec, *tree, strict_hst, warnings);
    return tree->ToLabels(spec);
  }
  throw InvalidInput(fmt::format(
      "{} is not a label metric; known are potts, linear, truncated:T, tree:SHAPE (as in "
      "tree:5x4:1,0.5 or tree:((0,1):1,(2,3):1)), tree1, tree2, tree2b, and files of a matrix or a "
      "label tree (.csv, .tsv, .txt, .json, .npy)",
      Quoted(spec)));
}

}  // namespace submarine
