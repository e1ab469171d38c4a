// Tree-reweighted bounds on the paper's synthetic grids. What we promise: one sweep
// (forward and back) at 100x100 with 20 labels under 4 ms on one core for Potts (TrwSweep/metric:0,
// counter ms_per_sweep).
#include <benchmark/benchmark.h>

#include <ctime>
#include <random>

#include "benchmarks/paper_labels.h"
#include "submarine/solver/forest/trw.h"

namespace submarine::internal {
namespace {

SparseCrf Grid(int metric, double weight, int connectivity = 4) {
  std::mt19937_64 rng(1);
  std::uniform_real_distribution<double> uniform(0.0, 10.0);
  Matrix<double> unary(100 * 100, 20);
  for (std::size_t k = 0; k < unary.size(); ++k) unary.data()[k] = uniform(rng);
  return {std::move(unary), GridEdges(100, 100, connectivity, weight), LabelsOf(metric)};
}

void TrwSweep(benchmark::State& state) {
  const SparseCrf model =
      Grid(static_cast<int>(state.range(0)), 2.0, static_cast<int>(state.range(1)));
  TrwOptions options;
  options.tolerance = 0.0;
  options.max_iterations = 20;
  // Sweeps run on one core: processor time is what they take where others do not disturb them. The
  // first one comes with the preparations.
  std::clock_t first = 0;
  std::clock_t last = 0;
  options.on_iteration = [&](const SolveRecord& record) {
    (record.k == 1 ? first : last) = std::clock();
    return true;
  };
  double seconds = 0.0;
  int sweeps = 0;
  for (auto _ : state) {
    sweeps += SolveTrw(model, options).iterations - 1;
    seconds += static_cast<double>(last - first) / CLOCKS_PER_SEC;
  }
  state.counters["ms_per_sweep"] = 1e3 * seconds / sweeps;
}
BENCHMARK(TrwSweep)
    ->ArgNames({"metric", "connectivity"})
    ->ArgsProduct({{kPotts, kTree1, kTree2, kLinear, kTruncated}, {4}})
    ->Args({kPotts, 8})
    ->Unit(benchmark::kMillisecond);

void TrwSolve(benchmark::State& state) {
  const SparseCrf model =
      Grid(static_cast<int>(state.range(0)), static_cast<double>(state.range(1)));
  TrwResult result;
  for (auto _ : state) result = SolveTrw(model);
  state.counters["sweeps"] = result.iterations;
  state.counters["upper"] = result.upper;
}
BENCHMARK(TrwSolve)
    ->ArgNames({"metric", "weight"})
    ->ArgsProduct({{kPotts, kTree1, kTree2}, {1, 2, 5, 10}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace submarine::internal
