#include "apps/cli/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <sstream>
#include <string_view>
#include <system_error>

#include "apps/cli/messages.h"
#include "apps/cli/process.h"
#include "submarine/base/error.h"
#include "submarine/base/names.h"
#include "submarine/base/version.h"

namespace submarine::apps {
namespace {

constexpr int kFailure = 1;
constexpr int kBadInput = 2;
constexpr int kIncomplete = 3;

// "there is no option "--softmx"; did you mean --softmax?"
std::string NoSuch(const char* what, const std::string& text,
                   const std::vector<std::string>& names) {
  const std::string nearest =
      NearestName(text, std::vector<std::string_view>(names.begin(), names.end()));
  return fmt::format("there is no {} \"{}\"{}", what, text,
                     nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

// CLI11 would only say of an unknown command that a command is missing, and of an unknown option that it is one.
std::string UsageProblem(const CLI::App& app, const CLI::Error& error) {
  const std::vector<const CLI::App*> chosen = app.get_subcommands({});
  const auto parsed = std::find_if(chosen.begin(), chosen.end(),
                                   [](const CLI::App* command) { return command->parsed(); });
  const std::vector<std::string> rest = app.remaining(/*recurse=*/true);
  std::vector<std::string> names;
  if (parsed == chosen.end()) {
    if (rest.empty() || rest.front().starts_with('-')) return error.what();
    for (const CLI::App* command : chosen) names.push_back(command->get_name());
    return NoSuch("command", rest.front(), names);
  }
  const auto option = std::find_if(rest.begin(), rest.end(),
                                   [](const std::string& text) { return text.starts_with("--"); });
  if (option == rest.end()) return error.what();
  for (const CLI::Option* known : (*parsed)->get_options()) {
    for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  }
  return NoSuch("option", option->substr(0, option->find('=')), names);
}

int Run(int argc, char** argv, const std::string& name, const std::string& description,
        const std::vector<void (*)(CLI::App*)>& commands) {
  CLI::App app(fmt::format("{}: {}", name, description));
  app.name(name);
  app.set_version_flag("--version", fmt::format("{} {}", name, kVersion));
  app.require_subcommand(1);
  app.footer(fmt::format("`{} COMMAND --help` shows the options of a command and examples.", name));
  for (const auto add : commands) add(&app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      PrintError(fmt::format("{} (see {} --help)", UsageProblem(app, error), name));
      return kBadInput;
    }
    std::ostringstream help;
    app.exit(error, help, help);
    PrintText(help.str());
  }
  FlushOutput();
  return 0;
}

}  // namespace

int RunProgram(int argc, char** argv, const std::string& name, const std::string& description,
               const std::vector<void (*)(CLI::App*)>& commands) {
  PrepareProcess();
  try {
    return Run(argc, argv, name, description, commands);
  } catch (const submarine::Interrupted& error) {
    PrintError(error.what());
    return kIncomplete;
  } catch (const TooLarge& error) {
    PrintError(InOptions(error));
    return kBadInput;
  } catch (const Error& error) {
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

}  // namespace submarine::apps
