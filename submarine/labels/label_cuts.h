// Label metrics as sums of label cuts (docs/math.md, "Label cuts"):
//
//   d(i,j) = sum_c l_c [exactly one of i, j is in S_c],   l_c >= 0.
//
// Potts, hierarchical Potts trees, linear and truncated linear metrics are all of this form, and
// the rest of the library sees nothing else. A LabelCuts is the family of sets S_c; a LabelMetric
// gives the lengths l_c. Several metrics can share one family, which is how models with a different
// table on every edge are expressed.
//
// The first L cuts of every family are the leaves S_i = {i}, in label order, present even where
// their length is zero: the unaries live on them. Hence the ground set of the extension is exactly
// {variables} x {cuts}.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "submarine/base/matrix.h"

namespace submarine {

class LabelCuts {
 public:
  // `composite` are the cuts beyond the leaves: each a set of distinct labels in 0..num_labels-1.
  LabelCuts(int num_labels, std::vector<std::vector<int>> composite);

  int num_labels() const { return num_labels_; }
  int num_cuts() const { return static_cast<int>(sets_.size()); }
  bool leaves_only() const { return num_cuts() == num_labels_; }

  // The labels in S_c, ascending.
  const std::vector<int>& set(int cut) const { return sets_[static_cast<std::size_t>(cut)]; }
  bool contains(int cut, int label) const;

  // z_c = y(S_c) = sum of y over the labels of the cut. `y` has num_labels values, `z` num_cuts;
  // they may start at the same address (the leaves are copied through).
  void SumOverCuts(std::span<const double> y, std::span<double> z) const;

  // The transpose: s'_i = sum of s over the cuts that contain i. `s` is used as scratch space.
  void SumOverLabels(std::span<double> s, std::span<double> s_label) const;

 private:
  // z_cut is a signed sum of entries of z computed before it, so that nested and sliding families
  // cost O(cuts) rather than O(sum of set sizes).
  struct Term {
    int source;
    double sign;
  };
  void CompileSums();

  int num_labels_;
  std::vector<std::vector<int>> sets_;
  std::vector<int> order_;               // composite cuts, small sets first
  std::vector<std::size_t> term_begin_;  // for the k-th cut in `order_`
  std::vector<Term> terms_;
};

struct LabelMetric {
  std::string name;            // as the user would write it: "potts", "linear", "truncated:3", ...
  Matrix<double> distance;     // d(i,j), L x L: the metric of the model
  std::vector<double> length;  // l_c, one per cut of the family; their cut metric is d' <= d
  double distortion = 1.0;     // max over i != j of d / d': 1 when the cuts express d exactly
};

// Labels that a hierarchy puts together, such as all vehicles.
struct LabelGroup {
  std::string name;
  std::vector<int> labels;  // ascending
  int parent = -1;          // the smallest group around it; -1: none
};

// A family of cuts and the metrics expressed in it.
struct LabelSpace {
  std::shared_ptr<const LabelCuts> cuts;
  std::vector<LabelMetric> metrics;
  // For people, who may have named labels and groups; bounds and marginals do not depend on them.
  std::vector<std::string> names = {};  // of the labels, or none
  std::vector<LabelGroup> groups = {};  // parents first

  int num_labels() const { return cuts->num_labels(); }
  // True when the cuts of every metric reproduce its distances.
  bool exact() const;
};

// A LabelSpace is a plain struct; this throws InvalidInput unless its parts fit together and the
// lengths are finite and >= 0.
void CheckLabelSpace(const LabelSpace& labels);

// The metrics that are exact sums of cuts.
LabelSpace PottsLabels(int num_labels);
LabelSpace LinearLabels(int num_labels);
LabelSpace TruncatedLinearLabels(int num_labels, int truncation);  // min(|i-j|, truncation)

// How far the cuts of a metric fall short of it: d/d' over the pairs of labels at a distance.
struct MetricFit {
  double worst = 1.0;
  double mean = 1.0;
  int i = 0, j = 0;  // a pair with the worst ratio
};
MetricFit FitOf(const LabelCuts& cuts, const LabelMetric& metric);

// The metrics as certificates name them: where the cuts do not express them, also what d' is.
std::string MetricText(const LabelSpace& labels);

// d'(i,j) of the lengths `length` on `cuts`, by definition.
Matrix<double> CutDistance(const LabelCuts& cuts, std::span<const double> length);

// Throws InvalidInput unless 2 <= num_labels <= 1024.
inline constexpr int kMaxLabels = 1024;
void CheckLabelCount(int num_labels);

}  // namespace submarine
