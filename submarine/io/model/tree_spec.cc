#include "submarine/io/model/tree_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/number_text.h"
#include "submarine/io/file/json_file.h"
#include "submarine/io/file/text_scanner.h"
#include "submarine/io/model/text_table.h"

namespace submarine::internal {
namespace {

using Json = nlohmann::json;

constexpr double kDefaultLabelLength = 0.5;
constexpr double kDefaultGroupLength = 1.0;
constexpr std::size_t kMaxTreeDepth = 256;
constexpr std::uint64_t kMaxTreeBytes = std::uint64_t{4} << 20;

// A node as written; messages use `name`.
struct SpecNode {
  std::string name;
  int parent = -1;
  std::optional<double> length;
  int label = -1;
  std::string title = {};  // of the label or group, for users
};

// Checks that each node reaches the root. Nodes known to do so are not followed again.
void CheckNoCycle(const std::vector<SpecNode>& nodes) {
  std::vector<std::size_t> walk_of(nodes.size(), nodes.size());
  for (std::size_t start = 0; start < nodes.size(); ++start) {
    for (int n = static_cast<int>(start); n >= 0; n = nodes[static_cast<std::size_t>(n)].parent) {
      std::size_t& walk = walk_of[static_cast<std::size_t>(n)];
      if (walk < start) break;
      if (walk == start) {
        throw InvalidInput(fmt::format("{} is its own ancestor: the parents run in a cycle",
                                       nodes[static_cast<std::size_t>(n)].name));
      }
      walk = start;
    }
  }
}

void CheckOneRoot(const std::vector<SpecNode>& nodes) {
  const SpecNode* root = nullptr;
  for (const SpecNode& node : nodes) {
    if (node.parent >= 0) continue;
    if (root != nullptr) {
      throw InvalidInput(fmt::format("{} and {} both have no parent, but a tree has one root",
                                     root->name, node.name));
    }
    root = &node;
  }
  if (root == nullptr) throw InvalidInput("no node is without a parent, but a tree has one root");
}

// Where no node has a label, the leaves are numbered in their order.
void NumberLeaves(const std::vector<int>& num_children, std::vector<SpecNode>* nodes) {
  if (std::any_of(nodes->begin(), nodes->end(), [](const SpecNode& n) { return n.label >= 0; }))
    return;
  int next = 0;
  for (std::size_t n = 0; n < nodes->size(); ++n) {
    if (num_children[n] == 0) (*nodes)[n].label = next++;
  }
}

// Checks that exactly the leaves have labels, and that these are 0..L-1.
void CheckLabels(const std::vector<SpecNode>& nodes, const std::vector<int>& num_children) {
  std::size_t num_leaves = 0;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (num_children[n] == 0 && nodes[n].label < 0) {
      throw InvalidInput(fmt::format("{} has neither children nor a label", nodes[n].name));
    }
    if (num_children[n] > 0 && nodes[n].label >= 0) {
      throw InvalidInput(
          fmt::format("{} has label {} although it has children; only leaves are labels",
                      nodes[n].name, nodes[n].label));
    }
    num_leaves += num_children[n] == 0 ? 1 : 0;
  }
  std::vector<const SpecNode*> owner(num_leaves, nullptr);
  for (const SpecNode& node : nodes) {
    if (node.label < 0) continue;
    if (static_cast<std::size_t>(node.label) >= num_leaves) {
      throw InvalidInput(fmt::format("{} has label {}, but {} leaves must have the labels 0 to {}",
                                     node.name, node.label, num_leaves, num_leaves - 1));
    }
    const SpecNode*& first = owner[static_cast<std::size_t>(node.label)];
    if (first != nullptr) {
      throw InvalidInput(
          fmt::format("{} and {} both have label {}", first->name, node.name, node.label));
    }
    first = &node;
  }
}

// Lengths by level, from the root down, take the place of those of the nodes.
void SetLengths(std::span<const double> by_level, std::vector<SpecNode>* nodes) {
  if (by_level.empty()) return;
  for (SpecNode& node : *nodes) {
    std::size_t depth = 0;
    for (int n = node.parent; n >= 0; n = (*nodes)[static_cast<std::size_t>(n)].parent) ++depth;
    if (depth > by_level.size()) {
      throw InvalidInput(
          fmt::format("{} is on level {} below the root, but only {} lengths are given", node.name,
                      depth, by_level.size()));
    }
    if (depth > 0) node.length = by_level[depth - 1];
  }
}

LabelTree BuildTree(std::vector<SpecNode> nodes, std::span<const double> by_level = {}) {
  CheckNoCycle(nodes);
  CheckOneRoot(nodes);
  std::vector<int> num_children(nodes.size(), 0);
  for (const SpecNode& node : nodes) {
    if (node.parent >= 0) ++num_children[static_cast<std::size_t>(node.parent)];
  }
  NumberLeaves(num_children, &nodes);
  CheckLabels(nodes, num_children);
  SetLengths(by_level, &nodes);
  std::vector<TreeNode> tree;
  tree.reserve(nodes.size());
  for (const SpecNode& node : nodes) {
    const double length =
        node.length.value_or(node.label >= 0 ? kDefaultLabelLength : kDefaultGroupLength);
    tree.push_back({node.parent, node.parent >= 0 ? length : 0.0, node.label, node.title});
  }
  return LabelTree(std::move(tree));
}

// ---- Inline ----

class SpecScanner {
 public:
  explicit SpecScanner(const std::string& text) : text_(text) {}

