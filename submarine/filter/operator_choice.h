// From the kernels of a model to the operator that applies their weighted sum.
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

// What the operator will be used for most: kAuto chooses per kernel what is faster for it, by
// estimated time and within the memory allowed.
struct OperatorUse {
  std::size_t columns = 1;
  bool flows = true;  // ordered applications, which cost a lattice one filter per level
};

// sum of parts, each with a factor. No part at all is K = 0.
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
  std::optional<double> CutWeight(const std::vector<int>& labels) const override;
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
  bool exact = true;  // every kernel exactly, up to the cutoff: no lattice among the parts
  std::vector<OperatorKind> kinds = {};  // of the kernels given, in their order: never kAuto
};

// How each kernel is applied, never kAuto. `list_bytes` are what lists of the kernels, one each, would take; where
// the options leave no choice, they are not looked at.
std::vector<OperatorKind> ChooseKinds(std::span<const WeightedKernel> kernels,
                                      std::span<const double> list_bytes, const OperatorUse& use,
                                      const OperatorOptions& options);

// Kernels of factor 0 are dropped. `kinds`, if given, are what ChooseKinds has said. Throws TooLarge with the number
// when what was asked for does not fit, InvalidInput for invalid kernels.
ChosenOperator MakeOperator(std::size_t size, std::span<const WeightedKernel> kernels,
                            const OperatorUse& use, const OperatorOptions& options,
                            std::vector<OperatorKind> kinds = {});

// The list that all kernels of such an operator are in; null where it is made of anything else.
const NeighbourList* ListOf(const GaussianOperator& op);

}  // namespace submarine::internal
