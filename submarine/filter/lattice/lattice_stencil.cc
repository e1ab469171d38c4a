#include "submarine/filter/lattice/lattice_stencil.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "submarine/base/error.h"

namespace submarine::internal {
namespace {

// The values of least error against the Gaussian on densely populated lattices
// (benchmarks/lattice_error).
double DefaultLaziness(int dimension) {
  constexpr double kByDimension[] = {0.50, 0.37, 0.17, 0.08, 0.03};
  return dimension <= 5 ? kByDimension[dimension - 1] : 0.0;
}

}  // namespace

void CheckLatticeOptions(const LatticeOptions& options) {
  const auto require = [](bool holds, const char* name, double value, const char* range) {
    if (!holds) {
      throw InvalidInput(
          fmt::format("lattice option {} is {}, expected a number in {}", name, value, range));
    }
  };
  require(options.half_steps >= 0 && options.half_steps <= 32, "half_steps", options.half_steps,
          "0..32");
  require(options.laziness < 1.0, "laziness", options.laziness, "[0,1), or a negative one");
  require(options.kept >= 0.0 && options.kept <= 1.0, "kept", options.kept, "[0,1]");
  require(options.levels >= 2 && options.levels <= 64, "levels", options.levels, "2..64");
}

LatticeStencil MakeLatticeStencil(int dimension, const LatticeOptions& options) {
  const int half_steps = options.half_steps > 0
                             ? options.half_steps
                             : std::max(1, static_cast<int>(std::lround((dimension + 1) / 6.0)));
  const double outer = options.laziness >= 0.0 ? options.laziness : DefaultLaziness(dimension);
  LatticeStencil stencil;
  stencil.dimension = dimension;
  stencil.kept = options.kept;
  stencil.laziness.assign(2 * static_cast<std::size_t>(half_steps) + 1, outer);
  stencil.laziness[static_cast<std::size_t>(half_steps)] = 0.5;
  double moved = 0.0;
  for (const double c : stencil.laziness) moved += 1.0 - c;
  stencil.scale = std::sqrt(1.0 / 6.0 + moved / (dimension + 1));
  stencil.amplitude = std::pow(2.0 * std::numbers::pi, 0.5 * dimension) *
                      std::pow(stencil.scale, dimension) * std::sqrt(dimension + 1.0);
  return stencil;
}

LatticeStencil MakeClassicStencil(int dimension) {
  LatticeStencil stencil;
  stencil.dimension = dimension;
  stencil.scale = std::sqrt(2.0 / 3.0);
  stencil.amplitude = 1.0 / (1.0 + std::ldexp(1.0, -dimension));
  stencil.laziness.assign(static_cast<std::size_t>(dimension) + 1, 0.5);
  stencil.by_axes = true;
  return stencil;
}

}  // namespace submarine::internal
