// Points in space with a normal and a brightness: a dense CRF over any features, here 7 columns.
#include <cmath>
#include <iostream>
#include <vector>

#include "submarine/submarine.h"

namespace sm = submarine;

int main() {
  const int points = 500;
  sm::Matrix<double> features(points, 7);  // x, y, z; normal; brightness
  sm::Matrix<float> unary(points, 3);
  for (int a = 0; a < points; ++a) {
    const double x = std::cos(0.1 * a);
    const double y = std::sin(0.1 * a);
    const std::vector<double> row = {x, y, 0.01 * a, x, y, 0.0, a < 250 ? 40.0 : 90.0};
    for (int d = 0; d < 7; ++d) features(a, d) = row[d];
    unary(a, (a / 170 + (a % 4 == 0 ? 1 : 0)) % 3) = -2.0F;  // costs may be negative
  }
  const std::vector<double> sigmas = {0.5, 0.5, 0.5, 0.3, 0.3, 0.3, 10.0};  // one per column
  const sm::DenseCrf model(unary, {sm::FeatureKernel(features, sigmas, /*weight=*/0.02, "points")},
                           sm::PottsLabels(3));
  const sm::SolveResult result =
      sm::Solve(model, {.limits = {.gap = 0.01, .time_limit_seconds = 10.0}});
  std::cout << result.certificate.model << "\n"
            << "energy " << *result.energy << "; log Z is between " << *result.certificate.lower
            << " and " << *result.certificate.upper << "\n";
}
