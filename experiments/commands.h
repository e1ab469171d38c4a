// The subcommands of submarine-experiments, as in apps/commands.h.
#pragma once

#include <CLI/CLI.hpp>

namespace submarine::apps {

void AddSynthCommand(CLI::App* app);
void AddStereoBenchCommand(CLI::App* app);
void AddStereoSearchCommand(CLI::App* app);
void AddSegmentBenchCommand(CLI::App* app);

}  // namespace submarine::apps
