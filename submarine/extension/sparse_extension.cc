#include "submarine/extension/sparse_extension.h"

#include <algorithm>
#include <cmath>

#include "submarine/base/parallel.h"
#include "submarine/base/simd/row_kernels.h"

namespace submarine::internal {
namespace {

// The share of phi_a(i) that the greedy vertex sends from i to i+1, given z_a on the leaves.
double GreedyShare(std::span<const double> z, std::size_t i, std::size_t labels) {
  const double next = z[(i + 1) % labels];
  return z[i] > next ? 1.0 : (z[i] < next ? 0.0 : 0.5);
}

}  // namespace

SparseExtension::SparseExtension(const SparseCrf& model, ExtensionKind kind)
    : model_(model), kind_(kind), offset_(model.constant()) {
  if (kind_ == ExtensionKind::kOptimal) return;
  shift_.resize(model.unary().rows());
  for (std::size_t a = 0; a < shift_.size(); ++a) {
    const auto phi = model.unary().row(a);
    shift_[a] = std::min(0.0, *std::min_element(phi.begin(), phi.end()));
    offset_ += shift_[a];
  }
}

double SparseExtension::Value(std::span<const char> in_set) const {
  const auto labels = static_cast<std::size_t>(model_.num_labels());
  const auto cuts = static_cast<std::size_t>(model_.num_cuts());
  double value = 0.0;
  for (std::size_t a = 0; a < model_.unary().rows(); ++a) {
    const char* in = in_set.data() + a * cuts;
    for (std::size_t i = 0; i < labels; ++i) {
      if (!in[i]) continue;
      if (kind_ == ExtensionKind::kOptimal) {
        value += model_.unary()(a, i);
      } else if (!in[(i + 1) % labels]) {
        value += model_.unary()(a, i) - shift_[a];
      }
    }
  }
  for (const Edge& e : model_.edges()) {
    const char* in_a = in_set.data() + static_cast<std::size_t>(e.a) * cuts;
    const char* in_b = in_set.data() + static_cast<std::size_t>(e.b) * cuts;
    const std::vector<double>& length = model_.metric(e).length;
    for (std::size_t c = 0; c < cuts; ++c) {
      if ((in_a[c] != 0) != (in_b[c] != 0)) value += e.weight * length[c];
    }
  }
  return value;
}

double SparseExtension::Lovasz(const Matrix<double>& z) const {
  const auto labels = static_cast<std::size_t>(model_.num_labels());
  const double unary = ParallelSum(z.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    double sum = 0.0;
    for (std::size_t a = begin; a < end; ++a) {
      const auto phi = model_.unary().row(a);
      if (kind_ == ExtensionKind::kOptimal) {
        sum += DotRow(phi.data(), z.row(a).data(), labels);
      } else {
        for (std::size_t i = 0; i < labels; ++i) {
          sum += (phi[i] - shift_[a]) * std::max(0.0, z(a, i) - z(a, (i + 1) % labels));
        }
      }
    }
    return sum;
  });
  const std::vector<Edge>& edges = model_.edges();
  const double pairwise =
      ParallelSum(edges.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
        double sum = 0.0;
        for (std::size_t k = begin; k < end; ++k) {
          const Edge& e = edges[k];
          sum += e.weight * TotalVariationRow(z.row(static_cast<std::size_t>(e.a)).data(),
                                              z.row(static_cast<std::size_t>(e.b)).data(),
                                              model_.metric(e).length.data(), z.cols());
        }
        return sum;
      });
  return unary + pairwise;
}

Flow SparseExtension::NeutralFlow() const {
  Flow flow{Matrix<double>(model_.num_edges(), static_cast<std::size_t>(model_.num_cuts())), {}};
  if (kind_ == ExtensionKind::kAlternate) {
    flow.cycle = Matrix<double>(model_.unary().rows(), model_.unary().cols(), 0.5);
  }
  return flow;
}

Flow SparseExtension::GreedyFlow(const Matrix<double>& z) const {
  Flow flow = NeutralFlow();
  BlendTowardsGreedy(z, 1.0, &flow);
  return flow;
}

Flow SparseExtension::PotentialFlow(const Matrix<double>& v) const {
  Flow flow = NeutralFlow();
  for (std::size_t k = 0; k < model_.num_edges(); ++k) {
    const Edge& e = model_.edges()[k];
    for (std::size_t c = 0; c < v.cols(); ++c) {
      const double difference =
          v(static_cast<std::size_t>(e.a), c) - v(static_cast<std::size_t>(e.b), c);
      flow.edge(k, c) = std::clamp(difference, -1.0, 1.0);
    }
  }
  return flow;
}

void SparseExtension::BlendTowardsGreedy(const Matrix<double>& z, double rate, Flow* flow) const {
  const std::vector<Edge>& edges = model_.edges();
  ParallelFor(edges.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      BlendFlowRow(z.row(static_cast<std::size_t>(edges[k].a)).data(),
                   z.row(static_cast<std::size_t>(edges[k].b)).data(), rate, z.cols(),
                   flow->edge.row(k).data());
    }
  });
  if (kind_ == ExtensionKind::kOptimal) return;
  ParallelFor(z.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      for (std::size_t i = 0; i < flow->cycle.cols(); ++i) {
        double& share = flow->cycle(a, i);
        share += rate * (GreedyShare(z.row(a), i, flow->cycle.cols()) - share);
      }
    }
  });
}

