#include "submarine/solve/dense_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "submarine/base/error.h"

namespace submarine {
namespace {

// How many N x L and N x cuts matrices of single precision a method holds at its peak, the unaries not
// counted: the state of the solver, the best bound with its proof, the best dual point, and mean field's.
struct Held {
  double labels;
  double cuts;
};

Held MatricesOf(Method method) {
  switch (method) {
    case Method::kMeanField:
      return {4.0, 0.0};
    case Method::kQuadratic:
      return {7.0, 4.0};
    case Method::kFrankWolfe:
      return {8.0, 3.0};  // and the steps of its proof, which have a limit of their own
    default:
      return {12.0, 6.3};
  }
}

std::string BytesText(double bytes) {
  return bytes >= 1e9   ? fmt::format("{:.1f} GB", bytes / 1e9)
         : bytes >= 1e6 ? fmt::format("{:.0f} MB", bytes / 1e6)
                        : fmt::format("{:.0f} kB", bytes / 1e3);
}

}  // namespace

double DenseMemory::Peak() const { return model + std::max(pairs + matrices, verifier); }

DenseMemory EstimateDenseMemory(const DenseSize& size, std::span<const WeightedKernel> kernels,
                                Method method, double pair_bytes, bool lists) {
  const double variables = size.variables;
  const double row = 4.0 * size.labels;
  double features = 0.0;
  double corners = 0.0;
  for (const auto& [kernel, factor] : kernels) {
    features += 8.0 * static_cast<double>(kernel->dimension()) + 24.0;
    corners += static_cast<double>(kernel->dimension() + 1);
  }
  const Held held = MatricesOf(method);
  const double active = size.cuts;
  DenseMemory memory;
  memory.model = variables * (row + features);
  // With a list comes a sample of 96 neighbours of a variable, and what building it takes.
  constexpr double kBytesBesideList = 1050.0;
  // A lattice has a place and a weight for every corner of a variable's simplex, once in either order.
  constexpr double kBytesOfCorner = 24.0;
  memory.pairs = pair_bytes + variables * (lists ? kBytesBesideList : kBytesOfCorner * corners);
  memory.matrices = variables * (held.labels * row + held.cuts * 4.0 * active);
  // Sums per cut in double, a tree over the features, and the evidence.
  memory.verifier = variables * (8.0 * active + 4.0 * row + 200.0) + (lists ? 0.0 : pair_bytes);
  return memory;
}

void RequireMemory(const DenseMemory& memory, double max_bytes) {
  const double peak = memory.Peak();
  if (peak <= max_bytes) return;
  // Everything grows with the variables.
  const double shrink = std::ceil(std::sqrt(peak / max_bytes));
  throw TooLarge(fmt::format(
      "this needs about {} of memory, more than the limit of {}; 1/{:.0f} of the variables "
      "(stereo: "
      "--shrink {:.0f}), fewer labels, or --max-memory {:.2g} would fit",
      BytesText(peak), BytesText(max_bytes), shrink * shrink, shrink, 1.05 * peak / 1e9));
}

}  // namespace submarine
