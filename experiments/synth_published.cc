#include "experiments/synth_published.h"

#include <algorithm>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/base/parallel.h"
#include "submarine/base/simd/row_kernels.h"

namespace submarine::apps {
namespace {

using internal::kRowGrain;
using internal::ParallelFor;
using internal::ParallelSum;
using internal::SoftmaxRow;

double Sign(double x) { return static_cast<double>(x > 0.0) - static_cast<double>(x < 0.0); }

// The last leaf in every cut, whose marginal is used instead of the cut's.
std::vector<std::size_t> LastLeaves(const LabelCuts& cuts) {
  std::vector<std::size_t> last;
  for (int c = 0; c < cuts.num_cuts(); ++c)
    last.push_back(static_cast<std::size_t>(cuts.set(c).back()));
  return last;
}

class PublishedFrankWolfe {
 public:
  PublishedFrankWolfe(const SparseCrf& model, PublishedUnaries unaries)
      : model_(model),
        cuts_(*model.labels().cuts),
        unaries_(unaries),
        last_leaf_(LastLeaves(cuts_)),
        // The published Potts weight is not halved; trees have the correct lengths.
        weight_factor_(cuts_.leaves_only() ? 2.0 : 1.0),
        s_(model.unary().rows(), static_cast<std::size_t>(cuts_.num_cuts())),
        z_(s_) {
    for (std::size_t a = 0; a < s_.rows(); ++a) {
      for (std::size_t i = 0; i < model.unary().cols(); ++i) s_(a, i) = model.unary()(a, i);
    }
  }

  // Returns sum_a log sum_i exp(-s'_a(i)); leaves the gradient as published in z.
  double Evaluate() {
    return ParallelSum(s_.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
      std::vector<double> on_cuts(s_.cols());
      std::vector<double> on_labels(model_.unary().cols());
      std::vector<double> y(on_labels.size());
      double sum = 0.0;
      for (std::size_t a = begin; a < end; ++a) {
        const auto row = s_.row(a);
        on_cuts.assign(row.begin(), row.end());
        cuts_.SumOverLabels(on_cuts, on_labels);
        sum += SoftmaxRow(on_labels.data(), on_labels.size(), 1.0, y.data());
        for (std::size_t c = 0; c < z_.cols(); ++c) z_(a, c) = y[last_leaf_[c]];
      }
      return sum;
    });
  }

  // s += rate (greedy vertex at z - s)
  void Step(double rate) {
    ParallelFor(s_.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
      std::vector<double> vertex(s_.cols());
      for (std::size_t a = begin; a < end; ++a) {
        UnaryVertex(a, vertex);
        for (const Incidence& incident : model_.incident(static_cast<int>(a))) {
          const Edge& e = model_.edges()[incident.edge];
          const auto b = static_cast<std::size_t>(incident.sign > 0 ? e.b : e.a);
          const std::vector<double>& length = model_.metric(e).length;
          for (std::size_t c = 0; c < vertex.size(); ++c)
            vertex[c] += weight_factor_ * e.weight * length[c] * Sign(z_(a, c) - z_(b, c));
        }
        for (std::size_t c = 0; c < vertex.size(); ++c) s_(a, c) += rate * (vertex[c] - s_(a, c));
      }
    });
  }

 private:
  void UnaryVertex(std::size_t a, std::span<double> vertex) const {
    const auto phi = model_.unary().row(a);
    std::fill(vertex.begin(), vertex.end(), 0.0);
    if (unaries_ == PublishedUnaries::kModular) {
      std::copy(phi.begin(), phi.end(), vertex.begin());
      return;
    }
    // The cycle also passes through the inner nodes, which have no unaries.
    for (std::size_t i = 0; i < phi.size(); ++i) {
      const std::size_t next = (i + 1) % vertex.size();
      const double sent = phi[i] * Sign(z_(a, i) - z_(a, next));
      vertex[i] += sent;
      vertex[next] -= sent;
    }
  }

  const SparseCrf& model_;
  const LabelCuts& cuts_;
  PublishedUnaries unaries_;
  std::vector<std::size_t> last_leaf_;
  double weight_factor_;
  Matrix<double> s_;  // variables x cuts
  Matrix<double> z_;
};

}  // namespace

double PublishedBound(const SparseCrf& model, PublishedUnaries unaries, int steps,
                      const std::function<bool()>& go_on) {
  PublishedFrankWolfe iterate(model, unaries);
  double value = iterate.Evaluate();
  for (int k = 1; k <= steps && go_on(); ++k) {
    iterate.Step(2.0 / (k + 2.0));
    value = iterate.Evaluate();
  }
  return value;
}

}  // namespace submarine::apps