  bool AtEnd() {
    SkipSpace();
    return position_ == text_.size();
  }
  char Peek() { return AtEnd() ? '\0' : text_[position_]; }
  bool Take(char c) {
    if (Peek() != c || AtEnd()) return false;
    ++position_;
    return true;
  }
  int Integer(std::string_view what, int min, int max) {
    int value = 0;
    Number(what, value);
    if (value < min || value > max) {
      Fail(fmt::format("{} is {}, but must lie between {} and {}", what, value, min, max));
    }
    return value;
  }
  double Length() {
    double value = 0.0;
    Number("a length", value);
    if (!std::isfinite(value) || value < 0.0) {
      Fail(fmt::format("a length is {}, but must be a finite number that is not negative", value));
    }
    return value;
  }
  std::optional<double> OptionalLength() {
    return Take(':') ? std::optional<double>(Length()) : std::nullopt;
  }
  std::size_t position() const { return position_ + 1; }  // counted from 1, for messages

  [[noreturn]] void Fail(std::string_view problem) const {
    throw InvalidInput(
        fmt::format("tree {}, character {}: {}", Quoted(text_), position_ + 1, problem));
  }

 private:
  void SkipSpace() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t'))
      ++position_;
  }
  template <class T>
  void Number(std::string_view what, T& value) {
    SkipSpace();
    const char* begin = text_.data() + position_;
    const auto [end, error] = FromChars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::invalid_argument) Fail(fmt::format("expected {}", what));
    if (error != std::errc{}) Fail(fmt::format("{} is beyond the range of numbers", what));
    position_ += static_cast<std::size_t>(end - begin);
  }

  const std::string& text_;
  std::size_t position_ = 0;
};

LabelTree ParseRegular(SpecScanner& scanner) {
  std::vector<int> counts;
  std::vector<double> lengths;
  std::int64_t num_labels = 1;
  do {
    counts.push_back(scanner.Integer("a number of groups or labels", 1, kMaxLabels));
    num_labels *= counts.back();
    if (num_labels > kMaxLabels || counts.size() > kMaxTreeDepth) {
      scanner.Fail(
          fmt::format("the tree has more than {} labels or {} levels", kMaxLabels, kMaxTreeDepth));
    }
  } while (scanner.Take('x'));
  if (!scanner.Take(':')) {
    scanner.Fail("expected ':' and one length for each level, as in 5x4:1,0.5");
  }
  do {
    lengths.push_back(scanner.Length());
  } while (scanner.Take(','));
  if (!scanner.AtEnd()) scanner.Fail("expected ',' or the end");
  if (lengths.size() != counts.size()) {
    scanner.Fail(fmt::format("{} levels need as many lengths, but {} are given", counts.size(),
                             lengths.size()));
  }
  return LabelTree::Regular(counts, lengths);
}

