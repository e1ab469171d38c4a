// The options that every command over dense models has.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/solve.h"

namespace submarine::apps {

// What a gap and a limit of iterations are where nobody says.
inline constexpr double kDenseGap = 1e-2;
inline constexpr int kDenseIterations = 1000;
inline constexpr int kDenseFrankWolfeIterations = 100;  // each keeps a part of the proof in memory

// What the commands from pictures to dense models have in common.
struct DenseCommand {
  SolveOptions solve;
  std::optional<int> max_iterations;
  int top = 0;  // marginals written: of the most probable labels only; 0: of all
  int threads = 0;
  bool quiet = false;

  // `solve` with the limit of iterations that its method has where nobody says.
  SolveOptions Settled() const;
};

// -o DIRECTORY, which every one of them needs.
void AddOutputOption(CLI::App* sub, std::string* directory);

// --method, --step, --gap, --max-iterations, --time-limit, --top, --threads, --quiet. Everything handed over
// must outlive the parser and holds the defaults.
void AddDenseSolveOptions(CLI::App* sub, DenseCommand* command);

// --spatial SIGMA,WEIGHT and --bilateral SXY,SRGB,WEIGHT, which hold their defaults already.
void AddKernelOptions(CLI::App* sub, std::vector<double>* spatial, std::vector<double>* bilateral);

// Throws InvalidInput unless the last number, the weight, is finite and >= 0 and the others, sigmas, are
// finite and > 0.
void CheckKernelOption(const char* option, const std::vector<double>& numbers);

// --pairs, --cutoff, --levels, --hard-bins, --certify, --marginals-of, --max-memory: how pairs are summed,
// and what the results are about. `solve` must outlive the parser.
void AddPairOptions(CLI::App* sub, SolveOptions* solve);

}  // namespace submarine::apps
