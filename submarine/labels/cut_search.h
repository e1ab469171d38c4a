// Search for valuable cuts of a small label set: the pricing step of column generation in CutLp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"

namespace submarine::internal {

// Bit i is set when label i is in the set. S and its complement are the same cut; CanonicalCut
// picks the side with fewer labels, or the one without label 0 when both have equally many.
using CutMask = std::uint64_t;
inline constexpr int kMaxMaskLabels = 64;
CutMask CanonicalCut(CutMask cut, int num_labels);
std::vector<int> LabelsOf(CutMask cut);

// What a unit of length on cut S is worth: the sum of `pair` over the pairs it separates plus
// `size`[number of labels in S]. `pair` is symmetric; `size` has L + 1 entries, size[k] = size[L -
// k].
struct CutValue {
  Matrix<double> pair;
  std::vector<double> size;

  int num_labels() const { return static_cast<int>(pair.rows()); }
  double operator()(CutMask cut) const;
};

// Canonical cuts worth more than `threshold`, best first, at most `max_cuts`. Up to 12 labels all
// cuts are tried; beyond that local search flips one label at a time from every single label, from
// `starts` and from fixed pseudo-random sets, and may miss some.
std::vector<CutMask> ValuableCuts(const CutValue& value, double threshold, std::size_t max_cuts,
                                  std::span<const CutMask> starts);

}  // namespace submarine::internal
