#include "submarine/extension/set_function.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "submarine/base/error.h"

namespace submarine::internal {

std::vector<double> GreedyVertex(const SetFunction& f, std::span<const double> z) {
  std::vector<std::size_t> order(z.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return z[a] > z[b]; });
  std::vector<char> in_set(z.size(), 0);
  std::vector<double> s(z.size());
  double before = f(in_set);
  for (std::size_t k : order) {
    in_set[k] = 1;
    const double after = f(in_set);
    s[k] = after - before;
    before = after;
  }
  return s;
}

double LovaszValue(const SetFunction& f, std::span<const double> z) {
  const std::vector<double> s = GreedyVertex(f, z);
  return std::inner_product(s.begin(), s.end(), z.begin(), 0.0);
}

double WorstViolation(const SetFunction& f, std::span<const double> s) {
  constexpr std::size_t kMaxElements = 24;
  if (s.size() > kMaxElements) throw TooLarge("enumerating subsets is limited to 24 elements");
  double worst = -std::numeric_limits<double>::infinity();
  std::vector<char> in_set(s.size());
  for (std::uint32_t bits = 0; bits < (std::uint32_t{1} << s.size()); ++bits) {
    double modular = 0.0;
    for (std::size_t k = 0; k < s.size(); ++k) {
      in_set[k] = static_cast<char>(bits >> k & 1U);
      if (in_set[k]) modular += s[k];
    }
    worst = std::max(worst, modular - f(in_set));
  }
  return worst;
}

}  // namespace submarine::internal
