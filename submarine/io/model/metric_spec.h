// Label metrics as written on a command line or in a bundle:
//
//   potts                 d = 1 between different labels
//   linear                d = |i - j|
//   truncated:T           d = min(|i - j|, T)
//   tree:5x4:1,0.5        a label tree inline, in either form of docs/formats.md, "Metrics"
//   tree1, tree2          the paper's trees, tree:5x4:1,0.5 and tree:2x2x5:1,1,0.5; of the second
//                         the paper gives no lengths: tree2b has 2,1,0.5, those of an r-HST
//   animals.tsv           a matrix or a label tree from a file whose name ends in .csv,
//                         .tsv, .txt, .json or .npy; of a tree, ":1,0.5" may follow: lengths by
//                         level, from the root down. "tree:" may stand before it
//   repair:costs.csv      the largest metric below a matrix that violates the triangle inequality
//   compatibility:costs.csv   that matrix itself, with upper bounds by the largest metric below it
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "submarine/labels/label_cuts.h"
#include "submarine/labels/label_tree.h"

namespace submarine {

// Reasons why a tree is not an r-HST are appended to `warnings` (which may be null), or thrown as
// InvalidInput if `strict_hst`. Files are relative to `directory`. Throws InvalidInput for a text
// or a matrix that is not a metric and for one that does not have exactly `num_labels` labels;
// FileError for the file.
LabelSpace ParseMetricSpec(const std::string& spec, int num_labels, bool strict_hst,
                           std::vector<std::string>* warnings,
                           const std::filesystem::path& directory = {});

// The name of the file that the metric comes from; none if it does not come from one.
std::optional<std::string> MetricFileOf(const std::string& spec);

// A metric that says itself how many labels it has, one of a file or a tree, and that tree, if it is
// of one; none for other texts. Throws as ParseMetricSpec does.
struct SizedMetric {
  LabelSpace labels;
  std::optional<LabelTree> tree = {};
};
std::optional<SizedMetric> ReadSizedMetric(const std::string& spec,
                                           const std::filesystem::path& directory = {});

}  // namespace submarine
