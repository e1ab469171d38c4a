#include "submarine/solver/routed/routed_problem.h"

#include <algorithm>
#include <cmath>

#include "submarine/base/parallel.h"

namespace submarine::internal {
namespace {

// d', which the cuts express: the bound is that of this metric.
Matrix<double> MetricOfCuts(const DenseCrf& model) {
  return CutDistance(*model.labels().cuts, model.metric().length);
}

}  // namespace

RoutedProblem::RoutedProblem(const DenseCrf& model, const RoutedPaths& paths, double temperature,
                             const TilePairsOptions& options)
    : model_(model),
      paths_(paths),
      temperature_(temperature),
      product_limit_(options.product_limit),
      product_cutoff_(options.product_cutoff),
      by_square_(options.by_square),
      cuts_(DistinctCuts(model.labels())),
      kernels_(ReorderKernels(model, paths)),
      products_(kernels_, model.num_variables(), options.product_limit, options.product_cutoff),
      pairs_(kernels_, paths, cuts_, options),
      sums_(paths, MetricOfCuts(model)),
      unary_(model.unary().rows(), model.unary().cols()),
      membership_(cuts_.size(), model.unary().cols()) {
  for (std::size_t p = 0; p < size(); ++p) {
    const auto row = model.unary().row(paths.order[p]);
    std::copy(row.begin(), row.end(), unary_.row(p).begin());
  }
  for (std::size_t c = 0; c < num_cuts(); ++c) {
    for (const int i : model.labels().cuts->set(static_cast<int>(cuts_[c].cut)))
      membership_(c, static_cast<std::size_t>(i)) = 1.0F;
  }
}

void RoutedProblem::Route(const Routing& routing, const std::function<bool(double)>& on_progress,
                          const std::function<bool()>& is_late) {
  CheckRouting(routing, size(), static_cast<std::size_t>(model_.num_cuts()));
  const RoutingLayout layout(routing, cuts_);
  pairs_.Route(layout, on_progress, is_late);
  AddProducts(layout);
}

void RoutedProblem::RouteSample(const Routing& routing, double squares_per_block) {
  CheckRouting(routing, size(), static_cast<std::size_t>(model_.num_cuts()));
  const RoutingLayout layout(routing, cuts_);
  pairs_.RouteSample(layout, squares_per_block);
  AddProducts(layout);
}

void RoutedProblem::AddProducts(const RoutingLayout& layout) {
  products_.Route(layout);
  edge_weights_ = pairs_.edge_weights();
  for (std::size_t n = 0; n < edge_weights_.size(); ++n)
    edge_weights_.data()[n] += products_.edge_weights().data()[n];
  sums_.SetWeights(edge_weights_, temperature_);
}

void RoutedProblem::Costs(const Matrix<float>& v, Matrix<float>* costs) const {
  pairs_.Flow(v, &flow_);
  products_.AddFlow(v, &flow_);
  if (costs->rows() != size() || costs->cols() != num_labels())
    *costs = Matrix<float>(size(), num_labels());
  ParallelFor(size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      const auto row = costs->row(p);
      std::copy(unary_.row(p).begin(), unary_.row(p).end(), row.begin());
      for (std::size_t c = 0; c < num_cuts(); ++c) {
        const float amount = cuts_[c].length * flow_(c, p);
        for (std::size_t i = 0; i < row.size(); ++i) row[i] += membership_(c, i) * amount;
      }
    }
  });
}

double RoutedProblem::Upper(const Matrix<float>& costs, Matrix<float>* marginals) {
  return temperature_ * sums_.LogZ(costs, temperature_, marginals) - model_.constant();
}

void RoutedProblem::Step(const Matrix<float>& y, float step, Matrix<float>* v) const {
  ParallelFor(size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = 0; c < num_cuts(); ++c) {
      for (std::size_t p = begin; p < end; ++p) {
        float sum = 0.0F;
        for (std::size_t i = 0; i < num_labels(); ++i) sum += membership_(c, i) * y(p, i);
        (*v)(c, p) += step * sum;
      }
    }
  });
}

