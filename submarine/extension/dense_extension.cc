#include "submarine/extension/dense_extension.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/loop_interrupt.h"
#include "submarine/base/parallel.h"
#include "submarine/extension/simplex_kernels.h"

namespace submarine::internal {
DenseExtension::DenseExtension(const DenseCrf& model, const GaussianOperator& pairs,
                               std::function<bool()> interrupted)
    : model_(model), pairs_(pairs), interrupted_(std::move(interrupted)), degrees_(Degrees(pairs)) {
  if (pairs.size() != model.num_variables()) {
    throw InvalidInput(fmt::format("the operator has {} variables, but the model has {}",
                                   pairs.size(), model.num_variables()));
  }
  self_weights_ = SelfTerms(PairWeights(model));
  self_weights_.resize(num_variables(), 0.0F);  // a model may have no kernels
  const LabelCuts& cuts = *model.labels().cuts;
  const std::vector<double>& length = model.metric().length;
  std::vector<double> pull(num_labels(), 0.0);
  std::vector<double> quadratic_pull(num_labels(), 0.0);
  for (int c = 0; c < cuts.num_cuts(); ++c) {
    const double l = length[static_cast<std::size_t>(c)];
    if (l == 0.0) continue;
    active_.push_back(c);
    length_.push_back(static_cast<float>(l));
    // A cut and its complement are the same cut: the smaller side counts.
    const std::size_t inside = cuts.set(c).size();
    const std::size_t smaller = std::max<std::size_t>(1, std::min(inside, num_labels() - inside));
    mobility_.push_back(1.0F / static_cast<float>(smaller));
    for (std::size_t i = 0; i < num_labels(); ++i) {
      if (cuts.contains(c, static_cast<int>(i)) != (inside <= num_labels() - inside)) continue;
      pull[i] += l;
      quadratic_pull[i] += l * static_cast<double>(smaller);
    }
  }
  reach_ = *std::max_element(pull.begin(), pull.end());
  quadratic_reach_ = *std::max_element(quadratic_pull.begin(), quadratic_pull.end());
  plain_ = PottsFactor(model.labels()) > 0.0F;
  if (!plain_) FindExceptional();
}

void DenseExtension::FindExceptional() {
  const Matrix<double>& distance = model_.metric().distance;
  std::vector<double> values(distance.data(), distance.data() + distance.size());
  std::sort(values.begin(), values.end());
  std::size_t most = 0;
  for (std::size_t first = 0, end = 0; first < values.size(); first = end) {
    while (end < values.size() && values[end] == values[first]) ++end;
    if (end - first <= most) continue;
    most = end - first;
    common_ = values[first];
  }
  exceptional_begin_.assign(1, 0);
  for (std::size_t i = 0; i < distance.rows(); ++i) {
    for (std::size_t j = 0; j < distance.cols(); ++j) {
      if (distance(i, j) != common_) exceptional_.push_back({j, distance(i, j) - common_});
    }
    exceptional_begin_.push_back(exceptional_.size());
  }
  // Lists cost more than plain loops.
  nearly_potts_ = 4 * exceptional_.size() <= distance.size() + 4 * distance.rows();
  if (!nearly_potts_) exceptional_.clear();
}

Matrix<float>* DenseExtension::Scratch(std::size_t cols) const {
  if (scratch_.rows() != num_variables() || scratch_.cols() != cols) {
    scratch_ = {};  // before new memory is taken
    scratch_ = Matrix<float>::Unset(num_variables(), cols);
  }
  return &scratch_;
}

Matrix<float>* DenseExtension::ZeroScratch(std::size_t cols) const {
  Matrix<float>* scratch = Scratch(cols);
  ParallelFor(scratch->rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    std::fill(scratch->data() + begin * cols, scratch->data() + end * cols, 0.0F);
  });
  return scratch;
}

const Matrix<double>& DenseExtension::CutDistances() const {
  if (cut_distances_.size() == 0)
    cut_distances_ = CutDistance(*model_.labels().cuts, model_.metric().length);
  return cut_distances_;
}

template <class Take>
void DenseExtension::SumActive(std::span<const float> y, const Take& take) const {
  thread_local std::vector<double> sums;
  sums.resize(static_cast<std::size_t>(model_.num_cuts()));
  std::copy(y.begin(), y.end(), sums.begin());
  model_.labels().cuts->SumOverCuts({sums.data(), y.size()}, sums);
  for (std::size_t c = 0; c < active_.size(); ++c)
    take(c, static_cast<float>(sums[static_cast<std::size_t>(active_[c])]));
}

void DenseExtension::StepPotentials(std::span<const float> y, float step,
                                    std::span<float> v) const {
  if (plain_) {
    for (std::size_t i = 0; i < v.size(); ++i) v[i] += step * y[i];
    return;
  }
  SumActive(y, [&](std::size_t c, float sum) { v[c] += step * mobility_[c] * sum; });
}

