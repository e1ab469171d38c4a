#include "submarine/bound/constant_labeling.h"

#include "submarine/base/parallel.h"
#include "submarine/base/safe_sum.h"
#include "submarine/bound/bound_internal.h"

namespace submarine::internal {

ConstantLabeling BestConstantLabeling(const DenseCrf& model) {
  constexpr std::size_t kGrain = 4096;
  const Matrix<float>& unary = model.unary();
  const std::size_t chunks = (unary.rows() + kGrain - 1) / kGrain;
  Matrix<SafeSum> parts(chunks, unary.cols());
  ParallelFor(unary.rows(), kGrain, [&](std::size_t begin, std::size_t end) {
    const auto sums = parts.row(begin / kGrain);
    for (std::size_t a = begin; a < end; ++a) {
      for (std::size_t i = 0; i < unary.cols(); ++i) sums[i].Add(unary(a, i));
    }
  });
  int best = 0;
  double least = 0.0;
  for (std::size_t i = 0; i < unary.cols(); ++i) {
    SafeSum energy;
    energy.Add(model.constant());
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) energy.Add(parts(chunk, i));
    if (i == 0 || energy.Above() < least) {
      best = static_cast<int>(i);
      least = energy.Above();
    }
  }
  return {best, BoundMaker::Verified(least)};
}

}  // namespace submarine::internal