LabelTree ParseNested(SpecScanner& scanner) {
  std::vector<SpecNode> nodes;
  std::vector<int> open;  // groups not closed yet, outermost first
  bool expect_node = true;
  while (expect_node || !open.empty()) {
    const int parent = open.empty() ? -1 : open.back();
    if (expect_node && scanner.Peek() == '(') {
      if (open.size() == kMaxTreeDepth)
        scanner.Fail(fmt::format("more than {} levels", kMaxTreeDepth));
      open.push_back(static_cast<int>(nodes.size()));
      nodes.push_back(
          {fmt::format("the group at character {}", scanner.position()), parent, {}, -1});
      scanner.Take('(');
    } else if (expect_node) {
      const int label = scanner.Integer("a label or '('", 0, kMaxLabels - 1);
      const std::optional<double> length = scanner.OptionalLength();
      nodes.push_back({fmt::format("leaf {}", label), parent, length, label});
      expect_node = false;
    } else if (scanner.Take(',')) {
      expect_node = true;
    } else if (scanner.Take(')')) {
      nodes[static_cast<std::size_t>(parent)].length = scanner.OptionalLength();
      open.pop_back();
    } else {
      scanner.Fail("expected ',' or ')'");
    }
  }
  if (!scanner.AtEnd()) scanner.Fail("expected the end");
  return BuildTree(std::move(nodes));
}

// ---- JSON ----

std::optional<double> LengthOf(const JsonFields& fields) {
  if (!fields.Has("length")) return std::nullopt;
  const double length = fields.Number("length");
  if (length < 0.0) fields.Refuse("length", "must not be negative");
  return length;
}

int LabelOf(const JsonFields& fields) {
  return fields.Has("label") ? static_cast<int>(fields.Integer("label", 0, kMaxLabels - 1)) : -1;
}

std::string IdOf(const JsonFields& fields, std::string_view key) {
  const Json& id = fields.At(key);
  if (id.is_string()) return id.get<std::string>();
  if (id.is_number_integer()) return id.dump();
  fields.Refuse(key, "must be a string or a whole number");
}

std::vector<SpecNode> ReadFlat(const Json& json, const std::string& file) {
  const JsonFields top(json, file, {"nodes"});
  const Json& list = top.At("nodes");
  if (!list.is_array() || list.empty()) top.Refuse("nodes", "must be an array of nodes");
  std::vector<SpecNode> nodes;
  std::vector<std::string> parents;
  std::map<std::string, int> index_of;
  for (const Json& entry : list) {
    const JsonFields fields(entry, fmt::format("{}: nodes[{}]", file, nodes.size()),
                            {"id", "parent", "length", "label"});
    const std::string id = IdOf(fields, "id");
    if (!index_of.emplace(id, static_cast<int>(nodes.size())).second) {
      throw InvalidInput(fmt::format("two nodes have the id {}", Quoted(id)));
    }
    nodes.push_back({"node " + Quoted(id), -1, LengthOf(fields), LabelOf(fields), id});
    parents.push_back(fields.Has("parent") ? IdOf(fields, "parent") : "");
    if (fields.Has("parent") && parents.back().empty())
      fields.Refuse("parent", "must not be empty");
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (parents[n].empty()) continue;
    const auto parent = index_of.find(parents[n]);
    if (parent == index_of.end()) {
      throw InvalidInput(fmt::format("{} has the parent {}, which does not exist", nodes[n].name,
                                     Quoted(parents[n])));
    }
    nodes[n].parent = parent->second;
  }
  return nodes;
}

void ReadNested(const Json& json, const std::string& file, const std::string& path, int parent,
                std::size_t depth, std::vector<SpecNode>& nodes) {
  const std::string where = path.empty() ? "the root" : path;
  const JsonFields fields(json, fmt::format("{}: {}", file, where),
                          {"id", "length", "label", "children"});
  if (depth > kMaxTreeDepth)
    throw InvalidInput(fmt::format("the tree has more than {} levels", kMaxTreeDepth));
  const std::string id = fields.Has("id") ? IdOf(fields, "id") : "";
  const std::string name = fmt::format("node {}", id.empty() ? where : Quoted(id));
  const int index = static_cast<int>(nodes.size());
  nodes.push_back({name, parent, LengthOf(fields), LabelOf(fields), id});
  if (!fields.Has("children")) return;
  const Json& children = fields.At("children");
  if (!children.is_array()) fields.Refuse("children", "must be an array of nodes");
  for (std::size_t k = 0; k < children.size(); ++k) {
    ReadNested(children[k], file, fmt::format("{}/children[{}]", path, k), index, depth + 1, nodes);
  }
}

// ---- Text ----

struct TextLine {
  std::size_t number;
  std::size_t indent;  // columns before the text; a tab goes to the next multiple of 8
  std::string_view text;
};

