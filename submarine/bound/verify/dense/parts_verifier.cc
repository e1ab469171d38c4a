#include "submarine/bound/verify/dense/parts_verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "submarine/base/error.h"
#include "submarine/bound/bound_internal.h"
#include "submarine/bound/verify/dense/dense_verifier_internal.h"

namespace submarine::internal {
namespace {

using dense_verifier::LargestFactor;

// Sums of terms >= 0, each off by some hundred ulps.
constexpr double kRounding = 1.0 + 1e-9;

// At least exp(-x / 2) of every pair of variables of the two boxes, as the exact features say.
template <class Box>
double LargestValue(const GaussianKernel& kernel, const Box& one, const Box& other) {
  double squared = 0.0;
  for (std::size_t d = 0; d < one.low.size(); ++d) {
    const double apart = std::max({0.0, one.low[d] - other.high[d], other.low[d] - one.high[d]});
    squared += apart * apart;
  }
  squared *= 1.0 - 1e-12;
  return std::exp(-0.5 * squared) * (1.0 + FeatureErrorOfValue(kernel) * (1.0 + squared));
}

double LargestDistance(const DenseCrf& model) {
  const Matrix<double>& distance = model.metric().distance;
  return *std::max_element(distance.data(), distance.data() + distance.size());
}

}  // namespace

LowerOfParts::LowerOfParts(std::span<const GaussianKernel> kernels, std::size_t group)
    : kernels_(kernels), group_(group) {
  if (kernels.empty() || group == 0)
    throw InvalidInput("there are no kernels, or groups of no variables, expected some of both");
  for (const GaussianKernel& kernel : kernels) {
    CheckNormalised(kernel);
    std::vector<Group>& groups = groups_.emplace_back();
    for (std::size_t a = 0; a < kernel.size(); a += group)
      groups.push_back(GroupOf(kernel, {a, std::min(a + group, kernel.size())}));
  }
}

LowerOfParts::Group LowerOfParts::GroupOf(const GaussianKernel& kernel,
                                          const VariableRange& variables) const {
  Group group{variables,
              std::vector<double>(kernel.dimension(), std::numeric_limits<double>::infinity()),
              std::vector<double>(kernel.dimension(), -std::numeric_limits<double>::infinity())};
  for (std::size_t a = variables.begin; a < variables.end; ++a) {
    group.factors += kernel.scale.empty() ? 1.0 : kernel.scale[a];
    for (std::size_t d = 0; d < kernel.dimension(); ++d) {
      group.low[d] = std::min(group.low[d], kernel.features(a, d));
      group.high[d] = std::max(group.high[d], kernel.features(a, d));
    }
  }
  return group;
}

void LowerOfParts::Check(const VariableRange& part, const VariableRange& range,
                         const DenseCrf& model) const {
  const std::size_t n = kernels_.front().size();
  if (part.begin != covered_ || part.end <= part.begin || part.end > n) {
    throw InvalidInput(fmt::format("a part is of the variables {} to {}, expected one from {} on",
                                   part.begin, part.end, covered_));
  }
  if (range.begin > part.begin || range.end < part.end || range.end > n ||
      model.num_variables() != range.end - range.begin || model.constant() != 0.0) {
    throw InvalidInput(
        fmt::format("the window of a part is of the variables {} to {} and its model of {}, "
                    "expected one around {} to {}, without a constant",
                    range.begin, range.end, model.num_variables(), part.begin, part.end));
  }
  bool same = model.kernels().size() == kernels_.size();
  for (std::size_t m = 0; m < kernels_.size() && same; ++m) {
    const GaussianKernel& whole = kernels_[m];
    const GaussianKernel& kernel = model.kernels()[m];
    same = kernel.weight == whole.weight && kernel.dimension() == whole.dimension() &&
           kernel.scale_error == whole.scale_error && kernel.feature_error == whole.feature_error &&
           kernel.scale.empty() == whole.scale.empty() &&
           std::equal(kernel.features.data(), kernel.features.data() + kernel.features.size(),
                      whole.features.row(range.begin).data()) &&
           (kernel.scale.empty() ||
            std::equal(kernel.scale.begin(), kernel.scale.end(),
                       whole.scale.begin() + static_cast<std::ptrdiff_t>(range.begin)));
  }
  if (!same) throw InvalidInput("the kernels of a part's window are not those of the whole");
}

double LowerOfParts::Beyond(const VariableRange& part, const VariableRange& range,
                            const DenseCrf& model) const {
  double cost = 0.0;
  for (std::size_t m = 0; m < kernels_.size(); ++m) {
    if (kernels_[m].weight == 0.0) continue;
    // Groups that borders of the ranges cut count by what is on this side.
    const auto within = [&](const Group& group, std::size_t begin, std::size_t end) {
      const VariableRange cut{std::max(begin, group.variables.begin),
                              std::min(end, group.variables.end)};
      const bool whole = cut.begin == group.variables.begin && cut.end == group.variables.end;
      return whole || cut.begin >= cut.end ? group : GroupOf(kernels_[m], cut);
    };
    std::vector<Group> outside;
    const std::size_t n = kernels_[m].size();
    for (const Group& group : groups_[m]) {
      if (group.variables.begin < range.begin) outside.push_back(within(group, 0, range.begin));
      if (group.variables.end > range.end) outside.push_back(within(group, range.end, n));
    }
    double sum = 0.0;
    for (const Group& group : groups_[m]) {
      if (group.variables.end <= part.begin || group.variables.begin >= part.end) continue;
      const Group own = within(group, part.begin, part.end);
      for (const Group& other : outside)
        sum += own.factors * other.factors * LargestValue(kernels_[m], own, other);
    }
    cost += LargestFactor(model, kernels_[m]) * sum;
  }
  return 0.5 * cost * LargestDistance(model) * kRounding;
}

template <class Point>
void LowerOfParts::AddAt(const VariableRange& part, const VariableRange& range,
                         const DenseCrf& window, const Point& point, const PairOptions& options) {
  Check(part, range, window);
  std::vector<unsigned char> own(window.num_variables(), 0);
  std::fill(own.begin() + static_cast<std::ptrdiff_t>(part.begin - range.begin),
            own.begin() + static_cast<std::ptrdiff_t>(part.end - range.begin), 1);
  const VerifiedShare share = VerifiedLowerShare(window, point, own, options);
  const double beyond = Beyond(part, range, window);
  sum_.Add(share.lower);
  sum_.Add(-beyond);
  loss_ += share.loss + beyond;
  AddUnaries(part, range, window);
}

void LowerOfParts::Add(const VariableRange& part, const VariableRange& range,
                       const DenseCrf& window, const Matrix<float>& marginals,
                       const PairOptions& options) {
  AddAt(part, range, window, marginals, options);
}

void LowerOfParts::Add(const VariableRange& part, const VariableRange& range,
                       const DenseCrf& window, const std::vector<int>& labeling,
                       const PairOptions& options) {
  AddAt(part, range, window, labeling, options);
}

void LowerOfParts::Skip(const VariableRange& part, const VariableRange& range,
                        const DenseCrf& window) {
  Check(part, range, window);
  AddUnaries(part, range, window);
  loss_ = std::numeric_limits<double>::infinity();
}

void LowerOfParts::AddUnaries(const VariableRange& part, const VariableRange& range,
                              const DenseCrf& model) {
  of_label_.resize(model.unary().cols());
  for (std::size_t a = part.begin; a < part.end; ++a) {
    const auto row = model.unary().row(a - range.begin);
    for (std::size_t l = 0; l < row.size(); ++l) of_label_[l].Add(row[l]);
  }
  covered_ = part.end;
}

void LowerOfParts::CheckCovered() const {
  if (covered_ != kernels_.front().size()) {
    throw InvalidInput(
        fmt::format("parts end at variable {}, expected {}", covered_, kernels_.front().size()));
  }
}

std::optional<Bound> LowerOfParts::Sum() const {
  CheckCovered();
  if (!std::isfinite(loss_)) return std::nullopt;
  return BoundMaker::Verified(dense_verifier::BelowOf(sum_));
}

Bound LowerOfParts::OneLabel() const {
  CheckCovered();
  double least = std::numeric_limits<double>::infinity();
  for (const SafeSum& energy : of_label_) least = std::min(least, energy.Above());
  return BoundMaker::Verified(-least);
}

}  // namespace submarine::internal
