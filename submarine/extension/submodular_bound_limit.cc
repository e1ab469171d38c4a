#include "submarine/extension/submodular_bound_limit.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace submarine::internal {
namespace {

// sum_a z_a of the unaries, and the entropy, at the distribution that all variables share.
double SharedValue(const std::vector<double>& mean_unary, double temperature) {
  const double least = *std::min_element(mean_unary.begin(), mean_unary.end());
  double sum = 0.0;
  for (const double phi : mean_unary) sum += std::exp((least - phi) / temperature);
  return temperature * std::log(sum) - least;
}

}  // namespace

double SubmodularBoundLimit(const DenseCrf& model, double temperature) {
  const auto n = static_cast<double>(model.num_variables());
  std::vector<double> mean(model.unary().cols(), 0.0);
  for (std::size_t a = 0; a < model.unary().rows(); ++a) {
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += model.unary()(a, i) / n;
  }
  return n * SharedValue(mean, temperature) - model.constant();
}

}  // namespace submarine::internal
