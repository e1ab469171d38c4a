#include "apps/report/report_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "apps/cli/file_checks.h"
#include "submarine/base/error.h"
#include "submarine/io/file/bundle_path.h"
#include "submarine/io/file/input_file.h"
#include "submarine/io/file/json_file.h"

namespace submarine::apps {
namespace {

using internal::IsNameInBundle;
using internal::PathInBundle;
using internal::ReadJsonFile;
using internal::ReadWholeFile;

using nlohmann::json;

// A value of summary.json together with the path to it, such as page.panels[2].file.
class Node {
 public:
  Node(const json& value, const std::filesystem::path& file, std::string where)
      : value_(value), file_(file), where_(std::move(where)) {}

  [[noreturn]] void Refuse(std::string_view expected) const {
    throw FileError(
        fmt::format("\"{}\" has an ill-formed {}, expected {}", file_.string(), where_, expected));
  }
  // Absent and null are the same.
  std::optional<Node> Find(const char* key) const {
    if (!value_.is_object()) Refuse("an object");
    const auto found = value_.find(key);
    if (found == value_.end() || found->is_null()) return std::nullopt;
    return Node(*found, file_, where_.empty() ? key : where_ + "." + key);
  }
  Node At(const char* key) const {
    auto node = Find(key);
    if (!node) Refuse(fmt::format("an object with the key \"{}\"", key));
    return *node;
  }
  std::vector<Node> Items(const char* key) const {
    const auto list = Find(key);
    return list ? list->Items() : std::vector<Node>();
  }
  std::vector<Node> Items() const {
    if (!value_.is_array()) Refuse("a list");
    std::vector<Node> items;
    for (std::size_t k = 0; k < value_.size(); ++k)
      items.emplace_back(value_[k], file_, fmt::format("{}[{}]", where_, k));
    return items;
  }
  std::string Text() const {
    if (!value_.is_string()) Refuse("a string");
    return value_.get<std::string>();
  }
  std::string TextOr(const char* key, std::string otherwise) const {
    const auto node = Find(key);
    return node ? node->Text() : std::move(otherwise);
  }
  // The page may only use files of the bundle.
  std::filesystem::path FileInBundle() const {
    const std::string text = Text();
    if (!IsNameInBundle(text)) Refuse("the name of a file inside the bundle");
    return text;
  }
  void ExpectNumber(const char* key) const {
    if (!At(key).value_.is_number()) At(key).Refuse("a number");
  }
  // null marks a gap.
  void ExpectNumbers(std::size_t count) const {
    const std::vector<Node> items = Items();
    if (items.size() != count) {
      Refuse(fmt::format("{} numbers as the x axis has, but there are {}", count, items.size()));
    }
    for (const Node& item : items) {
      if (!item.value_.is_number() && !item.value_.is_null()) item.Refuse("a number or null");
    }
  }
  // Numbers are used as written.
  std::string Name() const { return value_.is_number() ? value_.dump() : Text(); }

