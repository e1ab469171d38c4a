// The lower bound of VerifiedAt about a model that is too large to be looked at at once: part by part (docs/math.md, "Blocks").
//
// Variables have an order, that of the whole's kernels, and a part is a range of them. Its share (VerifiedLowerShare) is of a
// window around it; what its pairs with variables outside of the window cost at most follows from boxes around the features of
// groups of consecutive variables, such as rows of a picture. One label for all variables, whose pairs cost nothing, is a lower
// bound beside that.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/base/safe_sum.h"
#include "submarine/bound/bound.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/model/dense_crf.h"

namespace submarine::internal {

struct VariableRange {
  std::size_t begin;
  std::size_t end;
};

class LowerOfParts {
 public:
  // The whole's kernels, which must outlive this, in groups of so many variables. Throws InvalidInput for kernels that are
  // not normalised and for groups of 0.
  LowerOfParts(std::span<const GaussianKernel> kernels, std::size_t group);

  // `window` is the whole's model restricted to the variables of `range`, with marginals of all of them, and `part` is in it.
  // Parts are added in order. Throws InvalidInput where one does not begin where the one before has ended, for a window
  // that does not hold it, and for one whose kernels are not the whole's; and what VerifiedLowerShare throws, after which the
  // same part may be added again.
  void Add(const VariableRange& part, const VariableRange& range, const DenseCrf& window,
           const Matrix<float>& marginals, const PairOptions& options);
  // The same at a labeling, in less time.
  void Add(const VariableRange& part, const VariableRange& range, const DenseCrf& window,
           const std::vector<int>& labeling, const PairOptions& options);
  // The same without a share, in no time: what is left then is one label for all.
  void Skip(const VariableRange& part, const VariableRange& range, const DenseCrf& window);

  // What pairs that leave windows may cost, and groups within them; infinite where a share was skipped.
  double loss() const { return loss_; }
  // Lower bounds on T log Z_T of the whole, whose constant is 0: at what was added, none where a share was skipped; and at the
  // best of the labelings with one label. Both throw InvalidInput unless parts cover all variables.
  std::optional<Bound> Sum() const;
  Bound OneLabel() const;

 private:
  // The range of every feature over some consecutive variables, and the sum of their factors.
  struct Group {
    VariableRange variables;
    std::vector<double> low;
    std::vector<double> high;
    double factors = 0.0;
  };
  Group GroupOf(const GaussianKernel& kernel, const VariableRange& variables) const;
  void CheckCovered() const;
  void Check(const VariableRange& part, const VariableRange& range, const DenseCrf& model) const;
  template <class Point>
  void AddAt(const VariableRange& part, const VariableRange& range, const DenseCrf& window,
             const Point& point, const PairOptions& options);
  void AddUnaries(const VariableRange& part, const VariableRange& range, const DenseCrf& model);
  // At least half of what pairs of a variable of the part and one that is not in `range` cost.
  double Beyond(const VariableRange& part, const VariableRange& range, const DenseCrf& model) const;

  std::span<const GaussianKernel> kernels_;
  std::size_t group_;
  std::vector<std::vector<Group>> groups_;  // per kernel
  std::size_t covered_ = 0;
  SafeSum sum_;
  std::vector<SafeSum> of_label_;  // unaries of all variables
  double loss_ = 0.0;
};

}  // namespace submarine::internal
