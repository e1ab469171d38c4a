#include "submarine/evaluate/evaluate.h"

#include <utility>

#include "submarine/bound/verify/cliques/clique_verifier.h"
#include "submarine/bound/verify/dense/blocks/cut_pairs.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/bound/verify/dense/normalisation.h"
#include "submarine/bound/verify/sparse/verifier.h"

namespace submarine {
namespace {

internal::PairOptions OptionsFor(double temperature, double tolerance) {
  internal::PairOptions options;
  options.temperature = temperature;
  options.far_tolerance = tolerance;
  return options;
}

}  // namespace

Bound EnergyBound(const SparseCrf& model, const std::vector<int>& labeling) {
  return internal::VerifiedEnergy(model, labeling);
}

Bound EnergyBound(const FactorGraph& graph, const std::vector<int>& labeling) {
  return internal::VerifiedEnergy(graph, labeling);
}

Bound EnergyBound(const DenseCrf& model, const std::vector<int>& labeling, double tolerance) {
  if (internal::NeedsNormalisation(model))
    return EnergyBound(WithExactNormalisation(model), labeling, tolerance);
  return internal::VerifiedEnergy(model, labeling, OptionsFor(1.0, tolerance));
}

Bound LowerBoundAt(const SparseCrf& model, const Matrix<double>& marginals, double temperature) {
  return internal::VerifiedLower(model, marginals, temperature);
}

DenseLowerBound LowerBoundAt(const DenseCrf& model, const Matrix<float>& marginals,
                             double temperature, double tolerance) {
  if (internal::NeedsNormalisation(model))
    return LowerBoundAt(WithExactNormalisation(model), marginals, temperature, tolerance);
  const internal::VerifiedPoint point = internal::VerifiedAt(
      model, marginals, OptionsFor(temperature, tolerance), internal::VerifiedValues::kLower);
  return {point.lower, point.loss};
}

Bound LowerBoundAt(const CliqueCrf<SparseCrf>& model, const Matrix<double>& marginals,
                   double temperature) {
  const Bound of_pairs = LowerBoundAt(model.pairs(), marginals, temperature);
  return internal::LowerFrom(model, model.pairs(), of_pairs, marginals);
}

DenseLowerBound LowerBoundAt(const CliqueCrf<DenseCrf>& model, const Matrix<float>& marginals,
                             double temperature, double tolerance) {
  const DenseLowerBound of_pairs = LowerBoundAt(model.pairs(), marginals, temperature, tolerance);
  return {internal::LowerFrom(model, model.pairs(), of_pairs.lower, marginals), of_pairs.loss};
}

DenseLowerShare LowerShareAt(const DenseCrf& model, const Matrix<float>& marginals,
                             std::span<const unsigned char> own, double temperature,
                             double tolerance) {
  const internal::VerifiedShare share =
      internal::VerifiedLowerShare(model, marginals, own, OptionsFor(temperature, tolerance));
  return {share.lower, share.loss};
}

DenseCutPairs CutPairsAt(const DenseCrf& model, const Matrix<float>& potentials,
                         std::span<const unsigned char> own, std::span<const double> cutoffs) {
  internal::CutPairSums found = internal::SumCutPairs(model, potentials, own, cutoffs);
  return {std::move(found.sums), std::move(found.weights), std::move(found.errors)};
}

DenseCrf WithExactNormalisation(DenseCrf model) {
  return internal::WithNormalisation(std::move(model), {.source = internal::RowSumSource::kExact});
}

}  // namespace submarine
