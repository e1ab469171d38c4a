// The text forms of label trees.
//
// Inline, two forms:
//   5x4:1,0.5             a regular tree: 5 groups of 4 labels, lengths from the root down
//   ((0,1):1,(2,3:0.25))  nested groups whose leaves are label numbers, ":length" after any node
//
// As JSON, two forms:
//   {"nodes": [{"id": "root"}, {"id": "animals", "parent": "root", "length": 1},
//              {"id": "cat", "parent": "animals", "length": 0.5, "label": 0}, ...]}
//   {"children": [{"length": 1, "children": [{"label": 0, "length": 0.5}, ...]}, ...]}
// Ids are strings or integers, optional in the nested form; they name labels and groups. Where no
// leaf has a "label", the leaves are numbered in their order.
//
// As text, two forms, whose labels are numbered in their order:
//   lines LABEL <tab or comma> PARENT, and a length if wanted. With a first line of names of
//   columns that begins with "label", the parent is the column "parent", "category" or "group". A
//   parent without a line of its own is a group below the root. A label may have the name of its
//   group.
//   lines that are indented below those of their groups; ": length" may follow the name.
//
// Except in the regular form, a length left out is 0.5 above a label and 1 above a group, so that
// labels of one group are at distance 1. A length above the root has no effect: no path between
// labels uses it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "submarine/labels/label_tree.h"

namespace submarine::internal {

// Whether these are the names of the columns of a tree, "label" first.
bool IsTreeHeader(const std::vector<std::string_view>& cells);

// Throws InvalidInput with the character position.
LabelTree ParseTreeSpec(const std::string& text);

// Throw FileError naming the file and the node or line. Lengths by level, from the root down, take
// the place of those in the file.
LabelTree ReadTreeJson(const std::filesystem::path& path, std::span<const double> by_level = {});
LabelTree ParseTreeText(std::string_view text, const std::filesystem::path& path,
                        std::span<const double> by_level = {});

}  // namespace submarine::internal
