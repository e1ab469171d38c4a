#include "submarine/solve/method/times.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace submarine::internal {
namespace {

// --- Dense models

// Per pair that is found, counted and stored in both directions; per variable.
constexpr double kListPairSeconds = 8e-8;
constexpr double kListVariableSeconds = 1.5e-6;
// Per pair and cut of a flow; per label of a variable in the prox and the bounds.
constexpr double kFlowSeconds = 2.5e-10;
constexpr double kProxSeconds = 1.5e-8;
// In the verifier of the upper bound: per pair and cut, per pair, per label of a variable; and in that of dual value, lower
// bound and energy together.
constexpr double kVerifyPairCutSeconds = 2.5e-10;
constexpr double kVerifyPairSeconds = 6e-9;
constexpr double kVerifyLabelSeconds = 3e-8;
constexpr double kPointPairCutSeconds = 1e-9;
constexpr double kPointPairSeconds = 1e-8;
constexpr double kPointLabelSeconds = 3e-8;
constexpr double kUnaryLabelSeconds = 1.5e-8;
constexpr double kCoarseSeconds = 0.1;
constexpr double kCoarseLabelSeconds = 3e-8;
constexpr double kCoarseVariableSeconds = 2e-6;
// Per variable, corner, level and cut of an ordered lattice filter; per variable when building it.
constexpr double kLatticeSeconds = 4e-10;
constexpr double kLatticeVariableSeconds = 2e-6;
constexpr double kRoutingPairSeconds = 2e-9;  // per ordered pair
// Iterations' worth of time to the first bound: a flow, then evaluating its labels and marginals.
constexpr double kFirstBound = 3.0;

// --- Sparse models

// Per byte that is used for the first time, which the system must find and clear. Between 0.2 and 4
// ns on one virtual machine, depending on the memory it has at hand.
constexpr double kNewMemorySeconds = 1.5e-9;
constexpr double kDouble = 8.0;
// Per entry of a flow; per label's marginal (upper, dual); per label in a cut's set.
constexpr double kFlowEntrySeconds = 4e-9;
constexpr double kUpperLabelSeconds = 7e-9;
constexpr double kDualLabelSeconds = 2.5e-8;
constexpr double kSetEntrySeconds = 6e-9;
constexpr double kRoundingLabelSeconds = 3e-9;
// Per pair of labels of an edge: in mean field's value, a forest's upper bound, and its dual value.
constexpr double kLowerPairSeconds = 4e-10;
constexpr double kForestPairSeconds = 7e-10;
constexpr double kExponentialPairSeconds = 3e-8;
constexpr double kDualPairSeconds = 4e-8;
constexpr double kTablePairSeconds = 4e-9;
// Per label in the first iteration of a method; per label of an edge in a sweep over forests.
constexpr double kStartLabelSeconds = 1.5e-8;
constexpr double kForestLabelSeconds = 2.5e-8;
constexpr double kIterationEntrySeconds = 2e-9;
constexpr double kIterationLabelSeconds = 1.5e-8;
constexpr double kFirstSweepSeconds = 0.2;  // of mean field, see MeanFieldOptions
constexpr double kTableEntrySeconds = 1e-8;
// The verifier of forests trusts sums of products down to 1e-200; the weight of an edge in half of
// the forests is doubled.
constexpr double kFarApart = 460.0 / 2.0;

}  // namespace

DenseSize SizeOf(std::size_t num_variables, const LabelSpace& labels) {
  double cuts = 0.0;
  for (const double length : labels.metrics.front().length) cuts += length > 0.0 ? 1.0 : 0.0;
  return {static_cast<double>(num_variables), static_cast<double>(labels.num_labels()), cuts, 0.0};
}

DenseSize SizeOf(const DenseCrf& model, double pairs) {
  DenseSize size = SizeOf(model.num_variables(), model.labels());
  size.pairs = pairs;
  return size;
}

double ListSeconds(const DenseSize& size) {
  return kListPairSeconds * size.pairs + kListVariableSeconds * size.variables;
}

double LatticeSeconds(const DenseSize& size) { return kLatticeVariableSeconds * size.variables; }

double IterationSeconds(const DenseSize& size) {
  return kFlowSeconds * size.pairs * size.cuts + kProxSeconds * size.variables * size.labels;
}

double UpperCertificateSeconds(const DenseSize& size) {
  return size.pairs * (kVerifyPairCutSeconds * size.cuts + kVerifyPairSeconds) +
         kVerifyLabelSeconds * size.variables * size.labels;
}

double CertificateSeconds(const DenseSize& size) {
  return UpperCertificateSeconds(size) +
         size.pairs * (kPointPairCutSeconds * size.cuts + kPointPairSeconds) +
         kPointLabelSeconds * size.variables * size.labels;
}

double CoarseCertificateSeconds(const DenseSize& size) {
  return kCoarseSeconds +
         size.variables * (kCoarseLabelSeconds * size.labels + kCoarseVariableSeconds);
}

double UnaryCertificateSeconds(const DenseSize& size) {
  return kUnaryLabelSeconds * size.variables * size.labels;
}

