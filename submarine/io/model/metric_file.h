// Label metrics as files: a matrix or a label tree, in whichever form the file has.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/labels/label_tree.h"

namespace submarine::internal {

struct MetricFile {
  Matrix<double> distance;         // of a matrix
  std::vector<std::string> names;  // of its labels, or none
  std::optional<LabelTree> tree;   // otherwise
};

// A matrix: .npy of shape (labels, labels); JSON, a list of rows, or that under "distance" with a
// list of "labels"; text, cells separated by tabs, commas or spaces, with a first line or a first
// column of names if wanted. A tree: any of tree_spec.h's files. Lengths by level are for trees.
// Throws FileError naming the file and the line.
MetricFile ReadMetricFile(const std::filesystem::path& path, std::span<const double> by_level = {});

}  // namespace submarine::internal