std::vector<TextLine> LinesOf(std::string_view text) {
  std::vector<TextLine> lines;
  std::size_t number = 0;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    ++number;
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos) continue;
    std::size_t indent = 0;
    for (char c : line.substr(0, first)) indent = c == '\t' ? (indent / 8 + 1) * 8 : indent + 1;
    lines.push_back({number, indent, line});
  }
  return lines;
}

std::string LineName(std::size_t number, std::string_view name) {
  return fmt::format("line {} ({})", number, Quoted(name));
}

double TextLength(std::size_t line, std::string_view text) {
  double length = 0.0;
  const auto [end, error] = FromChars(text.data(), text.data() + text.size(), length);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(length) ||
      length < 0.0) {
    throw InvalidInput(fmt::format(
        "line {}: the length {} must be a finite number that is not negative", line, Quoted(text)));
  }
  return length;
}

// Labels and groups of the same name are told apart by what they are; two of a kind are not.
class Titles {
 public:
  void Add(std::string_view title, std::size_t line) {
    const auto [first, added] = line_of_.emplace(title, line);
    if (added) return;
    throw InvalidInput(
        fmt::format("lines {} and {} both define {}", first->second, line, Quoted(title)));
  }

 private:
  std::map<std::string, std::size_t, std::less<>> line_of_;
};

std::vector<SpecNode> ReadIndented(const std::vector<TextLine>& lines) {
  std::vector<SpecNode> nodes{{"the root"}};
  std::vector<std::pair<std::size_t, int>> open;  // indents and nodes, outermost first
  std::vector<std::size_t> number{0};
  std::vector<bool> leaf{false};
  for (const TextLine& line : lines) {
    while (!open.empty() && open.back().first > line.indent) open.pop_back();
    const bool sibling = !open.empty() && open.back().first == line.indent;
    const int last = static_cast<int>(nodes.size()) - 1;
    if (sibling) {
      open.pop_back();
    } else if (last > 0 && (open.empty() || open.back().second != last)) {
      throw InvalidInput(fmt::format("line {} is indented by {}, like no line above it",
                                     line.number, line.indent));
    }
    if (open.size() == kMaxTreeDepth)
      throw InvalidInput(fmt::format("line {}: more than {} levels", line.number, kMaxTreeDepth));
    const int parent = open.empty() ? 0 : open.back().second;
    std::string_view title = Trimmed(line.text);
    std::optional<double> length;
    if (const std::size_t colon = title.rfind(':'); colon != std::string_view::npos) {
      length = TextLength(line.number, Trimmed(title.substr(colon + 1)));
      title = Trimmed(title.substr(0, colon));
    }
    open.emplace_back(line.indent, static_cast<int>(nodes.size()));
    leaf[static_cast<std::size_t>(parent)] = false;
    nodes.push_back({LineName(line.number, title), parent, length, -1, std::string(title)});
    number.push_back(line.number);
    leaf.push_back(true);
  }
  Titles labels, groups;
  for (std::size_t n = 1; n < nodes.size(); ++n)
    (leaf[n] ? labels : groups).Add(nodes[n].title, number[n]);
  const auto tops = std::count_if(nodes.begin(), nodes.end(),
                                  [](const SpecNode& node) { return node.parent == 0; });
  if (tops > 1) return nodes;
  nodes.erase(nodes.begin());  // the file has a root of its own
  for (SpecNode& node : nodes) --node.parent;
  return nodes;
}

// Columns: of the names, of their groups, and of lengths (0 if there is none).
struct TreeColumns {
  std::size_t label = 0, parent = 1, length = 2;
};

std::optional<TreeColumns> HeaderOf(const std::vector<std::string_view>& cells) {
  if (cells.empty() || cells[0] != "label") return std::nullopt;
  TreeColumns columns{0, 0, 0};
  for (std::size_t k = 1; k < cells.size(); ++k) {
    const bool parent = cells[k] == "parent" || cells[k] == "category" || cells[k] == "group";
    if (parent && columns.parent == 0) columns.parent = k;
    if (cells[k] == "length") columns.length = k;
  }
  return columns.parent == 0 ? std::nullopt : std::optional(columns);
}

struct TreeRow {
  std::size_t line;
  std::string_view label, parent;
  std::optional<double> length;
  bool group = false;
};

