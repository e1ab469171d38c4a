// The options that every command over dense models has.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "submarine/solve/solve.h"

namespace submarine::apps {

// What the commands from pictures to dense models have in common.
struct DenseCommand {
  SolveOptions solve;
  int top = 0;  // marginals written: of the most probable labels only; 0: of all
  int threads = 0;
  bool quiet = false;
};

// -o DIRECTORY, which every one of them needs.
void AddOutputOption(CLI::App* sub, std::string* directory);

// --method, --step, --gap, --max-iterations, --time-limit, --top, --threads, --quiet. Everything handed over
// must outlive the parser and holds the defaults.
void AddDenseSolveOptions(CLI::App* sub, DenseCommand* command);

// --time-limit and --max-memory, which hold for the whole command.
void AddLimitOptions(CLI::App* sub, SolveOptions* solve);

// What writing pictures, arrays and the page of such a model takes.
double WritingSeconds(std::size_t num_variables, std::size_t num_labels);
double WritingSeconds(const DenseCrf& model);

// --spatial SIGMA,WEIGHT and --bilateral SXY,SRGB,WEIGHT, which hold their defaults already.
void AddKernelOptions(CLI::App* sub, std::vector<double>* spatial, std::vector<double>* bilateral);

// Throws InvalidInput unless the last number, the weight, is finite and >= 0 and the others, sigmas, are
// finite and > 0.
void CheckKernelOption(const char* option, const std::vector<double>& numbers);

// --pairs, --cutoff, --levels, --hard-bins, --certify, --marginals-of: how pairs are summed,
// and what the results are about. `solve` must outlive the parser.
void AddPairOptions(CLI::App* sub, SolveOptions* solve);

}  // namespace submarine::apps
