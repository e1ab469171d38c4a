#include "submarine/filter/operator_choice.h"

#include <fmt/format.h>

#include <utility>

#include "submarine/base/error.h"
#include "submarine/filter/kernel/brute_force.h"
#include "submarine/filter/lattice/lattice.h"

namespace submarine::internal {
namespace {

// Measured on one core with AVX2 (benchmarks/lattice_filter, benchmarks/dense_solvers): nanoseconds
// per stored pair and column, and per variable, simplex corner and column of one lattice filter.
constexpr double kListNanoseconds = 0.12;
constexpr double kLatticeNanoseconds = 0.6;
constexpr double kListBytesPerEntry = 8.0;
// A list has the true weights, and flows without levels converge in fewer iterations: it is the
// better choice even if it takes this many times as long as a lattice.
constexpr double kPriceOfTruth = 8.0;

bool PrefersList(const WeightedKernel& kernel, double list_bytes, const OperatorUse& use,
                 const OperatorOptions& options) {
  const double entries = list_bytes / kListBytesPerEntry;
  const double filters = use.flows ? options.lattice.levels - 1.0 : 1.0;
  const double corners = static_cast<double>(kernel.kernel->dimension() + 1) *
                         static_cast<double>(kernel.kernel->size());
  return kListNanoseconds * entries <= kPriceOfTruth * kLatticeNanoseconds * corners * filters;
}

}  // namespace

SumOperator::SumOperator(std::size_t size, std::vector<Part> parts)
    : size_(size), parts_(std::move(parts)) {
  for (const Part& part : parts_) {
    if (part.op->size() != size_) {
      throw InvalidInput(
          fmt::format("an operator has {} variables, but the sum has {}", part.op->size(), size_));
    }
  }
}

void SumOperator::AddProduct(const Matrix<float>& x, float factor, Matrix<float>* out) const {
  for (const Part& part : parts_)
    part.op->AddProduct(x, factor * static_cast<float>(part.factor), out);
}

void SumOperator::AddFlow(const Matrix<float>& v, FlowShape shape, float factor,
                          Matrix<float>* out) const {
  for (const Part& part : parts_)
    part.op->AddFlow(v, shape, factor * static_cast<float>(part.factor), out);
}

std::vector<double> SumOperator::TotalVariation(const Matrix<float>& x) const {
  std::vector<double> total(x.cols(), 0.0);
  for (const Part& part : parts_) {
    const std::vector<double> variation = part.op->TotalVariation(x);
    for (std::size_t c = 0; c < total.size(); ++c) total[c] += part.factor * variation[c];
  }
  return total;
}

std::optional<double> SumOperator::LabelCost(const std::vector<int>& labels,
                                             const Matrix<double>& distance) const {
  double total = 0.0;
  for (const Part& part : parts_) {
    const std::optional<double> cost = part.op->LabelCost(labels, distance);
    if (!cost) return std::nullopt;
    total += part.factor * *cost;
  }
  return total;
}

std::vector<float> SumOperator::RowSumsWithSelf() const {
  std::vector<float> sums(size_, 0.0F);
  for (const Part& part : parts_) {
    const std::vector<float> of_part = part.op->RowSumsWithSelf();
    for (std::size_t a = 0; a < size_; ++a) sums[a] += static_cast<float>(part.factor) * of_part[a];
  }
  return sums;
}

std::string SumOperator::Description() const {
  std::string text;
  for (const Part& part : parts_) text += (text.empty() ? "" : "; ") + part.op->Description();
  return text.empty() ? "no pairs" : text;
}

std::unique_ptr<GaussianOperator> SumOperator::Sample(double neighbours) const {
  std::vector<Part> parts;
  for (const Part& part : parts_) {
    parts.push_back({part.factor, part.op->Sample(neighbours)});
    if (parts.back().op == nullptr) return nullptr;
  }
  return parts.empty() ? nullptr : std::make_unique<SumOperator>(size_, std::move(parts));
}

std::size_t SumOperator::bytes() const {
  std::size_t bytes = 0;
  for (const Part& part : parts_) bytes += part.op->bytes();
  return bytes;
}

std::vector<OperatorKind> ChooseKinds(std::span<const WeightedKernel> kernels,
                                      std::span<const double> list_bytes, const OperatorUse& use,
                                      const OperatorOptions& options) {
  if (options.kind != OperatorKind::kAuto)
    return std::vector<OperatorKind>(kernels.size(), options.kind);
  std::vector<OperatorKind> kinds(kernels.size(), OperatorKind::kNeighbourList);
  double bytes = 0.0;
  for (std::size_t m = 0; m < kernels.size(); ++m) {
    if (kernels[m].factor == 0.0) continue;
    const bool fits = bytes + list_bytes[m] <= static_cast<double>(options.max_bytes);
    if (fits && PrefersList(kernels[m], list_bytes[m], use, options)) {
      bytes += list_bytes[m];
    } else {
      kinds[m] = OperatorKind::kLattice;
    }
  }
  return kinds;
}

ChosenOperator MakeOperator(std::size_t size, std::span<const WeightedKernel> kernels,
                            const OperatorUse& use, const OperatorOptions& options,
                            std::vector<OperatorKind> kinds) {
  std::vector<double> list_bytes(kernels.size(), 0.0);
  for (std::size_t m = 0; m < kernels.size(); ++m) {
    CheckKernel(*kernels[m].kernel);
    CheckNormalised(*kernels[m].kernel);
    if (kinds.empty() && options.kind == OperatorKind::kAuto && kernels[m].factor != 0.0)
      list_bytes[m] = NeighbourList::EstimateBytes({&kernels[m], 1}, options.cutoff);
  }
  if (kinds.empty()) kinds = ChooseKinds(kernels, list_bytes, use, options);
  std::vector<WeightedKernel> listed;
  std::vector<WeightedKernel> latticed;
  std::vector<WeightedKernel> brute;
  for (std::size_t m = 0; m < kernels.size(); ++m) {
    if (kernels[m].factor == 0.0) continue;
    (kinds[m] == OperatorKind::kBruteForce ? brute
     : kinds[m] == OperatorKind::kLattice  ? latticed
                                           : listed)
        .push_back(kernels[m]);
  }

  std::vector<SumOperator::Part> parts;
  if (!brute.empty()) parts.push_back({1.0, std::make_unique<BruteForceOperator>(brute)});
  if (!listed.empty()) {
    parts.push_back({1.0, std::make_unique<NeighbourList>(
                              listed, NeighbourListOptions{options.cutoff, options.max_bytes,
                                                           options.on_progress})});
  }
  for (const WeightedKernel& kernel : latticed) {
    LatticeOptions lattice = options.lattice;
    lattice.max_bytes = options.max_bytes;
    parts.push_back({kernel.factor, std::make_unique<LatticeOperator>(*kernel.kernel, lattice)});
  }
  return {std::make_unique<SumOperator>(size, std::move(parts)), latticed.empty(),
          std::move(kinds)};
}

const NeighbourList* ListOf(const GaussianOperator& op) {
  const auto* sum = dynamic_cast<const SumOperator*>(&op);
  if (sum == nullptr || sum->parts().size() != 1) return nullptr;
  return dynamic_cast<const NeighbourList*>(sum->parts().front().op.get());
}

}  // namespace submarine::internal
