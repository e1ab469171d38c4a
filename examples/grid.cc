// A noisy picture of two labels on a grid: an interval around log Z, marginals, the best labeling.
#include <iostream>
#include <variant>

#include "submarine/submarine.h"

namespace sm = submarine;

int main() {
  const int width = 40;
  const int height = 30;
  sm::Matrix<double> unary(width * height, 2);  // costs: a row per variable, a column per label
  for (int a = 0; a < width * height; ++a) {
    const bool inside = a % width >= 10 && a % width < 30;
    const bool noise = a * 7919 % 10 < 2;
    unary(a, inside != noise ? 0 : 1) = 2.0;
  }
  const sm::SparseCrf model(unary, sm::GridEdges(width, height, /*connectivity=*/4, /*weight=*/1.0),
                            sm::PottsLabels(2));
  const sm::SolveResult result = sm::Solve(model, {.limits = {.time_limit_seconds = 10.0}});
  if (!result.certificate.lower || !result.certificate.upper) return 1;
  const int centre = height / 2 * width + width / 2;
  std::cout << "log Z is between " << *result.certificate.lower << " and "
            << *result.certificate.upper << "\n"
            << "the pixel in the centre has label " << result.labels[centre]
            << ", with probability "
            << std::get<sm::Matrix<double>>(result.marginals)(centre, result.labels[centre])
            << "\n";
}
