#include "submarine/io/model/metric_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/number_text.h"
#include "submarine/io/file/input_file.h"
#include "submarine/io/file/json_file.h"
#include "submarine/io/file/npy.h"
#include "submarine/io/file/text_scanner.h"
#include "submarine/io/model/text_table.h"
#include "submarine/io/model/tree_spec.h"
#include "submarine/labels/label_cuts.h"

namespace submarine::internal {
namespace {

using Json = nlohmann::json;

// Enough for kMaxLabels^2 numbers of 30 characters.
constexpr std::uint64_t kMaxMatrixBytes = std::uint64_t{32} << 20;

[[noreturn]] void Fail(const std::filesystem::path& path, std::string_view problem) {
  throw FileError(fmt::format("{}: {}", path.string(), problem));
}

void CheckShape(const std::filesystem::path& path, std::size_t rows, std::size_t columns) {
  if (rows != columns)
    Fail(path,
         fmt::format("the matrix is {} x {}, expected as many rows as columns", rows, columns));
  if (rows < 2 || rows > static_cast<std::size_t>(kMaxLabels)) {
    Fail(path, fmt::format("the matrix is {} x {}, but a model has between 2 and {} labels", rows,
                           columns, kMaxLabels));
  }
}

MetricFile ReadNpy(const std::filesystem::path& path) {
  NpyReader reader(path);
  const NpyShape shape = reader.shape();
  if (shape.size() != 2)
    Fail(path, fmt::format("has shape {}, expected (labels, labels)", ShapeText(shape)));
  CheckShape(path, static_cast<std::size_t>(shape[0]), static_cast<std::size_t>(shape[1]));
  MetricFile file;
  file.distance =
      Matrix<double>(static_cast<std::size_t>(shape[0]), static_cast<std::size_t>(shape[1]));
  reader.ReadTo(std::span(file.distance.data(), file.distance.size()));
  return file;
}

MetricFile FromJson(const std::filesystem::path& path, const Json& rows, const Json* names) {
  MetricFile file;
  const std::size_t count = rows.size();
  CheckShape(path, count, rows[0].is_array() ? rows[0].size() : 1);
  file.distance = Matrix<double>(count, count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!rows[i].is_array() || rows[i].size() != count)
      Fail(path, fmt::format("row {} of the matrix is not a list of {} numbers", i, count));
    for (std::size_t j = 0; j < count; ++j) {
      if (!rows[i][j].is_number())
        Fail(path, fmt::format("row {}, column {} of the matrix is not a number", i, j));
      file.distance(i, j) = rows[i][j].get<double>();
    }
  }
  if (names == nullptr) return file;
  if (!names->is_array() || names->size() != count)
    Fail(path, fmt::format("key \"labels\" is not a list of {} names", count));
  for (const Json& name : *names) {
    if (!name.is_string()) Fail(path, fmt::format("the label {} is not a text", name.dump()));
    file.names.push_back(name.get<std::string>());
  }
  return file;
}

struct Row {
  std::size_t line;
  std::vector<std::string_view> cells;
};

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  for (line = Trimmed(line); !line.empty();) {
    const std::size_t end = std::min(line.size(), line.find_first_of(" \t"));
    words.push_back(line.substr(0, end));
    line = Trimmed(line.substr(end));
  }
  return words;
}

bool IsNumber(std::string_view cell) {
  double ignored = 0.0;
  if (cell.starts_with('+')) cell.remove_prefix(1);
  const auto [end, error] = FromChars(cell.data(), cell.data() + cell.size(), ignored);
  return error != std::errc::invalid_argument && end == cell.data() + cell.size();
}

std::vector<Row> RowsOf(std::string_view text) {
  const char separator = SeparatorOf(text);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<Row> rows;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string_view content = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), content.size() + 1));
    if (Trimmed(content).empty()) continue;
    rows.push_back({line, separator == '\0' ? Words(content) : CellsOf(content, separator)});
  }
  return rows;
}

// Lines of a matrix have a number in their second cell, those of a tree a parent or nothing.
bool IsMatrix(const std::vector<Row>& rows) {
  if (rows.empty()) return false;
  const std::vector<std::string_view>& cells = rows.back().cells;
  return cells.size() > 1 && IsNumber(cells[1]) && !IsTreeHeader(rows.front().cells);
}

