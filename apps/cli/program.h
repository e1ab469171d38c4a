// What every program of the project does around its commands: options, messages, exit codes
// (docs/conventions.md).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace submarine::apps {

// `commands` add themselves to the parser.
int RunProgram(int argc, char** argv, const std::string& name, const std::string& description,
               const std::vector<void (*)(CLI::App*)>& commands);

}  // namespace submarine::apps
