#include "submarine/bound/verify/dense/operator_verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/safe_sum.h"
#include "submarine/bound/bound_internal.h"
#include "submarine/bound/temperature.h"
#include "submarine/bound/verify/dense/dense_verifier_internal.h"
#include "submarine/bound/verify/dense/operator_verifier_pairs.h"

namespace submarine::internal {
namespace {

using dense_verifier::ActiveCuts;
using dense_verifier::AddSoftMaximum;
using dense_verifier::BelowOf;
using dense_verifier::CheckProof;
using dense_verifier::kGrain;
using dense_verifier::LargestFactor;
using dense_verifier::LargestLabelLength;
using dense_verifier::LeastFactor;
using dense_verifier::NormaliseRow;
using dense_verifier::Progress;
using dense_verifier::UnaryPart;

OperatorPairs::Flows ActiveFlows(const DenseCrf& model, const FlowProof& proof) {
  OperatorPairs::Flows flows{proof, {}, ActiveCuts(model)};
  double sum = 0.0;
  for (const FlowTerm& term : proof) sum += term.share;
  for (const FlowTerm& term : proof) flows.share.push_back(term.share / std::max(1.0, sum));
  return flows;
}

Matrix<double> NormalisedRows(const Matrix<float>& marginals) {
  Matrix<double> y(marginals.rows(), marginals.cols());
  ParallelFor(y.rows(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) NormaliseRow(marginals, a, y.row(a).data());
  });
  return y;
}

// z_ac = y_a(S_c) for the active cuts.
Matrix<double> CutSums(const DenseCrf& model, const Matrix<float>& marginals,
                       const std::vector<std::size_t>& active) {
  Matrix<double> z(marginals.rows(), active.size(), 0.0);
  std::vector<double> y(marginals.cols());
  for (std::size_t a = 0; a < z.rows(); ++a) {
    NormaliseRow(marginals, a, y.data());
    for (std::size_t c = 0; c < active.size(); ++c) {
      for (const int i : model.labels().cuts->set(static_cast<int>(active[c]))) {
        z(a, c) += y[static_cast<std::size_t>(i)];
      }
    }
  }
  return z;
}

// Adds T log sum_i exp(-s'_i / T) of variable a, given the sums of its flows per cut.
void AddVariable(const DenseCrf& model, const std::vector<std::size_t>& active,
                 const OperatorPairs::FlowSums& flows, double label_length, double temperature,
                 std::size_t a, std::vector<double>* s, SafeSum* bound) {
  double largest = 0.0;
  for (std::size_t i = 0; i < s->size(); ++i) {
    (*s)[i] = model.unary()(a, i);
    largest = std::max(largest, std::abs((*s)[i]));
  }
  for (std::size_t c = 0; c < active.size(); ++c) {
    const double on_cut = model.metric().length[active[c]] * flows.sum(a, c);
    for (const int i : model.labels().cuts->set(static_cast<int>(active[c]))) {
      (*s)[static_cast<std::size_t>(i)] += on_cut;
    }
  }
  AddSoftMaximum(*s, temperature, largest, static_cast<double>(s->size() + active.size()), bound);
  bound->Widen(flows.ulps[a] * label_length);
}

}  // namespace

OperatorVerifier::OperatorVerifier(const DenseCrf& model, std::span<const OperatorKind> kinds,
                                   const OperatorOptions& options, double temperature)
    : model_(model), temperature_(temperature) {
  CheckTemperature(temperature);
  if (kinds.size() != model.kernels().size()) {
    throw InvalidInput(fmt::format("the operator has {} kernels, but the model has {}",
                                   kinds.size(), model.kernels().size()));
  }
  for (std::size_t m = 0; m < kinds.size(); ++m) {
    const GaussianKernel& kernel = model.kernels()[m];
    if (kernel.weight == 0.0) continue;
    CheckNormalised(kernel);
    const PairFactors factor{LeastFactor(model, kernel), LargestFactor(model, kernel)};
    switch (kinds[m]) {
      case OperatorKind::kBruteForce:
        parts_.push_back(MakeListedPairs(kernel, factor, 0.0));
        break;
      case OperatorKind::kNeighbourList:
        parts_.push_back(MakeListedPairs(kernel, factor, options.cutoff));
        break;
      case OperatorKind::kLattice:
        parts_.push_back(MakeLatticePairs(kernel, factor, options.lattice));
        break;
      case OperatorKind::kAuto:
        throw InvalidInput(
            fmt::format("the operator of kernel \"{}\" is auto, expected the one that was chosen",
                        kernel.name));
    }
  }
}

OperatorVerifier::~OperatorVerifier() = default;

