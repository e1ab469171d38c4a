// The command `submarine`. Its exit codes are those of docs/conventions.md.
#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <new>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "apps/cli/messages.h"
#include "apps/cli/process.h"
#include "apps/commands.h"
#include "submarine/base/error.h"
#include "submarine/base/version.h"

namespace {

using submarine::apps::PrintError;

constexpr int kFailure = 1;
constexpr int kBadInput = 2;
constexpr int kIncomplete = 3;

// CLI11 would only say of an unknown command that a command is missing.
std::string UsageProblem(const CLI::App& app, const CLI::Error& error) {
  const std::vector<std::string> rest = app.remaining();
  if (app.get_subcommands().empty() && !rest.empty() && !rest.front().starts_with('-')) {
    return fmt::format("there is no command \"{}\"", rest.front());
  }
  return error.what();
}

int Run(int argc, char** argv) {
  CLI::App app(
      "submarine: marginals of conditional random fields, with a certified interval around the "
      "log-partition function");
  app.name("submarine");
  app.set_version_flag("--version", std::string("submarine ") + submarine::kVersion);
  app.require_subcommand(1);
  app.footer("`submarine COMMAND --help` shows the options of a command and examples.");
  submarine::apps::AddSolveCommand(&app);
  submarine::apps::AddGenerateCommand(&app);
  submarine::apps::AddSynthCommand(&app);
  submarine::apps::AddStereoCommand(&app);
  submarine::apps::AddStereoBenchCommand(&app);
  submarine::apps::AddSegmentCommand(&app);
  submarine::apps::AddSegmentBenchCommand(&app);
  submarine::apps::AddFitCommand(&app);
  submarine::apps::AddReportCommand(&app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      PrintError(fmt::format("{} (see submarine --help)", UsageProblem(app, error)));
      return kBadInput;
    }
    std::ostringstream help;
    app.exit(error, help, help);
    submarine::apps::PrintText(help.str());
  }
  submarine::apps::FlushOutput();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  submarine::apps::PrepareProcess();
  try {
    return Run(argc, argv);
  } catch (const submarine::Interrupted& error) {
    PrintError(error.what());
    return kIncomplete;
  } catch (const submarine::TooLarge& error) {
    PrintError(submarine::apps::InOptions(error));
    return kBadInput;
  } catch (const submarine::Error& error) {
    PrintError(error.what());
    return kBadInput;
  } catch (const std::bad_alloc&) {
    PrintError("there is not enough memory for this model");
    return kBadInput;
  } catch (const std::filesystem::filesystem_error& error) {
    PrintError(
        fmt::format("cannot use \"{}\": {}", error.path1().string(), error.code().message()));
    return kBadInput;
  } catch (const std::system_error& error) {
    PrintError(fmt::format("the operating system refused: {}", error.code().message()));
    return kFailure;
  } catch (const std::exception& error) {
    PrintError(fmt::format("internal error, please report it: {}", error.what()));
    return kFailure;
  }
}
