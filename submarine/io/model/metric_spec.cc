#include "submarine/io/model/metric_spec.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "submarine/base/error.h"
#include "submarine/io/file/text_scanner.h"
#include "submarine/io/model/tree_spec.h"

namespace submarine {
namespace {

using internal::ParseTreeSpec;
using internal::Quoted;
using internal::ReadTreeJson;

constexpr std::string_view kTree = "tree:";

// File names have letters that trees do not have; a text that begins like a tree is one, even if
// misspelt.
bool IsInlineTree(std::string_view text) {
  return text.starts_with('(') ||
         text.find_first_not_of("0123456789x:,.()eE+- \t") == std::string_view::npos;
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

LabelSpace TreeLabels(const std::string& spec, const std::string& text, int num_labels,
                      bool strict_hst, std::vector<std::string>* warnings,
                      const std::filesystem::path& directory) {
  const std::optional<std::string> file = TreeFileOf(spec);
  const LabelTree tree = file ? ReadTreeJson(directory / *file) : ParseTreeSpec(text);
  if (tree.num_labels() != num_labels) {
    throw InvalidInput(fmt::format("metric {}: the tree has {} labels, but the model has {}",
                                   Quoted(spec), tree.num_labels(), num_labels));
  }
  const std::vector<std::string> violations = tree.HstViolations();
  if (strict_hst && !violations.empty()) {
    throw InvalidInput(
        fmt::format("metric {} is not an r-HST: {}", Quoted(spec), violations.front()));
  }
  if (warnings != nullptr) warnings->insert(warnings->end(), violations.begin(), violations.end());
  return tree.ToLabels(spec);
}

}  // namespace

std::optional<std::string> TreeFileOf(const std::string& spec) {
  if (!spec.starts_with(kTree) || spec.size() == kTree.size()) return std::nullopt;
  const std::string text = spec.substr(kTree.size());
  return IsInlineTree(text) ? std::nullopt : std::optional(text);
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
  if (spec.starts_with(kTree) && spec.size() > kTree.size()) {
    return TreeLabels(spec, spec.substr(kTree.size()), num_labels, strict_hst, warnings, directory);
  }
  throw InvalidInput(
      fmt::format("{} is not a label metric; known are potts, linear, truncated:T, tree:SHAPE (as "
                  "in tree:5x4:1,0.5 or tree:((0,1):1,(2,3):1)) and tree:FILE.json",
                  Quoted(spec)));
}

}  // namespace submarine