std::vector<TreeRow> TreeRows(const std::vector<TextLine>& lines, char separator) {
  const std::optional<TreeColumns> header = HeaderOf(CellsOf(lines.front().text, separator));
  const TreeColumns columns = header.value_or(TreeColumns());
  std::vector<TreeRow> rows;
  std::set<std::string_view> groups;
  for (std::size_t k = header ? 1 : 0; k < lines.size(); ++k) {
    const std::vector<std::string_view> cells = CellsOf(lines[k].text, separator);
    if (cells.size() <= std::max(columns.label, columns.parent) || cells[columns.label].empty()) {
      throw InvalidInput(fmt::format("line {} has no label and parent, separated by a {}",
                                     lines[k].number, separator == '\t' ? "tab" : "comma"));
    }
    TreeRow row{lines[k].number, cells[columns.label], cells[columns.parent], {}, false};
    if (columns.length > 0 && columns.length < cells.size() && !cells[columns.length].empty())
      row.length = TextLength(row.line, cells[columns.length]);
    if (!row.parent.empty()) groups.insert(row.parent);
    rows.push_back(row);
  }
  for (TreeRow& row : rows) row.group = row.label != row.parent && groups.contains(row.label);
  return rows;
}

// A group without a line of its own is below the root. "sky, sky" is a label in a group of the same
// name.
std::vector<SpecNode> ReadParents(const std::vector<TextLine>& lines, char separator) {
  const std::vector<TreeRow> rows = TreeRows(lines, separator);
  std::vector<SpecNode> nodes;
  const TreeRow* root = nullptr;
  for (const TreeRow& row : rows) {
    if (row.group && row.parent.empty() && root == nullptr) root = &row;
  }
  if (root == nullptr) nodes.push_back({"the root"});
  Titles labels, groups;
  std::map<std::string_view, int> group_of;
  std::vector<std::size_t> node_of;
  for (const TreeRow& row : rows) {
    (row.group ? groups : labels).Add(row.label, row.line);
    if (row.group) group_of.emplace(row.label, static_cast<int>(nodes.size()));
    node_of.push_back(nodes.size());
    nodes.push_back({LineName(row.line, row.label), -1, row.length, -1, std::string(row.label)});
  }
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (&rows[k] == root) continue;
    const auto require_no_root = [&] {
      if (root == nullptr) return;
      throw InvalidInput(fmt::format(
          "the tree has two roots: {}, and {}", LineName(root->line, root->label),
          rows[k].parent.empty()
              ? LineName(rows[k].line, rows[k].label)
              : fmt::format("{}, the parent in line {}", Quoted(rows[k].parent), rows[k].line)));
    };
    int parent = 0;
    if (rows[k].parent.empty()) {
      require_no_root();
    } else {
      const auto [known, added] = group_of.emplace(rows[k].parent, static_cast<int>(nodes.size()));
      parent = known->second;
      if (added) {
        require_no_root();
        nodes.push_back(
            {"group " + Quoted(rows[k].parent), 0, {}, -1, std::string(rows[k].parent)});
      }
    }
    nodes[node_of[k]].parent = parent;
  }
  return nodes;
}

}  // namespace

bool IsTreeHeader(const std::vector<std::string_view>& cells) {
  return HeaderOf(cells).has_value();
}

LabelTree ParseTreeSpec(const std::string& text) {
  SpecScanner scanner(text);
  return scanner.Peek() == '(' ? ParseNested(scanner) : ParseRegular(scanner);
}

LabelTree ReadTreeJson(const std::filesystem::path& path, std::span<const double> by_level) {
  const Json json = ReadJsonFile(path, kMaxTreeBytes);
  const std::string file = path.string();
  try {
    if (json.is_object() && json.contains("nodes"))
      return BuildTree(ReadFlat(json, file), by_level);
    std::vector<SpecNode> nodes;
    ReadNested(json, file, "", -1, 1, nodes);
    return BuildTree(std::move(nodes), by_level);
  } catch (const InvalidInput& error) {
    throw FileError(fmt::format("{}: {}", file, error.what()));
  }
}

LabelTree ParseTreeText(std::string_view text, const std::filesystem::path& path,
                        std::span<const double> by_level) {
  try {
    const std::vector<TextLine> lines = LinesOf(text);
    if (lines.empty()) throw InvalidInput("the label tree is empty");
    const char separator = SeparatorOf(text);
    return BuildTree(separator == '\0' ? ReadIndented(lines) : ReadParents(lines, separator),
                     by_level);
  } catch (const InvalidInput& error) {
    throw FileError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

}  // namespace submarine::internal
