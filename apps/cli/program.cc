#include "apps/cli/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

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

std::string DidYouMean(std::string_view text, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string nearest = NearestName(text, views);
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

// CLI11 would only say of an unknown command that a command is missing, and of an unknown option that it and its value were
// not expected.
std::string UsageProblem(const CLI::App& app, const CLI::Error& error) {
  const std::vector<std::string> rest = app.remaining(/*recurse=*/true);
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  std::vector<std::string> names;
  if (chosen.empty()) {
    if (rest.empty() || rest.front().starts_with('-')) return error.what();
    for (const CLI::App* command :
         app.get_subcommands([](const CLI::App* /*any*/) { return true; }))
      names.push_back(command->get_name());
    return fmt::format("there is no command \"{}\"{}", rest.front(),
                       DidYouMean(rest.front(), names));
  }
  for (const CLI::Option* option : chosen.front()->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const std::string& text : rest) {
    const std::string option = text.substr(0, text.find('='));
    if (option.starts_with("--") && std::find(names.begin(), names.end(), option) == names.end())
      return fmt::format("{} has no option {}{}", chosen.front()->get_name(), option,
                         DidYouMean(option, names));
  }
  return error.what();
}

int Run(int argc, char** argv, const std::string& name, const std::string& description,
        const std::vector<void (*)(CLI::App*)>& commands) {
  CLI::App app(fmt::format("{}: {}", name, description));
  app.option_defaults()->always_capture_default();
  app.name(name);
  app.set_version_flag("--version", fmt::format("{} {}", name, kVersion));
  app.require_subcommand(1);
  app.footer(fmt::format("`{} COMMAND --help` shows the options of a command and examples.", name));
  for (const auto add : commands) add(&app);
  for (CLI::App* command : app.get_subcommands([](const CLI::App* /*any*/) { return true; })) {
    for (CLI::Option* option : command->get_options()) {
      if (option->get_default_str() == "[]") option->default_str("");  // lists that are empty
    }
  }
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
