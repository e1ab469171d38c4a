// Chooses the operator that applies the weighted sum of a model's kernels.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/filter/kernel/gaussian_operator.h"
#include "submarine/filter/kernel/operator_options.h"
#include "submarine/filter/list/neighbour_list.h"

namespace submarine::internal {

// What the operator will mostly be used for: kAuto chooses the faster one for each kernel, by
// estimated time and within the memory allowed.
struct OperatorUse {
  std::size_t columns = 1;
  bool flows = true;  // AddFlow, which costs a lattice one filter per level
};

// A weighted sum of operators. Without any part, K = 0.
class SumOperator final : public GaussianOperator {
 public:
  struct Part {
    double factor;
    std::unique_ptr<GaussianOperator> op;
  };
  SumOperator(std::size_t size, std::vector<Part> parts);

  std::size_t size() const override { return size_; }
  std::span<const Part> parts() const { return parts_; }
  void AddProduct(const Matrix<float>& x, float factor, Matrix<float>* out) const override;
  void AddFlow(const Matrix<float>& v, FlowShape shape, float factor,
               Matrix<float>* out) const override;
  std::vector<double> TotalVariation(const Matrix<float>& x) const override;
  std::optional<double> LabelCost(const std::vector<int>& labels,
                                  const Matrix<double>& distance) const override;
  std::vector<float> RowSumsWithSelf() const override;
  std::string Description() const override;
  std::unique_ptr<GaussianOperator> Sample(double neighbours) const override;
  std::size_t bytes() const override;

 private:
  std::size_t size_;
  std::vector<Part> parts_;
};

struct ChosenOperator {
  std::unique_ptr<GaussianOperator> op;
  bool exact = true;  // every kernel is exact up to the cutoff: no lattice among the parts
  std::vector<OperatorKind> kinds = {};  // one per kernel, never kAuto
};

// How each kernel is applied, never kAuto. `list_bytes` holds, per kernel, the memory of its
// neighbour list; it is not used where the options leave no choice.
std::vector<OperatorKind> ChooseKinds(std::span<const WeightedKernel> kernels,
                                      std::span<const double> list_bytes, const OperatorUse& use,
                                      const OperatorOptions& options);

// Kernels with factor 0 are dropped. `kinds`, if given, is the result of ChooseKinds. Throws
// TooLarge, stating the size, when the chosen operator does not fit, and InvalidInput for invalid
// kernels.
ChosenOperator MakeOperator(std::size_t size, std::span<const WeightedKernel> kernels,
                            const OperatorUse& use, const OperatorOptions& options,
                            std::vector<OperatorKind> kinds = {});

// The list, if the operator is one list of all kernels; otherwise null.
const NeighbourList* ListOf(const GaussianOperator& op);

}  // namespace submarine::internal