// The unary part of s_(a,i): phi_i itself, or what leaves i on the cycle minus what arrives from
// i-1.
void SparseExtension::AddUnaryModularRow(std::span<const double> cycle, std::size_t a,
                                         double* s) const {
  const auto phi = model_.unary().row(static_cast<std::size_t>(a));
  const std::size_t labels = phi.size();
  if (kind_ == ExtensionKind::kOptimal) {
    for (std::size_t i = 0; i < labels; ++i) s[i] += phi[i];
    return;
  }
  const double shift = shift_[static_cast<std::size_t>(a)];
  for (std::size_t i = 0; i < labels; ++i) {
    const double sent = cycle[i] * (phi[i] - shift);
    s[i] += sent;
    s[(i + 1) % labels] -= sent;
  }
}

void SparseExtension::ModularRow(const Flow& flow, std::size_t a, double* s) const {
  const auto cuts = static_cast<std::size_t>(model_.num_cuts());
  std::fill(s, s + cuts, 0.0);
  AddUnaryModularRow(kind_ == ExtensionKind::kAlternate
                         ? flow.cycle.row(static_cast<std::size_t>(a))
                         : std::span<const double>(),
                     a, s);
  for (const Incidence& at : model_.incident(a)) {
    const Edge& e = model_.edges()[at.edge];
    AccumulateFlowRow(flow.edge.row(at.edge).data(), model_.metric(e).length.data(),
                      at.sign * e.weight, cuts, s);
  }
}

Matrix<double> SparseExtension::Modular(const Flow& flow) const {
  Matrix<double> s(model_.unary().rows(), static_cast<std::size_t>(model_.num_cuts()));
  for (std::size_t a = 0; a < model_.num_variables(); ++a)
    ModularRow(flow, a, s.row(static_cast<std::size_t>(a)).data());
  return s;
}

void SparseExtension::LabelModularRow(const Flow& flow, std::size_t a, std::span<double> scratch,
                                      std::span<double> s_label) const {
  ModularRow(flow, a, scratch.data());
  model_.labels().cuts->SumOverLabels(scratch, s_label);
}

void SparseExtension::LabelModular(const Flow& flow, Matrix<double>* s_label) const {
  ParallelFor(s_label->rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<double> scratch(static_cast<std::size_t>(model_.num_cuts()));
    for (std::size_t a = begin; a < end; ++a) {
      LabelModularRow(flow, static_cast<int>(a), scratch, s_label->row(a));
    }
  });
}

void SparseExtension::GreedyLabelModular(const Matrix<double>& z, Matrix<double>* s_label) const {
  const auto cuts = static_cast<std::size_t>(model_.num_cuts());
  const std::vector<Edge>& edges = model_.edges();
  ParallelFor(z.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<double> scratch(cuts);
    std::vector<double> cycle(kind_ == ExtensionKind::kAlternate ? s_label->cols() : 0);
    for (std::size_t a = begin; a < end; ++a) {
      std::fill(scratch.begin(), scratch.end(), 0.0);
      for (std::size_t i = 0; i < cycle.size(); ++i)
        cycle[i] = GreedyShare(z.row(a), i, cycle.size());
      AddUnaryModularRow(cycle, static_cast<int>(a), scratch.data());
      for (const Incidence& at : model_.incident(static_cast<int>(a))) {
        const Edge& e = edges[at.edge];
        const auto b = static_cast<std::size_t>(at.sign > 0 ? e.b : e.a);
        AccumulateSignRow(z.row(a).data(), z.row(b).data(), model_.metric(e).length.data(),
                          e.weight, cuts, scratch.data());
      }
      model_.labels().cuts->SumOverLabels(scratch, s_label->row(a));
    }
  });
}

void SparseExtension::VertexAt(const Matrix<double>& y, Matrix<double>* s_label) const {
  Matrix<double> storage;
  GreedyLabelModular(CutSums(model_, y, &storage), s_label);
}

void SparseExtension::MoveTowardsVertex(const Matrix<double>& y, double rate, Flow* flow) const {
  Matrix<double> storage;
  BlendTowardsGreedy(CutSums(model_, y, &storage), rate, flow);
}

double SparseExtension::LovaszAt(const Matrix<double>& y) const {
  Matrix<double> storage;
  return Lovasz(CutSums(model_, y, &storage));
}

double SparseExtension::Energy(const std::vector<int>& labels) const {
  Matrix<double> y(num_variables(), num_labels());
  for (std::size_t a = 0; a < labels.size(); ++a) y(a, static_cast<std::size_t>(labels[a])) = 1.0;
  return LovaszAt(y) + offset_;
}

const Matrix<double>& CutSums(const SparseCrf& model, const Matrix<double>& y,
                              Matrix<double>* storage) {
  const LabelCuts& cuts = *model.labels().cuts;
  if (cuts.leaves_only()) return y;
  const auto num_cuts = static_cast<std::size_t>(cuts.num_cuts());
  if (storage->rows() != y.rows() || storage->cols() != num_cuts)
    *storage = Matrix<double>(y.rows(), num_cuts);
  ParallelFor(y.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) cuts.SumOverCuts(y.row(a), storage->row(a));
  });
  return *storage;
}

}  // namespace submarine::internal
