#include "experiments/stereo_published.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/extension/simplex_kernels.h"
#include "submarine/filter/lattice/lattice.h"

namespace submarine::apps {
namespace {

using internal::DenseExtension;
using internal::Indicator;
using internal::kUnknownLambda;
using internal::LatticeOperator;
using internal::ParallelFor;
using internal::ParallelSum;
using internal::SimplexProxRow;
using internal::SoftmaxRow;
using internal::SoftmaxRows;
using internal::Stopwatch;

constexpr std::size_t kGrain = 256;
constexpr std::size_t kMaxBytes = std::size_t{8} << 30;  // of a lattice

void RequirePotts(const DenseCrf& model) {
  if (model.metric().name != "potts") {
    throw InvalidInput(fmt::format(
        "the metric is {}, but what was published is about potts (--preset paper or paper-slip)",
        model.metric().name));
  }
}

Matrix<float> SoftmaxOfUnaries(const Matrix<float>& unary) {
  Matrix<float> y(unary.rows(), unary.cols());
  ParallelFor(y.rows(), kGrain, [&](std::size_t begin, std::size_t end) {
    SoftmaxRows(unary.row(begin).data(), 1.0F, end - begin, y.cols(), y.row(begin).data());
  });
  return y;
}

// Replaces row a of y by update(a, costs, y_a) and returns the squared change of y.
template <class Update>
double Move(const Matrix<float>& costs, const Update& update, Matrix<float>* y) {
  return ParallelSum(y->rows(), kGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<float> next(y->cols() + 64);  // kernels read beyond the end
    double change = 0.0;
    for (std::size_t a = begin; a < end; ++a) {
      const std::span<float> row = y->row(a);
      update(a, costs.row(a).data(), row.data(), next.data());
      for (std::size_t i = 0; i < row.size(); ++i) {
        const double difference = next[i] - row[i];
        change += difference * difference;
        row[i] = next[i];
      }
    }
    return change;
  });
}

// `costs_at` computes the costs at given marginals; `update` is as in Move.
template <class Costs, class Update>
MeanFieldRun Iterate(const Matrix<float>& unary, const Stopwatch& clock, const MeanFieldStop& stop,
                     const Costs& costs_at, const Update& update) {
  MeanFieldRun run;
  run.marginals = SoftmaxOfUnaries(unary);
  Matrix<float> costs(unary.rows(), unary.cols());
  while (!run.converged && run.iterations < stop.max_iterations) {
    costs_at(run.marginals, &costs);
    const double change = Move(costs, update, &run.marginals);
    ++run.iterations;
    run.converged = change <= stop.change;
    if (stop.on_iteration && !stop.on_iteration(run.iterations, clock.Seconds(), change)) break;
  }
  run.seconds = clock.Seconds();
  return run;
}

}  // namespace

MeanFieldRun PublishedMeanField(const DenseCrf& model, const MeanFieldStop& stop) {
  RequirePotts(model);
  const Stopwatch clock;
  std::vector<std::unique_ptr<LatticeOperator>> lattices;
  for (const GaussianKernel& kernel : model.kernels())
    lattices.push_back(
        LatticeOperator::MakeClassic(SinglePrecisionFeatures(kernel), true, kMaxBytes));
  // A penalty for disagreement equals a reward for agreement, up to a constant common to all
  // labels.
  const auto costs_at = [&](const Matrix<float>& y, Matrix<float>* costs) {
    *costs = model.unary();
    for (std::size_t m = 0; m < lattices.size(); ++m)
      lattices[m]->AddProductWithSelf(y, -static_cast<float>(model.kernels()[m].weight), costs);
  };
  const std::size_t labels = model.unary().cols();
  return Iterate(model.unary(), clock, stop, costs_at,
                 [labels](std::size_t, const float* costs, const float*, float* next) {
                   SoftmaxRow(costs, 1.0F, labels, next);
                 });
}

double PublishedEnergy(const DenseCrf& model, const std::vector<int>& labels) {
  RequirePotts(model);
  const Matrix<float> indicator = Indicator(labels, model.unary().cols());
  double energy = 0.0;
  for (std::size_t a = 0; a < labels.size(); ++a)
    energy += model.unary()(a, static_cast<std::size_t>(labels[a]));
  for (const GaussianKernel& kernel : model.kernels()) {
    const auto lattice =
        LatticeOperator::MakeClassic(SinglePrecisionFeatures(kernel), false, kMaxBytes);
    Matrix<float> agreeing(indicator.rows(), indicator.cols());
    lattice->AddProductWithSelf(indicator, 1.0F, &agreeing);
    double disagreeing = 0.0;
    for (std::size_t a = 0; a < labels.size(); ++a) {
      for (std::size_t i = 0; i < agreeing.cols(); ++i)
        disagreeing += static_cast<int>(i) == labels[a] ? 0.0 : agreeing(a, i);
    }
    energy += kernel.weight * disagreeing;
  }
  return energy;
}

MeanFieldRun SelfTermMeanField(const DenseExtension& extension, const MeanFieldStop& stop) {
  RequirePotts(extension.model());
  const Stopwatch clock;
  const std::size_t labels = extension.num_labels();
  const auto costs_at = [&](const Matrix<float>& y, Matrix<float>* costs) {
    extension.MeanFieldCosts(y, costs);
    ParallelFor(y.rows(), kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t a = begin; a < end; ++a) {
        for (std::size_t i = 0; i < labels; ++i)
          (*costs)(a, i) -= extension.self_weights()[a] * y(a, i);
      }
    });
  };
  return Iterate(extension.model().unary(), clock, stop, costs_at,
                 [labels](std::size_t, const float* costs, const float*, float* next) {
                   SoftmaxRow(costs, 1.0F, labels, next);
                 });
}

MeanFieldRun ModelMeanField(const DenseExtension& extension, const MeanFieldStop& stop) {
  const Stopwatch clock;
  // See dense_mean_field.h for why this damping is enough.
  std::vector<float> damping(extension.self_weights().begin(), extension.self_weights().end());
  for (float& g : damping) g *= static_cast<float>(2.0 * extension.quadratic_reach());
  const std::size_t labels = extension.num_labels();
  std::vector<float> lambda(extension.num_variables(), kUnknownLambda);
  return Iterate(
      extension.model().unary(), clock, stop,
      [&](const Matrix<float>& y, Matrix<float>* costs) { extension.MeanFieldCosts(y, costs); },
      [&](std::size_t a, const float* costs, const float* y, float* next) {
        if (damping[a] > 0.0F) {
          SimplexProxRow(costs, y, damping[a], 1.0F, labels, next, &lambda[a]);
        } else {
          SoftmaxRow(costs, 1.0F, labels, next);
        }
      });
}

}  // namespace submarine::apps
