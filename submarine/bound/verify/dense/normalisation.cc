#include "submarine/bound/verify/dense/normalisation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/bound/verify/dense/scale_verifier.h"
#include "submarine/filter/kernel/row_sums.h"

namespace submarine::internal {
namespace {

// Up to this many variables all pairs are added up, which takes a fraction of a second.
constexpr std::size_t kSmall = 4096;
// Seconds per pair to sum and to verify, on two cores.
constexpr double kSecondsPerPair = 8e-9;
// The part of the time that the sums take, for progress reports.
constexpr double kShareOfSums = 0.4;

bool IsWaiting(const GaussianKernel& kernel) {
  return kernel.weight > 0.0 && kernel.normalisation != KernelNormalisation::kNone &&
         kernel.scale.empty();
}

// The sums and their verification get half of the tolerance each.
double ToleranceFor(const GaussianKernel& kernel, const NormalisationOptions& options) {
  return kernel.size() <= kSmall ? 0.0 : 0.5 * options.tolerance;
}

bool ChoosesExact(const std::vector<GaussianKernel>& kernels, const NormalisationOptions& options) {
  if (options.source != RowSumSource::kAuto) {
    return options.source == RowSumSource::kExact ||
           options.pairs.kind == OperatorKind::kBruteForce;
  }
  double seconds = 0.0;
  for (const GaussianKernel& kernel : kernels) {
    if (!IsWaiting(kernel) || kernel.size() <= kSmall) continue;
    // Without any time, do not spend some on the estimate.
    if (options.max_seconds == 0.0) return false;
    seconds += kSecondsPerPair * EstimateRowSumPairs(kernel, ToleranceFor(kernel, options));
  }
  return seconds <= options.max_seconds;
}

template <class Sums>
std::vector<double> InverseRoots(const Sums& sums) {
  std::vector<double> scale(sums.size());
  std::transform(sums.begin(), sums.end(), scale.begin(),
                 [](double n) { return 1.0 / std::sqrt(n); });
  return scale;
}

void NormaliseExactly(const NormalisationOptions& options,
                      const std::function<bool(double)>& on_progress, GaussianKernel* kernel) {
  const double tolerance = ToleranceFor(*kernel, options);
  kernel->scale = InverseRoots(GaussianRowSums(
      *kernel, {tolerance, [&](double done) { return on_progress(kShareOfSums * done); }}));
  kernel->scale_error =
      VerifiedScaleError(*kernel, {tolerance, [&](double done) {
                                     return on_progress(kShareOfSums + (1.0 - kShareOfSums) * done);
                                   }});
  kernel->scale_source.clear();
}

void NormaliseByOperator(const OperatorOptions& pairs, GaussianKernel* kernel) {
  kernel->scale.clear();
  const KernelNormalisation normalisation =
      std::exchange(kernel->normalisation, KernelNormalisation::kNone);
  const WeightedKernel unscaled{kernel, 1.0};
  const ChosenOperator op = MakeOperator(kernel->size(), {&unscaled, 1}, {1, false}, pairs);
  kernel->scale = InverseRoots(op.op->RowSumsWithSelf());
  kernel->scale_error = 0.0;
  kernel->scale_source = op.op->Description();
  kernel->normalisation = normalisation;
}

}  // namespace

bool NeedsNormalisation(const DenseCrf& model) {
  return std::any_of(model.kernels().begin(), model.kernels().end(), IsWaiting);
}

bool NormalisesExactly(const DenseCrf& model, const NormalisationOptions& options) {
  return ChoosesExact(model.kernels(), options);
}

DenseCrf WithNormalisation(DenseCrf model, const NormalisationOptions& options) {
  if (!NeedsNormalisation(model)) return model;
  std::vector<GaussianKernel> kernels = model.kernels();
  bool exact = ChoosesExact(kernels, options);
  double finished = 0.0;
  const auto waiting =
      static_cast<double>(std::count_if(kernels.begin(), kernels.end(), IsWaiting));
  const auto on_progress = [&](double done) {
    const bool go_on = !options.on_progress || options.on_progress((finished + done) / waiting);
    return go_on || kernels.front().size() <= kSmall;  // which takes no time
  };
  for (GaussianKernel& kernel : kernels) {
    if (!IsWaiting(kernel)) continue;
    if (kernel.normalisation != KernelNormalisation::kSymmetric) CheckNormalised(kernel);
    if (exact) {
      try {
        NormaliseExactly(options, on_progress, &kernel);
      } catch (const Interrupted&) {
        exact = false;
      }
    }
    if (!exact) NormaliseByOperator(options.pairs, &kernel);
    finished += 1.0;
  }
  return std::move(model).WithKernels(std::move(kernels));
}

}  // namespace submarine::internal
