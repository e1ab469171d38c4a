// The command `submarine`. Exit codes: 0 done, 2 bad input or usage (one sentence on standard
// error), 1 a defect of the program.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "apps/commands.h"
#include "submarine/base/error.h"
#include "submarine/base/version.h"

namespace {

constexpr int kBadInput = 2;
constexpr int kDefect = 1;

// CLI11 would say of an unknown command only that a command is missing.
std::string UsageProblem(const CLI::App& app, const CLI::Error& error) {
  const std::vector<std::string> rest = app.remaining();
  if (app.get_subcommands().empty() && !rest.empty() && !rest.front().starts_with('-')) {
    return fmt::format("there is no command \"{}\"", rest.front());
  }
  return error.what();
}

}  // namespace

int main(int argc, char** argv) {
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
  submarine::apps::AddReportCommand(&app);
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) {
    return fmt::format("submarine: {} (see submarine --help)\n", UsageProblem(*failed, error));
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadInput;
  } catch (const submarine::Error& error) {
    fmt::print(stderr, "submarine: {}\n", error.what());
    return kBadInput;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "submarine: there is not enough memory for this model\n");
    return kBadInput;
  } catch (const std::exception& error) {
    fmt::print(stderr, "submarine: internal error, please report it: {}\n", error.what());
    return kDefect;
  }
  if (std::fflush(stdout) != 0) {
    fmt::print(stderr, "submarine: cannot write to standard output: {}\n",
               std::generic_category().message(errno));
    return kBadInput;
  }
  return 0;
}
