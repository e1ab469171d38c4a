// Mean field with the parameters of pydensecrf's README: position 3 weight 3, bilateral 80/13 weight 10, symmetric
// normalisation, pairs counted once, 21 labels, 5 iterations of the classic update; on the lattice.
//
//   dense_mean_field IMAGE [REPETITIONS [LABELS]]
//
// Prints the best times of the repetitions with 1 and with 2 threads: set-up (lattices, normalisation), the
// iterations, and the peak memory of the process; first with self terms, which is pydensecrf's update, then
// without them, which is the model's (finding them is part of the set-up).
#include "submarine/solver/mean_field/dense_mean_field.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "submarine/base/parallel.h"
#include "submarine/base/parallel_test_util.h"
#include "submarine/base/stopwatch.h"
#include "submarine/bound/verify/dense/normalisation.h"
#include "submarine/io/image/image.h"
#include "submarine/model/image_features.h"
#include "submarine/solve/solve.h"

namespace submarine::internal {
namespace {

// -log of a distribution with 0.7 at a label that is the same in blocks of 32 x 32 pixels.
Matrix<float> BlockUnaries(int width, int height, int labels) {
  std::mt19937_64 rng(1);
  std::uniform_int_distribution<int> label(0, labels - 1);
  const int columns = width / 32 + 1;
  std::vector<int> blocks(static_cast<std::size_t>(columns) *
                          static_cast<std::size_t>(height / 32 + 1));
  for (int& block : blocks) block = label(rng);
  const auto other = static_cast<float>(-std::log(0.3 / (labels - 1)));
  Matrix<float> unary(static_cast<std::size_t>(width) * static_cast<std::size_t>(height),
                      static_cast<std::size_t>(labels), other);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int chosen = blocks[static_cast<std::size_t>(y / 32 * columns + x / 32)];
      unary(static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                static_cast<std::size_t>(x),
            static_cast<std::size_t>(chosen)) = static_cast<float>(-std::log(0.7));
    }
  }
  return unary;
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    fmt::print(stderr, "usage: dense_mean_field IMAGE [REPETITIONS [LABELS]]\n");
    return 2;
  }
  const int repetitions = arguments.size() > 1 ? std::stoi(arguments[1]) : 5;
  const int labels = arguments.size() > 2 ? std::stoi(arguments[2]) : 21;
  const Image image = ReadImage(arguments.front());
  const double sigma_colour = 13.0;
  OperatorOptions lattice;
  lattice.kind = OperatorKind::kLattice;
  for (const auto& [self_terms, threads] :
       std::vector<std::pair<bool, int>>{{true, 1}, {true, 2}, {false, 1}, {false, 2}}) {
    lattice.lattice.self_terms = self_terms;
    testing::SetThreadCount(threads);
    double best_setup = HUGE_VAL;
    double best_solve = HUGE_VAL;
    for (int k = 0; k < repetitions; ++k) {
      Matrix<float> unary = BlockUnaries(image.width, image.height, labels);
      const std::vector<float> colours = ColourValues(image);
      const Stopwatch setup;
      std::vector<GaussianKernel> kernels = {
          PositionKernel(image.width, image.height, 3.0, 3.0, 3.0),
          BilateralKernel(image.width, image.height, image.channels, colours, 80.0, 80.0,
                          {&sigma_colour, 1}, 10.0)};
      for (GaussianKernel& kernel : kernels) kernel.normalisation = KernelNormalisation::kSymmetric;
      const DenseCrf model = WithNormalisation(
          DenseCrf(std::move(unary), std::move(kernels), PottsLabels(labels), PairCounting::kOnce),
          {.source = RowSumSource::kOperator, .pairs = lattice});
      const std::vector<WeightedKernel> weights = PairWeights(model);
      const ChosenOperator pairs =
          MakeOperator(model.num_variables(), weights,
                       {static_cast<std::size_t>(model.num_labels()), false}, lattice);
      const DenseExtension extension(model, *pairs.op);
      best_setup = std::min(best_setup, setup.Seconds());
      const Stopwatch solve;
      DenseMeanFieldOptions options;
      options.max_iterations = 5;
      options.damped = false;
      options.measured = false;
      const DenseMeanFieldResult result = SolveMeanField(extension, options);
      best_solve = std::min(best_solve, solve.Seconds());
      if (k == 0 && self_terms && threads == 1) fmt::print("{}\n", pairs.op->Description());
      if (result.iterations != 5) fmt::print("stopped after {} iterations\n", result.iterations);
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    fmt::print(
        "{}x{}, {} labels, {} self terms, {} thread{}: set-up {:.3f} s, 5 iterations {:.3f} s, "
        "peak {} MB\n",
        image.width, image.height, labels, self_terms ? "with" : "without", threads,
        threads == 1 ? "" : "s", best_setup, best_solve, usage.ru_maxrss / 1024);
  }
  return 0;
}

}  // namespace
}  // namespace submarine::internal

int main(int argc, char** argv) {
  try {
    return submarine::internal::Main({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "dense_mean_field: {}\n", error.what());
    return 2;
  }
}
