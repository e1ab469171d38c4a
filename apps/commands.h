// The subcommands. Each adds itself to the parser; its callback runs after parsing and throws on
// failure.
#pragma once

#include <CLI/CLI.hpp>

namespace submarine::apps {

void AddSolveCommand(CLI::App* app);
void AddGenerateCommand(CLI::App* app);
void AddStereoCommand(CLI::App* app);
void AddSegmentCommand(CLI::App* app);
void AddFitCommand(CLI::App* app);
void AddMetricCommand(CLI::App* app);
void AddReportCommand(CLI::App* app);

}  // namespace submarine::apps
