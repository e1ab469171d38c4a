// The program `submarine-experiments`: what the paper published, and benchmarks (docs/experiments.md).
#include "apps/cli/program.h"
#include "experiments/commands.h"

int main(int argc, char** argv) {
  using namespace submarine::apps;  // NOLINT: commands
  return RunProgram(
      argc, argv, "submarine-experiments",
      "the experiments of docs/experiments.md, resumable, as tables",
      {AddSynthCommand, AddStereoBenchCommand, AddStereoSearchCommand, AddSegmentBenchCommand});
}
