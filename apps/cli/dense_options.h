// The options that all commands on dense models share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "submarine/solve/solve.h"

namespace submarine::apps {

// What the commands that turn pictures into dense models have in common.
struct DenseCommand {
  SolveOptions solve;
  int top = 0;  // write only the marginals of this many most probable labels; 0: of all
  int threads = 0;
  bool quiet = false;
};

// -o DIRECTORY, which each of these commands requires.
void AddOutputOption(CLI::App* sub, std::string* directory);

// --method, --step, --gap, --max-iterations, --time-limit, --top, --threads, --quiet. The arguments
// hold the defaults and must outlive the parser.
void AddDenseSolveOptions(CLI::App* sub, DenseCommand* command);

// --time-limit and --max-memory, which apply to the whole command.
void AddLimitOptions(CLI::App* sub, SolveOptions* solve);

// --position SIGMA,WEIGHT and --bilateral SXY,SRGB,WEIGHT; the arguments hold the defaults.
void AddKernelOptions(CLI::App* sub, std::vector<double>* position, std::vector<double>* bilateral);

// Throws InvalidInput unless the last number, the weight, is finite and >= 0 and the others,
// sigmas, are finite and > 0.
void CheckKernelOption(const char* option, const std::vector<double>& numbers);

// --pairs, --cutoff, --levels, --certify, --marginals-of: how pairs are summed,
// and what the results are about. `solve` must outlive the parser.
void AddPairOptions(CLI::App* sub, SolveOptions* solve);

}  // namespace submarine::apps
