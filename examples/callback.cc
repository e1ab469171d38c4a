// Watch a solve, and stop it when the upper bound is good enough for you.
#include <iostream>
#include <string_view>

#include "submarine/submarine.h"

namespace sm = submarine;

int main() {
  const int width = 60;
  sm::Matrix<double> unary(width * width, 5);
  for (std::size_t k = 0; k < unary.size(); ++k)
    unary.data()[k] = static_cast<double>(k * 7919 % 1000) / 100.0;
  const sm::SparseCrf model(unary, sm::GridEdges(width, width, 4, 0.5),
                            sm::TruncatedLinearLabels(5, 2));
  int shown = -1;
  const auto watch = [&](std::string_view phase, const sm::SolveRecord& record) {
    if (!record.upper || !record.dual) return true;  // a phase without bounds yet
    if (record.k > shown) {
      std::cout << phase << ", iteration " << record.k << ": upper bound " << *record.upper
                << ", at most " << *record.upper - *record.dual << " above the best of its kind\n";
      shown = record.k;
    }
    return *record.upper - *record.dual > 5.0;  // false: certify what there is, and return
  };
  const sm::SolveResult result = sm::Solve(model, {.method = sm::Method::kPdhg}, watch);
  std::cout << ToString(result.termination) << ": log Z is between " << *result.certificate.lower
            << " and " << *result.certificate.upper << "\n";
}