 private:
  const json& value_;
  const std::filesystem::path& file_;
  std::string where_;
};

bool IsColour(std::string_view text) {
  return text.size() == 7 && text[0] == '#' &&
         std::all_of(text.begin() + 1, text.end(),
                     [](unsigned char c) { return std::isxdigit(c); });
}

PanelFile ReadPanel(const Node& panel) {
  if (const auto scale = panel.Find("scale")) {
    scale->ExpectNumber("low");
    scale->ExpectNumber("high");
    scale->TextOr("unit", "");
  }
  const std::vector<Node> legend = panel.Items("legend");
  for (const Node& entry : legend) {
    entry.At("name").Name();
    const Node colour = entry.At("colour");
    if (!IsColour(colour.Text())) colour.Refuse("a colour such as \"#aabbcc\"");
  }
  PanelFile read{"", panel.At("file").FileInBundle(), !legend.empty()};
  panel.TextOr("role", "");
  read.name = panel.TextOr("name", read.file.string());
  return read;
}

void CheckPairs(const Node& node, const char* key) {
  for (const Node& pair : node.Items(key)) {
    if (pair.Items().size() != 2) pair.Refuse("a pair of texts");
    for (const Node& part : pair.Items()) part.Name();
  }
}

GalleryFile ReadGalleryItem(const Node& item) {
  item.At("name").Text();
  item.TextOr("problem", "");
  if (const auto link = item.Find("link")) link->FileInBundle();
  CheckPairs(item, "facts");
  GalleryFile read;
  if (item.Find("labels")) {
    read.labels = item.At("labels").FileInBundle();
    read.picture = item.At("picture").FileInBundle();
  }
  return read;
}

MarginalsFile ReadMarginalsFile(const Node& marginals) {
  MarginalsFile file;
  file.file = marginals.At("file").FileInBundle();
  if (const auto labels = marginals.Find("labels_file")) file.labels_file = labels->FileInBundle();
  file.label = marginals.TextOr("label", "label");
  for (const Node& name : marginals.Items("names")) file.names.push_back(name.Name());
  return file;
}

void CheckPlot(const Node& plot) {
  plot.TextOr("title", "");
  const Node x = plot.At("x");
  x.TextOr("label", "");
  const std::size_t count = x.At("values").Items().size();
  x.At("values").ExpectNumbers(count);
  if (const auto y = plot.Find("y")) y->TextOr("label", "");
  for (const Node& series : plot.At("series").Items()) {
    series.TextOr("name", "");
    series.At("values").ExpectNumbers(count);
  }
}

void ReadPage(const Node& page, ReportSummary* summary) {
  page.TextOr("title", "");
  for (const Node& panel : page.Items("panels")) summary->panels.push_back(ReadPanel(panel));
  for (const Node& figure : page.Items("figures")) {
    PanelFile read{"", figure.At("file").FileInBundle(), false};
    read.name = figure.TextOr("name", read.file.string());
    summary->figures.push_back(std::move(read));
  }
  for (const Node& value : page.Items("values")) {
    ValueFile read{"", value.TextOr("unit", ""), value.At("file").FileInBundle(), false};
    read.name = value.TextOr("name", read.file.string());
    summary->values.push_back(std::move(read));
  }
  if (const auto marginals = page.Find("marginals"))
    summary->marginals = ReadMarginalsFile(*marginals);
  for (const Node& item : page.Items("gallery")) summary->gallery.push_back(ReadGalleryItem(item));
  CheckPairs(page, "lead");
  page.TextOr("verdict", "");
  CheckPairs(page, "facts");
  CheckPairs(page, "parameters");
  for (const Node& change : page.Items("changes")) {
    change.At("name").Name();
    if (change.Find("before")) change.ExpectNumber("before");
    change.ExpectNumber("after");
  }
  for (const Node& plot : page.Items("plots")) CheckPlot(plot);
  for (const Node& note : page.Items("notes")) note.Text();
}

void CheckRecords(const Node& root) {
  for (const Node& record : root.Items("iterations")) record.ExpectNumber("seconds");
}

void CheckExpectations(const Node& root) {
  for (const Node& value : root.Items("expectations")) {
    value.At("name").Name();
    value.TextOr("unit", "");
    for (const char* key : {"most", "lower", "upper", "credible_lower", "credible_upper"})
      value.ExpectNumber(key);
    for (const char* key : {"claimed", "labels", "truth"}) {
      if (value.Find(key)) value.ExpectNumber(key);
    }
  }
}

}  // namespace

bool ExistsInBundle(const std::filesystem::path& bundle, const std::filesystem::path& file) {
  return Exists(bundle / file);
}

ReportSummary ReadReportSummary(const std::filesystem::path& bundle) {
  if (!IsDirectory(bundle)) {
    throw FileError(fmt::format("\"{}\" is not a directory, expected one with a summary.json",
                                bundle.string()));
  }
  const std::filesystem::path file = PathInBundle(bundle, "summary.json");
  const json parsed = ReadJsonFile(file);
  const Node root(parsed, file, "");
  if (!parsed.is_object()) {
    throw FileError(fmt::format(
        "\"{}\" holds no object, expected the summary of a solve or an experiment", file.string()));
  }
  ReportSummary summary;
  summary.text = ReadWholeFile(file);
  if (summary.text.starts_with("\xef\xbb\xbf")) summary.text.erase(0, 3);
  CheckRecords(root);
  CheckExpectations(root);
  if (const auto page = root.Find("page")) {
    ReadPage(*page, &summary);
  } else {
    summary.values = {{"label", "", "labels.npy", true}, {"entropy", "nats", "entropy.npy", true}};
    summary.marginals = MarginalsFile{"marginals.npy", {}, "label", {}, true};
    for (const Node& name : root.Items("label_names"))
      summary.marginals->names.push_back(name.Name());
  }
  return summary;
}

}  // namespace submarine::apps
