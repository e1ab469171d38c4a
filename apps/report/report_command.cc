#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "apps/cli/messages.h"
#include "apps/cli/option_checks.h"
#include "apps/commands.h"
#include "apps/report/report.h"
#include "submarine/io/file/atomic_file.h"

namespace submarine::apps {
namespace {

using internal::WriteFileAtomically;

struct ReportCommand {
  std::string bundle;
  std::string output;
  ReportOptions options;
};

void RunReport(const ReportCommand& command) {
  const std::filesystem::path output = command.output.empty()
                                           ? std::filesystem::path(command.bundle) / "report.html"
                                           : std::filesystem::path(command.output);
  WriteFileAtomically(output, BuildReport(command.bundle, command.options));
  if (output != "/dev/stdout") PrintLine(fmt::format("Wrote {}.", output.string()));
}

}  // namespace

void AddReportCommand(CLI::App* app) {
  auto command = std::make_shared<ReportCommand>();
  CLI::App* sub = app->add_subcommand(
      "report", "Make one self-contained web page of the results in a directory");
  sub->add_option("DIR", command->bundle,
                  "Directory with summary.json and what it names (docs/formats.md)")
      ->required();
  sub->add_option("-o,--output", command->output, "The page")->default_str("DIR/report.html");
  sub->add_option("--max-mb", command->options.max_megabytes,
                  "Show fewer pixels and labels where the page would be larger")
      ->check(NumberBetween(0.1, 1e4));
  sub->footer(
      "Examples:\n"
      "  submarine solve model.json --json out/summary.json --marginals out/marginals.npy\n"
      "  submarine report out                            then open out/report.html in a browser\n"
      "  submarine report out -o page.html --max-mb 5");
  sub->callback([command] { RunReport(*command); });
}

}  // namespace submarine::apps
