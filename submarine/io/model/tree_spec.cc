#include "submarine/io/model/tree_spec.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/number_text.h"
#include "submarine/io/file/json_file.h"
#include "submarine/io/file/text_scanner.h"

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

LabelTree BuildTree(const std::vector<SpecNode>& nodes) {
  CheckNoCycle(nodes);
  CheckOneRoot(nodes);
  std::vector<int> num_children(nodes.size(), 0);
  for (const SpecNode& node : nodes) {
    if (node.parent >= 0) ++num_children[static_cast<std::size_t>(node.parent)];
  }
  CheckLabels(nodes, num_children);
  std::vector<TreeNode> tree;
  tree.reserve(nodes.size());
  for (const SpecNode& node : nodes) {
    const double length =
        node.length.value_or(node.label >= 0 ? kDefaultLabelLength : kDefaultGroupLength);
    tree.push_back({node.parent, node.parent >= 0 ? length : 0.0, node.label});
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
  return BuildTree(nodes);
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
    nodes.push_back({"node " + Quoted(id), -1, LengthOf(fields), LabelOf(fields)});
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
  const std::string name =
      fields.Has("id") ? "node " + Quoted(IdOf(fields, "id")) : fmt::format("node {}", where);
  const int index = static_cast<int>(nodes.size());
  nodes.push_back({name, parent, LengthOf(fields), LabelOf(fields)});
  if (!fields.Has("children")) return;
  const Json& children = fields.At("children");
  if (!children.is_array()) fields.Refuse("children", "must be an array of nodes");
  for (std::size_t k = 0; k < children.size(); ++k) {
    ReadNested(children[k], file, fmt::format("{}/children[{}]", path, k), index, depth + 1, nodes);
  }
}

}  // namespace

LabelTree ParseTreeSpec(const std::string& text) {
  SpecScanner scanner(text);
  return scanner.Peek() == '(' ? ParseNested(scanner) : ParseRegular(scanner);
}

LabelTree ReadTreeJson(const std::filesystem::path& path) {
  const Json json = ReadJsonFile(path, kMaxTreeBytes);
  const std::string file = path.string();
  try {
    if (json.is_object() && json.contains("nodes")) return BuildTree(ReadFlat(json, file));
    std::vector<SpecNode> nodes;
    ReadNested(json, file, "", -1, 1, nodes);
    return BuildTree(nodes);
  } catch (const InvalidInput& error) {
    throw FileError(fmt::format("{}: {}", file, error.what()));
  }
}

}  // namespace submarine::internal
