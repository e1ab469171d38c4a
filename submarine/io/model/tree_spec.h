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
// Ids are strings or integers, optional in the nested form; they are used only in messages and
// "parent".
//
// Except in the regular form, a length left out is 0.5 above a label and 1 above a group, so that
// labels of one group are at distance 1. A length above the root has no effect: no path between
// labels uses it.
#pragma once

#include <filesystem>
#include <string>

#include "submarine/labels/label_tree.h"

namespace submarine::internal {

// Throws InvalidInput with the character position.
LabelTree ParseTreeSpec(const std::string& text);

// Throws FileError naming the file and the node.
LabelTree ReadTreeJson(const std::filesystem::path& path);

}  // namespace submarine::internal
