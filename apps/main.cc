// The command `submarine`.
#include "apps/cli/program.h"
#include "apps/commands.h"

int main(int argc, char** argv) {
  using namespace submarine::apps;  // NOLINT: commands
  return RunProgram(argc, argv, "submarine",
                    "marginals of conditional random fields, with a certified interval around the "
                    "log-partition function",
                    {AddSolveCommand, AddGenerateCommand, AddStereoCommand, AddSegmentCommand,
                     AddFitCommand, AddMetricCommand, AddReportCommand});
}
