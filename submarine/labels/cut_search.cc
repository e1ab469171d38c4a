#include "submarine/labels/cut_search.h"

#include <algorithm>
#include <bit>
#include <random>
#include <unordered_set>

namespace submarine::internal {
namespace {

constexpr int kExhaustiveLabels = 12;

CutMask AllLabels(int num_labels) {
  return num_labels == kMaxMaskLabels ? ~CutMask{0} : (CutMask{1} << num_labels) - 1;
}

struct PricedCut {
  double value;
  CutMask cut;
};

// A set of labels together with what flipping each label would add to its value.
class FlippingSet {
 public:
  FlippingSet(const CutValue& value, CutMask cut)
      : value_(value), cut_(cut), size_(std::popcount(cut)), flip_(value.pair.rows()) {
    for (std::size_t i = 0; i < flip_.size(); ++i) {
      for (std::size_t j = 0; j < flip_.size(); ++j) {
        if (j != i) flip_[i] += SameSide(i, j) ? value_.pair(i, j) : -value_.pair(i, j);
      }
    }
  }

  CutMask cut() const { return cut_; }

  double Gain(std::size_t i) const {
    const int next = size_ + (Contains(i) ? -1 : 1);
    return flip_[i] + value_.size[next] - value_.size[size_];
  }

  void Flip(std::size_t i) {
    size_ += Contains(i) ? -1 : 1;
    cut_ ^= CutMask{1} << i;
    flip_[i] = -flip_[i];
    for (std::size_t j = 0; j < flip_.size(); ++j) {
      if (j != i) flip_[j] += SameSide(i, j) ? 2 * value_.pair(i, j) : -2 * value_.pair(i, j);
    }
  }

  // Every flip gains more than rounding can take back; the limit guards against extreme values.
  void Climb(double least_gain) {
    for (std::size_t step = 0; step < 16 * flip_.size(); ++step) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < flip_.size(); ++i) {
        if (Gain(i) > Gain(best)) best = i;
      }
      if (Gain(best) <= least_gain) return;
      Flip(best);
    }
  }

 private:
  bool Contains(std::size_t i) const { return (cut_ >> i) & 1; }
  bool SameSide(std::size_t i, std::size_t j) const { return Contains(i) == Contains(j); }

  const CutValue& value_;
  CutMask cut_;
  int size_;
  std::vector<double> flip_;  // pair part of the gain
};

std::vector<PricedCut> EnumerateCuts(const CutValue& value, double threshold) {
  const int labels = value.num_labels();
  std::vector<PricedCut> found;
  // Gray code over all labels but the last, which stays outside: every cut once.
  FlippingSet set(value, 0);
  double current = value.size[0];
  for (CutMask step = 1; step < CutMask{1} << (labels - 1); ++step) {
    const auto label = static_cast<std::size_t>(std::countr_zero(step));
    current += set.Gain(label);
    set.Flip(label);
    if (current > threshold) found.push_back({current, CanonicalCut(set.cut(), labels)});
  }
  return found;
}

std::vector<PricedCut> ClimbToCuts(const CutValue& value, double threshold,
                                   std::span<const CutMask> starts) {
  const int labels = value.num_labels();
  std::vector<CutMask> from(starts.begin(), starts.end());
  for (int i = 0; i < labels; ++i) from.push_back(CutMask{1} << i);
  std::mt19937_64 random(static_cast<std::uint64_t>(labels));
  for (int k = 0; k < 2 * labels; ++k) from.push_back(random() & AllLabels(labels));

  std::vector<PricedCut> found;
  std::unordered_set<CutMask> seen{0};  // the empty cut separates nothing
  for (CutMask start : from) {
    FlippingSet set(value, start);
    set.Climb(threshold / 16);
    const CutMask cut = CanonicalCut(set.cut(), labels);
    if (!seen.insert(cut).second) continue;
    const double reached = value(cut);
    if (reached > threshold) found.push_back({reached, cut});
  }
  return found;
}

}  // namespace

CutMask CanonicalCut(CutMask cut, int num_labels) {
  const CutMask other = ~cut & AllLabels(num_labels);
  const int size = std::popcount(cut), other_size = std::popcount(other);
  if (size != other_size) return size < other_size ? cut : other;
  return cut & 1 ? other : cut;
}

std::vector<int> LabelsOf(CutMask cut) {
  std::vector<int> labels;
  for (; cut != 0; cut &= cut - 1) labels.push_back(std::countr_zero(cut));
  return labels;
}

double CutValue::operator()(CutMask cut) const {
  const std::vector<int> inside = LabelsOf(cut), outside = LabelsOf(~cut & AllLabels(num_labels()));
  double sum = size[inside.size()];
  for (int i : inside) {
    for (int j : outside) sum += pair(i, j);
  }
  return sum;
}

std::vector<CutMask> ValuableCuts(const CutValue& value, double threshold, std::size_t max_cuts,
                                  std::span<const CutMask> starts) {
  std::vector<PricedCut> found = value.num_labels() <= kExhaustiveLabels
                                     ? EnumerateCuts(value, threshold)
                                     : ClimbToCuts(value, threshold, starts);
  // The mask breaks ties, so the choice depends on the values only.
  std::sort(found.begin(), found.end(), [](const PricedCut& a, const PricedCut& b) {
    return a.value != b.value ? a.value > b.value : a.cut < b.cut;
  });
  found.resize(std::min(found.size(), max_cuts));
  std::vector<CutMask> cuts;
  for (const PricedCut& priced : found) cuts.push_back(priced.cut);
  return cuts;
}

}  // namespace submarine::internal
