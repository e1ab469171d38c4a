// Label metrics as written on a command line or in a bundle:
//
//   potts                 d = 1 between different labels
//   linear                d = |i - j|
//   truncated:T           d = min(|i - j|, T)
//   tree:5x4:1,0.5        a label tree inline, in either form of tree_spec.h
//   tree:animals.json     a label tree from a file
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "submarine/labels/label_cuts.h"

namespace submarine {

// Reasons why a tree is not an r-HST are appended to `warnings` (which may be null), or thrown as
// InvalidInput if `strict_hst`. Tree files are relative to `directory`. Throws InvalidInput for a
// text that is not a metric and for a tree that does not have exactly `num_labels` labels;
// FileError for the tree's file.
LabelSpace ParseMetricSpec(const std::string& spec, int num_labels, bool strict_hst,
                           std::vector<std::string>* warnings,
                           const std::filesystem::path& directory = {});

// The FILE of "tree:FILE"; none if the metric does not come from a file.
std::optional<std::string> TreeFileOf(const std::string& spec);

}  // namespace submarine