void DenseExtension::CutSums(const Matrix<float>& y, Matrix<float>* z) const {
  ParallelFor(y.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a)
      SumActive(y.row(a), [&](std::size_t c, float sum) { (*z)(a, c) = sum; });
  });
}

Matrix<float> DenseExtension::CutSums(const Matrix<float>& y) const {
  if (plain_) return y;
  Matrix<float> z = Matrix<float>::Unset(y.rows(), num_active());
  CutSums(y, &z);
  return z;
}

void DenseExtension::AddFlow(const Matrix<float>& v, FlowShape shape, float factor,
                             Matrix<float>* out) const {
  const LoopInterrupt scope(interrupted_);
  pairs_.AddFlow(v, shape, factor, out);
}

void DenseExtension::AddProduct(const Matrix<float>& x, float factor, Matrix<float>* out) const {
  const LoopInterrupt scope(interrupted_);
  pairs_.AddProduct(x, factor, out);
}

void DenseExtension::AddToLabels(const Matrix<float>& f, Matrix<float>* s) const {
  const LabelCuts& cuts = *model_.labels().cuts;
  ParallelFor(f.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<double> on_cuts(static_cast<std::size_t>(cuts.num_cuts()));
    std::vector<double> on_labels(num_labels());
    for (std::size_t a = begin; a < end; ++a) {
      std::fill(on_cuts.begin(), on_cuts.end(), 0.0);
      for (std::size_t c = 0; c < f.cols(); ++c)
        on_cuts[static_cast<std::size_t>(active_[c])] = static_cast<double>(length_[c]) * f(a, c);
      cuts.SumOverLabels(on_cuts, on_labels);
      for (std::size_t i = 0; i < on_labels.size(); ++i)
        (*s)(a, i) += static_cast<float>(on_labels[i]);
    }
  });
}

void DenseExtension::LabelModular(const Matrix<float>& v, FlowShape shape, Matrix<float>* s) const {
  CopyMatrix(model_.unary(), s);
  if (plain_) {
    AddFlow(v, shape, length_[0], s);
    return;
  }
  Matrix<float>* flow = ZeroScratch(v.cols());
  AddFlow(v, shape, 1.0F, flow);
  AddToLabels(*flow, s);
}

void DenseExtension::LabelModular(const FlowProof& proof, Matrix<float>* s) const {
  CopyMatrix(model_.unary(), s);
  Matrix<float> point(s->rows(), s->cols());
  Matrix<float> v(s->rows(), num_active());
  for (const FlowTerm& term : proof) {
    for (std::size_t a = 0; a < v.rows(); ++a) {
      for (std::size_t c = 0; c < v.cols(); ++c)
        v(a, c) = term.v(a, static_cast<std::size_t>(active_[c]));
    }
    LabelModular(v, term.shape, &point);
    for (std::size_t k = 0; k < s->size(); ++k)
      s->data()[k] += static_cast<float>(term.share) * (point.data()[k] - model_.unary().data()[k]);
  }
}

void DenseExtension::VertexAt(const Matrix<float>& y, Matrix<float>* s) const {
  LabelModular(CutSums(y), FlowShape::kSign, s);
}

void DenseExtension::MoveTowardsVertex(const Matrix<float>& y, double rate,
                                       FlowProof* proof) const {
  for (FlowTerm& term : *proof) term.share *= 1.0 - rate;
  StoreEvidence(CutSums(y), FlowShape::kSign, rate, &proof->emplace_back());
}

double DenseExtension::LovaszAt(const Matrix<float>& y) const { return -Dual(y, 0.0) - offset(); }

void DenseExtension::QuadraticModular(const Matrix<float>& y, Matrix<float>* s) const {
  CopyMatrix(model_.unary(), s);
  const auto add_own = [&](const Matrix<float>& z, float factor, Matrix<float>* out) {
    ParallelFor(z.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t a = begin; a < end; ++a) {
        for (std::size_t c = 0; c < z.cols(); ++c) (*out)(a, c) += factor * degrees_[a] * z(a, c);
      }
    });
  };
  if (plain_) {
    AddProduct(y, -length_[0], s);
    add_own(y, length_[0], s);
    return;
  }
  const Matrix<float> z = CutSums(y);
  Matrix<float> flow(z.rows(), z.cols());
  AddProduct(z, -1.0F, &flow);
  add_own(z, 1.0F, &flow);
  AddToLabels(flow, s);
}

