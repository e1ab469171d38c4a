// How far the lattice's kernel is from the Gaussian: relative Frobenius error of K and ratio of
// total mass, both without the diagonal, and the mean of the diagonal (the Gaussian's is 1).
//   lattice_error [image [laziness half_steps kept]]
// Random features fill a cube; pictures are 320x240 with sigma 40 / 13 on all pixels, columns of K
// sampled.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <exception>
#include <random>

#include "benchmarks/lattice_pictures.h"
#include "submarine/filter/lattice/lattice.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kProbes = 64;

GaussianKernel Cube(std::size_t n, std::size_t d, double side) {
  std::mt19937_64 rng(7);
  std::uniform_real_distribution<double> uniform(0.0, side);
  GaussianKernel kernel;
  kernel.features = Matrix<double>(n, d);
  for (std::size_t k = 0; k < n * d; ++k) {
    kernel.features.data()[k] = uniform(rng);
  }
  return kernel;
}

void Report(const std::string& name, const GaussianKernel& kernel, const LatticeOptions& options) {
  const LatticeOperator op(kernel, options);
  Matrix<float> probes(kernel.size(), kProbes);
  std::vector<std::size_t> where;
  std::mt19937_64 rng(3);
  for (std::size_t j = 0; j < kProbes; ++j) {
    where.push_back(rng() % kernel.size());
    probes(where[j], j) = 1.0F;
  }
  Matrix<float> columns(kernel.size(), kProbes);
  op.AddProductWithSelf(probes, 1.0F, &columns);
  double squares = 0.0;
  double exact_squares = 0.0;
  double mass = 0.0;
  double exact_mass = 0.0;
  double diagonal = 0.0;
  for (std::size_t a = 0; a < kernel.size(); ++a) {
    for (std::size_t j = 0; j < kProbes; ++j) {
      const double value = columns(a, j);
      if (a == where[j]) {
        diagonal += value / kProbes;
        continue;
      }
      const double exact = KernelValue(kernel, a, where[j]);
      squares += (value - exact) * (value - exact);
      exact_squares += exact * exact;
      mass += value;
      exact_mass += exact;
    }
  }
  fmt::print("| {:<28} | {} | {:>6} | {:.1f}% | {:.3f} | {:.2f} |\n", name, kernel.dimension(),
             op.lattice().num_vertices, 100.0 * std::sqrt(squares / exact_squares),
             mass / exact_mass, diagonal);
}

void ReportAll(const Picture& picture, const LatticeOptions& options) {
  fmt::print("| features | d | vertices | error | mass | diagonal |\n|---|---|---|---|---|---|\n");
  for (const double side : {3.0, 6.0}) {
    for (const std::size_t d : {1, 2, 3, 4, 5}) {
      Report(fmt::format("8000 in a cube of side {}", side), Cube(8000, d, side), options);
    }
  }
  Report("8000 in a cube of side 1.5", Cube(8000, 8, 1.5), options);
  Report("picture, bilateral", Bilateral(picture, 40.0F, 13.0F), options);
  Report("random colours, bilateral", Bilateral(RandomPicture(320, 240), 40.0F, 13.0F), options);
}

}  // namespace
}  // namespace submarine::internal

int main(int argc, char** argv) {
  try {
    submarine::LatticeOptions options;
    if (argc > 2) options.laziness = std::atof(argv[2]);
    if (argc > 3) options.half_steps = std::atoi(argv[3]);
    if (argc > 4) options.kept = std::atof(argv[4]);
    submarine::internal::ReportAll(argc > 1 ? submarine::internal::LoadPicture(argv[1], 320, 240)
                                            : submarine::internal::ProceduralPicture(320, 240),
                                   options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
