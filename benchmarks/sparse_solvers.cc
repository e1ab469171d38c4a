// Whole solves of the paper's synthetic grids. What we promise, on 2 cores:
//   Pdhg/potts/side:100/weight:5 to a gap of 1e-4 in under 1.5 s; FrankWolfe100 in under 0.4 s; peak memory under
//   200 MB (counter peak_MB, of the process so far: run one benchmark alone with --benchmark_filter to read it);
//   PdhgIteration linear in edges x cuts (counter ns_per_unknown equal at side 100 and 200).
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <random>

#include "benchmarks/paper_labels.h"
#include "submarine/base/stopwatch.h"
#include "submarine/solver/flow/frank_wolfe.h"
#include "submarine/solver/flow/pdhg.h"

namespace submarine::internal {
namespace {

SparseCrf Grid(int side, double weight, int metric = kPotts) {
  std::mt19937_64 rng(1);
  std::uniform_real_distribution<double> uniform(0.0, 10.0);
  Matrix<double> unary(static_cast<std::size_t>(side) * static_cast<std::size_t>(side), 20);
  for (std::size_t k = 0; k < unary.size(); ++k) unary.data()[k] = uniform(rng);
  return {std::move(unary), GridEdges(side, side, 4, weight), LabelsOf(metric)};
}

void Report(benchmark::State& state, const BoundResult& result) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["iterations"] = result.iterations;
  state.counters["upper"] = result.upper;
  state.counters["gap"] = RelativeGap(result.upper, result.dual);
  state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1024.0;
}

void Pdhg(benchmark::State& state) {
  const SparseCrf model =
      Grid(100, static_cast<double>(state.range(1)), static_cast<int>(state.range(0)));
  PdhgOptions options;
  options.relative_gap = 1e-4;
  BoundResult result;
  for (auto _ : state) result = SolvePdhg(model, options);
  Report(state, result);
}
BENCHMARK(Pdhg)
    ->ArgNames({"metric", "weight"})
    ->ArgsProduct({{kPotts, kTree1, kTree2}, {1, 2, 5, 10}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void FrankWolfe100(benchmark::State& state) {
  const SparseCrf model = Grid(100, 5.0);
  FrankWolfeOptions options;
  options.relative_gap = 0.0;
  options.max_iterations = 100;
  options.step = state.range(0) == 0 ? FrankWolfeStep::kHarmonic : FrankWolfeStep::kLineSearch;
  BoundResult result;
  for (auto _ : state) result = SolveFrankWolfe(model, options);
  Report(state, result);
}
BENCHMARK(FrankWolfe100)
    ->ArgName("line_search")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// 64 iterations; the counter divides by iterations, edges and cuts.
void PdhgIteration(benchmark::State& state) {
  const SparseCrf model = Grid(static_cast<int>(state.range(0)), 5.0);
  PdhgOptions options;
  options.relative_gap = 0.0;
  options.max_iterations = 64;
  double seconds = 0.0;
  for (auto _ : state) {
    const Stopwatch clock;
    benchmark::DoNotOptimize(SolvePdhg(model, options));
    seconds += clock.Seconds();
  }
  const double unknowns =
      static_cast<double>(model.num_edges()) * model.num_cuts() * options.max_iterations;
  state.counters["ns_per_unknown"] =
      1e9 * seconds / (unknowns * static_cast<double>(state.iterations()));
}
BENCHMARK(PdhgIteration)
    ->ArgName("side")
    ->Arg(100)
    ->Arg(200)
    ->Arg(400)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace submarine::internal
