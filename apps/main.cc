// The command `submarine`. Exit codes: 0 done, 2 bad input or usage (one sentence on standard
// error), 1 a defect of the program.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>

#include "apps/commands.h"
#include "submarine/base/error.h"
#include "submarine/base/version.h"

namespace {

constexpr int kBadInput = 2;
constexpr int kDefect = 1;

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
  return 0;
}
