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
      pairs_(model, paths, options),
      sums_(paths, MetricOfCuts(model)),
      unary_(model.unary().rows(), model.unary().cols()),
      membership_(pairs_.cuts().size(), model.unary().cols()) {
  for (std::size_t p = 0; p < size(); ++p) {
    const auto row = model.unary().row(paths.order[p]);
    std::copy(row.begin(), row.end(), unary_.row(p).begin());
  }
  for (std::size_t c = 0; c < num_cuts(); ++c) {
    for (const int i : model.labels().cuts->set(static_cast<int>(pairs_.cuts()[c].cut)))
      membership_(c, static_cast<std::size_t>(i)) = 1.0F;
  }
}

void RoutedProblem::Route(const Routing& routing, const std::function<bool(double)>& on_progress) {
  pairs_.Route(routing, on_progress);
  sums_.SetWeights(pairs_.edge_weights(), temperature_);
}

void RoutedProblem::Costs(const Matrix<float>& v, Matrix<float>* costs) const {
  pairs_.Flow(v, &flow_);
  if (costs->rows() != size() || costs->cols() != num_labels())
    *costs = Matrix<float>(size(), num_labels());
  ParallelFor(size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      const auto row = costs->row(p);
      std::copy(unary_.row(p).begin(), unary_.row(p).end(), row.begin());
      for (std::size_t c = 0; c < num_cuts(); ++c) {
        const float amount = pairs_.cuts()[c].length * flow_(c, p);
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

Routing RoutedProblem::RouteWhereItPays(const Matrix<float>& y, double share, double scale,
                                        double floor) const {
  Routing routing;
  routing.paths = paths_;
  routing.share = share;
  Matrix<float> z(num_cuts(), size());
  Step(y, 1.0F, &z);
  routing.z = Evidence(z);
  routing.threshold = sums_.ExpectedDistances();
  for (std::size_t n = 0; n < routing.threshold.size(); ++n) {
    float& limit = routing.threshold.data()[n];
    limit = static_cast<float>(std::max(floor, scale * static_cast<double>(limit)));
  }
  return routing;
}

Matrix<float> RoutedProblem::Evidence(const Matrix<float>& v) const {
  Matrix<float> all(size(), static_cast<std::size_t>(model_.num_cuts()));
  for (std::size_t c = 0; c < num_cuts(); ++c) {
    const RoutedCut& cut = pairs_.cuts()[c];
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