MetricFile FromText(const std::filesystem::path& path, std::vector<Row> rows) {
  MetricFile file;
  std::vector<std::string_view> header;
  if (!IsNumber(rows.front().cells.back())) {
    header = std::move(rows.front().cells);
    rows.erase(rows.begin());
  }
  const bool named = !rows.empty() && !IsNumber(rows.front().cells.front());
  const std::size_t first = named ? 1 : 0, count = rows.size();
  CheckShape(path, count, count == 0 ? 0 : rows.front().cells.size() - first);
  if (!header.empty() && header.size() == count + 1) header.erase(header.begin());
  if (!header.empty() && header.size() != count)
    Fail(path, fmt::format("the first line has {} names for {} labels", header.size(), count));
  file.names.assign(header.begin(), header.end());
  file.distance = Matrix<double>(count, count);
  for (std::size_t i = 0; i < count; ++i) {
    const Row& row = rows[i];
    if (row.cells.size() != count + first) {
      Fail(path, fmt::format("line {} has {} numbers, expected {}", row.line,
                             row.cells.size() - std::min(first, row.cells.size()), count));
    }
    if (named && header.empty()) file.names.emplace_back(row.cells[0]);
    if (named && !header.empty() && row.cells[0] != header[i]) {
      Fail(path, fmt::format("line {} is about {}, but column {} about {}", row.line,
                             Quoted(row.cells[0]), i + 1, Quoted(header[i])));
    }
    for (std::size_t j = 0; j < count; ++j) {
      std::string_view cell = row.cells[j + first];
      if (!IsNumber(cell)) {
        Fail(path, fmt::format("line {}, column {}: {} is not a number", row.line, j + first + 1,
                               Quoted(cell)));
      }
      if (cell.starts_with('+')) cell.remove_prefix(1);
      if (FromChars(cell.data(), cell.data() + cell.size(), file.distance(i, j)).ec != std::errc{})
        Fail(path, fmt::format("line {}, column {}: {} is beyond the range of numbers", row.line,
                               j + first + 1, Quoted(cell)));
    }
  }
  return file;
}

MetricFile ReadAny(const std::filesystem::path& path, std::span<const double> by_level) {
  const std::string ending = path.extension().string();
  if (ending == ".npy") return ReadNpy(path);
  MetricFile file;
  if (ending == ".json") {
    const Json json = ReadJsonFile(path, kMaxMatrixBytes);
    if (json.is_array() && !json.empty()) return FromJson(path, json, nullptr);
    if (json.is_object() && json.contains("distance")) {
      const JsonFields fields(json, path.string(), {"distance", "labels"});
      if (!json["distance"].is_array() || json["distance"].empty())
        fields.Refuse("distance", "must be a list of rows");
      return FromJson(path, json["distance"], json.contains("labels") ? &json["labels"] : nullptr);
    }
    file.tree = ReadTreeJson(path, by_level);
    return file;
  }
  const std::string text = ReadTextFile(path, kMaxMatrixBytes);
  std::vector<Row> rows = RowsOf(text);
  if (IsMatrix(rows)) return FromText(path, std::move(rows));
  file.tree = ParseTreeText(text, path, by_level);
  return file;
}

// Readers of text that number their lines have refused these before.
void CheckDistinct(const std::filesystem::path& path, const char* what,
                   std::vector<std::string> names) {
  std::erase(names, "");
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) Fail(path, fmt::format("two {} are called {}", what, Quoted(*twice)));
}

}  // namespace

MetricFile ReadMetricFile(const std::filesystem::path& path, std::span<const double> by_level) {
  MetricFile file = ReadAny(path, by_level);
  CheckDistinct(path, "labels", file.names);
  if (!file.tree) return file;
  std::vector<std::string> labels, groups;
  for (const TreeNode& node : file.tree->nodes())
    (node.label >= 0 ? labels : groups).push_back(node.name);
  CheckDistinct(path, "labels", labels);
  CheckDistinct(path, "groups", groups);
  return file;
}

}  // namespace submarine::internal
