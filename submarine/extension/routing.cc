#include "submarine/extension/routing.h"

#include <fmt/format.h>

#include <cmath>

#include "submarine/base/error.h"

namespace submarine::internal {

std::vector<std::uint32_t> RoutedPaths::Followers() const {
  std::vector<std::uint32_t> followers(order.size());
  std::size_t end = order.size();
  for (std::size_t k = begin.size(); k-- > 0;) {
    for (std::size_t p = begin[k]; p < end; ++p)
      followers[p] = static_cast<std::uint32_t>(end - 1 - p);
    end = begin[k];
  }
  return followers;
}

void CheckPaths(const RoutedPaths& paths, std::size_t num_variables) {
  if (paths.bandwidth < 1 || paths.bandwidth > kMaxBandwidth) {
    throw InvalidInput(fmt::format("the paths have bandwidth {}, expected 1 to {}", paths.bandwidth,
                                   kMaxBandwidth));
  }
  if (paths.order.size() != num_variables) {
    throw InvalidInput(fmt::format("the paths have {} variables, but the model has {}",
                                   paths.order.size(), num_variables));
  }
  std::vector<char> seen(num_variables, 0);
  for (std::size_t p = 0; p < num_variables; ++p) {
    const std::uint32_t a = paths.order[p];
    if (a >= num_variables || seen[a]) {
      throw InvalidInput(
          fmt::format("position {} of the paths is variable {}, expected each of 0 to {} once", p,
                      a, num_variables - 1));
    }
    seen[a] = 1;
  }
  for (std::size_t k = 0; k < paths.begin.size(); ++k) {
    if (k == 0 ? paths.begin[k] != 0
               : paths.begin[k] <= paths.begin[k - 1] || paths.begin[k] >= num_variables) {
      throw InvalidInput(
          fmt::format("path {} begins at position {}, expected positions that ascend from 0", k,
                      paths.begin[k]));
    }
  }
  if (paths.begin.empty()) throw InvalidInput("there are no paths, expected at least one");
}

void CheckRouting(const Routing& routing, std::size_t num_variables, std::size_t num_cuts) {
  CheckPaths(routing.paths, num_variables);
  if (!(routing.share >= 0.0 && routing.share <= 1.0)) {
    throw InvalidInput(
        fmt::format("the share of routing is {}, expected a number from 0 to 1", routing.share));
  }
  if (!(routing.product_limit >= 0.0 && routing.product_limit <= 1.0)) {
    throw InvalidInput(fmt::format("the limit of products is {}, expected a number from 0 to 1",
                                   routing.product_limit));
  }
  constexpr double kLeastCutoff = 1e-12;
  if (!(routing.product_cutoff >= kLeastCutoff && routing.product_cutoff <= 1.0)) {
    throw InvalidInput(fmt::format(
        "the cutoff of products is {}, expected a number from 1e-12 to 1", routing.product_cutoff));
  }
  if (routing.everywhere()) return;
  if (routing.z.rows() != num_variables || routing.z.cols() != num_cuts) {
    throw InvalidInput(
        fmt::format("the cut sums of routing are {} x {}, the model has {} variables and {} cuts",
                    routing.z.rows(), routing.z.cols(), num_variables, num_cuts));
  }
  const auto bandwidth = static_cast<std::size_t>(routing.paths.bandwidth);
  if (routing.threshold.rows() != num_variables || routing.threshold.cols() != bandwidth) {
    throw InvalidInput(fmt::format("the thresholds of routing are {} x {}, expected {} x {}",
                                   routing.threshold.rows(), routing.threshold.cols(),
                                   num_variables, bandwidth));
  }
  for (std::size_t n = 0; n < routing.z.size(); ++n) {
    if (!std::isfinite(routing.z.data()[n])) {
      throw InvalidInput(
          fmt::format("the cut sums of routing have {} at variable {}, expected finite numbers",
                      routing.z.data()[n], n / num_cuts));
    }
  }
}

}  // namespace submarine::internal
