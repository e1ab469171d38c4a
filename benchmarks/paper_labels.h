// The label metrics of the benchmarks over grids with 20 labels.
#pragma once

#include "submarine/labels/label_cuts.h"
#include "submarine/labels/label_tree.h"

namespace submarine::internal {

enum Metric { kPotts, kTree1, kTree2, kLinear, kTruncated };

inline LabelSpace LabelsOf(int metric) {
  switch (metric) {
    case kTree1:
      return LabelTree::Regular({5, 4}, {1.0, 0.5}).ToLabels();
    case kTree2:
      return LabelTree::Regular({2, 2, 5}, {1.0, 1.0, 0.5}).ToLabels();
    case kLinear:
      return LinearLabels(20);
    case kTruncated:
      return TruncatedLinearLabels(20, 5);
    default:
      return PottsLabels(20);
  }
}

}  // namespace submarine::internal