// Flows q = v_a - v_b, all within [-1, 1], add the Laplacian of what is left to the costs; how much the
// marginals answer is the covariance under the distribution on the paths. Their product's largest
// eigenvalue is the curvature.
double RoutedProblem::Curvature(const Matrix<float>& costs, const Matrix<float>& y,
                                Matrix<float>* direction) {
  constexpr int kIterations = 5;
  constexpr float kInside = 0.45F;  // of the largest potential: no difference is clipped
  constexpr float kSmall = 0.02F;   // of the largest change of costs, over T
  const auto largest = [](const Matrix<float>& m) {
    float size = 0.0F;
    for (std::size_t n = 0; n < m.size(); ++n) size = std::max(size, std::abs(m.data()[n]));
    return size;
  };
  const auto norm = [](const Matrix<float>& m) {
    double sum = 0.0;
    for (std::size_t n = 0; n < m.size(); ++n)
      sum += static_cast<double>(m.data()[n]) * static_cast<double>(m.data()[n]);
    return std::sqrt(sum);
  };
  double curvature = 0.0;
  Matrix<float> change;
  Matrix<float> moved = costs;
  Matrix<float> answer;
  for (int k = 0; k < kIterations; ++k) {
    const float size = largest(*direction);
    if (!(size > 0.0F)) return curvature;
    for (std::size_t n = 0; n < direction->size(); ++n) direction->data()[n] *= kInside / size;
    const double before = norm(*direction);
    Costs(*direction, &change);
    for (std::size_t n = 0; n < change.size(); ++n) change.data()[n] -= unary_.data()[n];
    const float most = largest(change);
    if (!(most > 0.0F)) return curvature;
    const float step = kSmall * static_cast<float>(temperature_) / most;
    for (std::size_t n = 0; n < moved.size(); ++n)
      moved.data()[n] = costs.data()[n] + step * change.data()[n];
    Upper(moved, &answer);
    for (std::size_t n = 0; n < answer.size(); ++n)
      answer.data()[n] = (y.data()[n] - answer.data()[n]) / step;
    std::fill(direction->data(), direction->data() + direction->size(), 0.0F);
    Step(answer, 1.0F, direction);
    curvature = norm(*direction) / before;
  }
  return curvature;
}

Routing RoutedProblem::ChooseRoutes(const Matrix<float>& y, double share, double floor) const {
  Routing routing;
  routing.paths = paths_;
  routing.share = share;
  routing.product_limit = product_limit_;
  routing.product_cutoff = product_cutoff_;
  routing.by_square = by_square_;
  Matrix<float> z(num_cuts(), size());
  Step(y, 1.0F, &z);
  routing.z = Evidence(z);
  routing.threshold = sums_.ExpectedDistances();
  for (std::size_t n = 0; n < routing.threshold.size(); ++n) {
    float& limit = routing.threshold.data()[n];
    limit = std::max(static_cast<float>(floor), limit);
  }
  return routing;
}

Matrix<float> RoutedProblem::Evidence(const Matrix<float>& v) const {
  Matrix<float> all(size(), static_cast<std::size_t>(model_.num_cuts()));
  for (std::size_t c = 0; c < num_cuts(); ++c) {
    const RoutedCut& cut = cuts_[c];
    for (std::size_t p = 0; p < size(); ++p) {
      // The flow through a cut's complement is that through the cut, backwards.
      if (cut.complement != cut.cut) all(paths_.order[p], cut.complement) = -v(c, p);
      all(paths_.order[p], cut.cut) = v(c, p);
    }
  }
  return all;
}

Matrix<float> RoutedProblem::ByVariable(const Matrix<float>& of_positions) const {
  Matrix<float> result(of_positions.rows(), of_positions.cols());
  for (std::size_t p = 0; p < size(); ++p) {
    const auto row = of_positions.row(p);
    std::copy(row.begin(), row.end(), result.row(paths_.order[p]).begin());
  }
  return result;
}

}  // namespace submarine::internal