double LeastSeconds(const DenseSize& size) {
  return ListSeconds(size) + kFirstBound * IterationSeconds(size);
}

double IterationSecondsByLattice(const DenseSize& size, double corners, double levels) {
  return kLatticeSeconds * size.variables * corners * levels * size.cuts +
         kProxSeconds * size.variables * size.labels;
}

double LeastSecondsByLattice(const DenseSize& size, double corners, double levels) {
  return LatticeSeconds(size) + kFirstBound * IterationSecondsByLattice(size, corners, levels);
}

double RoutingPassSeconds(double variables) { return kRoutingPairSeconds * variables * variables; }

SparseSize SizeOf(const SparseCrf& model, double temperature) {
  SparseSize size{static_cast<double>(model.num_variables()),
                  static_cast<double>(model.num_labels()), static_cast<double>(model.num_edges()),
                  static_cast<double>(model.num_cuts()), 0.0};
  for (int c = 0; c < model.num_cuts(); ++c)
    size.in_cuts += static_cast<double>(model.labels().cuts->set(c).size());
  std::vector<double> farthest;
  for (const LabelMetric& metric : model.labels().metrics) {
    const Matrix<double>& d = metric.distance;
    farthest.push_back(*std::max_element(d.data(), d.data() + d.size()));
  }
  double largest = 0.0;
  for (const Edge& e : model.edges())
    largest = std::max(largest, e.weight * farthest[static_cast<std::size_t>(e.metric)]);
  size.far_apart = largest > kFarApart * temperature;
  return size;
}

SparseCostEstimate SparseCosts(const SparseSize& size) {
  const double marginals = size.variables * size.labels;
  const double flows = size.edges * size.cuts;
  const double label_pairs = size.edges * size.labels * size.labels;
  SparseCostEstimate costs;
  costs.flow_certificate = (kUpperLabelSeconds + kDualLabelSeconds) * marginals +
                           kFlowEntrySeconds * flows +
                           kSetEntrySeconds * (size.edges + 0.25 * size.variables) * size.in_cuts;
  costs.forest_certificate =
      (size.far_apart ? kExponentialPairSeconds : kForestPairSeconds) * label_pairs +
      kDualLabelSeconds * marginals;
  costs.lower_certificate = kLowerPairSeconds * label_pairs + kStartLabelSeconds * marginals;
  costs.forest_sweep = size.page_fault_factor * NewMemorySeconds(8.0 * kDouble * marginals) +
                       2.0 * kForestLabelSeconds * marginals +
                       kFlowEntrySeconds * size.edges * size.cuts;
  costs.forest_lower =
      kDualPairSeconds * std::min(size.edges, size.variables) * size.labels * size.labels +
      costs.lower_certificate;
  return costs;
}

double ForestCertificateSeconds(const SparseSize& size, int more_forests) {
  const double once = SparseCosts(size).forest_certificate;
  return once * (1.0 + more_forests * std::min(1.0, size.variables / std::max(1.0, size.edges)));
}

double TableCertificateSeconds(const FactorGraph& graph) {
  double entries = 0.0;
  for (const Factor& factor : graph.factors) entries += static_cast<double>(factor.energy.size());
  return kTablePairSeconds * entries;
}

double FirstBoundSeconds(const SparseDemand& demand, const SparseSize& size) {
  const double marginals = size.variables * size.labels;
  const double messages = 2.0 * size.edges * size.labels;
  const bool forests = demand.work == SparseWork::kForests;
  const double doubles = demand.marginals * marginals + demand.flows * size.edges * size.cuts +
                         (forests ? messages : 0.0);
  const double common = size.page_fault_factor * NewMemorySeconds(kDouble * doubles) +
                        kRoundingLabelSeconds * marginals;
  const double sweeps = demand.sweeps * kForestLabelSeconds * messages;
  const SparseCostEstimate costs = SparseCosts(size);
  switch (demand.work) {
    case SparseWork::kUnaries:
      return common + 2.0 * kUpperLabelSeconds * marginals;
    case SparseWork::kFlows:
      return common + kStartLabelSeconds * marginals + costs.flow_certificate;
    case SparseWork::kForests:
      return common + sweeps + costs.forest_certificate;
    case SparseWork::kMeanField:
      return common + kFirstSweepSeconds + 2.0 * kStartLabelSeconds * marginals +
             costs.lower_certificate;
  }
  return common;
}

double IterationSeconds(const SparseSize& size) {
  return kIterationEntrySeconds * size.edges * size.cuts +
         kIterationLabelSeconds * size.variables * size.labels;
}

double NewMemorySeconds(double bytes) { return kNewMemorySeconds * bytes; }

double EliminationSeconds(double table_entries) { return kTableEntrySeconds * table_entries; }

double Overrun(double limit) {
  constexpr double kShare = 0.1;
  constexpr double kFloor = 2.0;
  return std::max(kShare * limit, kFloor);
}

bool FitsTime(double seconds, double left) {
  const double from_now = std::max(0.0, left);
  return seconds <= from_now + Overrun(from_now);
}

}  // namespace submarine::internal