Bound OperatorVerifier::Upper(const FlowProof& proof, const OnProgress& on_progress,
                              TiltedPlace tilted) const {
  CheckProof(model_, proof);
  const std::size_t n = model_.num_variables();
  const OperatorPairs::Flows flows = ActiveFlows(model_, proof);
  OperatorPairs::FlowSums sums{Matrix<double>(n, flows.active.size(), 0.0),
                               std::vector<double>(n, 0.0)};
  const PairOptions options{.on_progress = on_progress};
  Progress progress(options, parts_.size());
  for (const auto& part : parts_) {
    if (!proof.empty()) part->AddFlows(flows, progress, &sums);
    progress.NextPart();
  }
  const double label_length = LargestLabelLength(model_);
  const auto labels = static_cast<std::size_t>(model_.num_labels());
  FactorisedUpperMaker maker(n, labels, temperature_, tilted);
  std::vector<SafeSum> partial((n + kGrain - 1) / kGrain);
  ParallelFor(n, kGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<double> s(labels);
    for (std::size_t a = begin; a < end; ++a) {
      AddVariable(model_, flows.active, sums, label_length, temperature_, a, &s,
                  &partial[begin / kGrain]);
      maker.Set(a, s);
    }
  });
  SafeSum bound;
  bound.Add(-model_.constant());
  for (const SafeSum& part : partial) bound.Add(part);
  progress.Report(0.0);
  return maker.Finish(BoundMaker::Verified(bound.Above()));
}

std::optional<Bound> OperatorVerifier::FluctuationUpper(const Matrix<float>& marginals,
                                                        const OnProgress& on_progress,
                                                        TiltedPlace tilted) const {
  if (marginals.rows() != model_.num_variables() ||
      marginals.cols() != static_cast<std::size_t>(model_.num_labels()))
    throw InvalidInput("the marginals are of another shape than the unaries");
  const std::optional<double> distance = UniformDistance(model_.metric().distance);
  if (!(temperature_ > 0.0) || !distance || parts_.empty()) return std::nullopt;
  std::vector<SemidefinitePairs> parts;
  SemidefinitePairs all{.self = std::vector<double>(marginals.rows(), 0.0)};
  all.row_sums = all.self;
  for (const auto& part : parts_) {
    std::optional<SemidefinitePairs> pairs = part->Semidefinite();
    if (!pairs) return std::nullopt;
    for (std::size_t a = 0; a < all.self.size(); ++a) {
      all.self[a] += *distance * pairs->self[a];
      all.row_sums[a] += *distance * pairs->row_sums[a];
    }
    all.error = std::max(all.error, pairs->error);
    parts.push_back(*std::move(pairs));
  }
  all.error += 4.0 * dense_verifier::kUlp * static_cast<double>(parts.size() + 1);
  all.product = [&](const Matrix<double>& x) {
    Matrix<double> sum(x.rows(), x.cols(), 0.0);
    for (const SemidefinitePairs& part : parts) {
      const Matrix<double> product = part.product(x);
      for (std::size_t k = 0; k < sum.size(); ++k) sum.data()[k] += *distance * product.data()[k];
    }
    return sum;
  };
  const PairOptions options{.on_progress = on_progress};
  const Progress progress(options, 1);
  return internal::FluctuationUpper(
      model_, all, marginals, temperature_, [&](double done) { progress.Report(done); }, tilted);
}

Bound OperatorVerifier::Lower(const Matrix<float>& marginals, const OnProgress& on_progress) const {
  SafeSum lower = UnaryPart(model_, marginals, temperature_);
  const Matrix<double> y = NormalisedRows(marginals);
  const PairOptions options{.on_progress = on_progress};
  Progress progress(options, parts_.size());
  for (const auto& part : parts_) {
    lower.Subtract(part->Expected(y, model_.metric().distance, progress));
    progress.NextPart();
  }
  progress.Report(0.0);
  return BoundMaker::Verified(BelowOf(lower));
}

Bound OperatorVerifier::Dual(const Matrix<float>& marginals, const OnProgress& on_progress) const {
  SafeSum dual = UnaryPart(model_, marginals, temperature_);
  const std::vector<std::size_t> active = ActiveCuts(model_);
  const Matrix<double> z = CutSums(model_, marginals, active);
  std::vector<double> length;
  for (const std::size_t c : active) length.push_back(model_.metric().length[c]);
  const PairOptions options{.on_progress = on_progress};
  Progress progress(options, parts_.size());
  const double ulps = 2.0 * static_cast<double>(marginals.cols()) + 4.0;
  for (const auto& part : parts_) {
    dual.Subtract(part->Variation(z, length, ulps, progress));
    progress.NextPart();
  }
  progress.Report(0.0);
  return BoundMaker::Verified(BelowOf(dual));
}

Bound OperatorVerifier::Energy(const std::vector<int>& labeling,
                               const OnProgress& on_progress) const {
  return Negated(Lower(dense_verifier::CertainOf(model_, labeling), on_progress));
}

}  // namespace submarine::internal