void DenseExtension::MeanFieldCosts(const Matrix<float>& y, Matrix<float>* s) const {
  CopyMatrix(model_.unary(), s);
  if (plain_) {
    // d(i, j) = 2 l [i != j], and the masses of all labels add up to the degree.
    AddProduct(y, -2.0F * length_[0], s);
    return;
  }
  Matrix<float>* masses = ZeroScratch(y.cols());
  AddProduct(y, 1.0F, masses);
  const Matrix<double>& distance = model_.metric().distance;
  ParallelFor(y.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<double> cost(y.cols());
    for (std::size_t a = begin; a < end; ++a) {
      const std::span<const float> mass = masses->row(a);
      if (nearly_potts_) {
        const double usual = common_ * std::accumulate(mass.begin(), mass.end(), 0.0);
        for (std::size_t i = 0; i < cost.size(); ++i) {
          cost[i] = usual;
          for (std::size_t k = exceptional_begin_[i]; k < exceptional_begin_[i + 1]; ++k)
            cost[i] += exceptional_[k].more * mass[exceptional_[k].label];
        }
      } else {
        std::fill(cost.begin(), cost.end(), 0.0);
        for (std::size_t j = 0; j < cost.size(); ++j) {
          const double* to = distance.row(j).data();
          for (std::size_t i = 0; i < cost.size(); ++i) cost[i] += to[i] * mass[j];
        }
      }
      for (std::size_t i = 0; i < cost.size(); ++i) (*s)(a, i) += static_cast<float>(cost[i]);
    }
  });
}

double DenseExtension::MeanFieldConstant(std::size_t a) const {
  return plain_ ? 2.0 * static_cast<double>(length_[0]) * degrees_[a] : 0.0;
}

double DenseExtension::Upper(const Matrix<float>& s, double temperature) const {
  const auto T = static_cast<float>(temperature);
  return ParallelSum(s.rows(), kRowGrain,
                     [&](std::size_t begin, std::size_t end) {
                       double sum = 0.0;
                       for (std::size_t a = begin; a < end; ++a)
                         sum += LogSumExpRow(s.row(a).data(), T, s.cols());
                       return sum;
                     }) -
         model_.constant();
}

double DenseExtension::Dual(const Matrix<float>& y, double temperature) const {
  const LoopInterrupt scope(interrupted_);
  const auto T = static_cast<float>(temperature);
  double value = ParallelSum(y.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    double sum = 0.0;
    for (std::size_t a = begin; a < end; ++a)
      sum += EntropyMinusEnergyRow(y.row(a).data(), model_.unary().row(a).data(), T, y.cols());
    return sum;
  });
  const Matrix<float>* z = &y;
  if (!plain_) {
    Matrix<float>* sums = Scratch(num_active());
    CutSums(y, sums);
    z = sums;
  }
  const std::vector<double> variation = pairs_.TotalVariation(*z);
  for (std::size_t c = 0; c < variation.size(); ++c)
    value -= static_cast<double>(length_[c]) * variation[c];
  return value - model_.constant();
}

double DenseExtension::Energy(const std::vector<int>& labels) const {
  const LoopInterrupt scope(interrupted_);
  if (const std::optional<double> cost = pairs_.LabelCost(labels, CutDistances())) {
    double energy = model_.constant() + *cost;
    for (std::size_t a = 0; a < labels.size(); ++a)
      energy += model_.unary()(a, static_cast<std::size_t>(labels[a]));
    return energy;
  }
  // The dual value of a labeling is minus its energy; both are in the metric of the cuts.
  return -Dual(Indicator(labels, num_labels()), 0.0);
}

void DenseExtension::StoreEvidence(const Matrix<float>& v, FlowShape shape, double share,
                                   FlowTerm* term) const {
  term->share = share;
  term->shape = shape;
  const auto cuts = static_cast<std::size_t>(model_.num_cuts());
  if (term->v.rows() != v.rows() || term->v.cols() != cuts) {
    term->v = active_.size() == cuts ? Matrix<float>::Unset(v.rows(), cuts)
                                     : Matrix<float>(v.rows(), cuts);
  }
  ParallelFor(v.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    if (active_.size() == cuts) {
      std::copy(v.row(begin).data(), v.row(begin).data() + (end - begin) * cuts,
                term->v.row(begin).data());
      return;
    }
    for (std::size_t a = begin; a < end; ++a) {
      for (std::size_t c = 0; c < v.cols(); ++c)
        term->v(a, static_cast<std::size_t>(active_[c])) = v(a, c);
    }
  });
}

float PottsFactor(const LabelSpace& labels) {
  const std::vector<double>& length = labels.metrics.front().length;
  const auto first = static_cast<float>(length.front());
  const bool equal = std::all_of(length.begin(), length.end(),
                                 [&](double l) { return static_cast<float>(l) == first; });
  return labels.cuts->leaves_only() && equal ? 2.0F * first : 0.0F;
}

void CopyMatrix(const Matrix<float>& from, Matrix<float>* to) {
  if (to->rows() != from.rows() || to->cols() != from.cols())
    *to = Matrix<float>::Unset(from.rows(), from.cols());
  ParallelFor(from.size(), kRowGrain * 64, [&](std::size_t begin, std::size_t end) {
    std::copy(from.data() + begin, from.data() + end, to->data() + begin);
  });
}

Matrix<float> Indicator(const std::vector<int>& labels, std::size_t num_labels) {
  Matrix<float> y(labels.size(), num_labels);
  for (std::size_t a = 0; a < labels.size(); ++a) y(a, static_cast<std::size_t>(labels[a])) = 1.0F;
  return y;
}

}  // namespace submarine::internal
