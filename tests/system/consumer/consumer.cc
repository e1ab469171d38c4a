#include <iostream>

#include "submarine/submarine.h"

using namespace submarine;

int main() {
  SparseCrf model(Matrix<double>(6, 3, 0.5), GridEdges(3, 2, 4, 2.0), PottsLabels(3));
  const SolveResult result = Solve(model, {.limits = {.gap = 1e-4}});
  if (!result.usable()) return 1;
  const auto& marginals = std::get<Matrix<double>>(result.marginals);
  std::cout << kVersion << " log Z in [" << *result.certificate.lower << ", "
            << *result.certificate.upper << "], " << ToString(result.termination)
            << ", p = " << marginals(0, 0) << "\n";
}
