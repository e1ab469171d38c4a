#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/file_checks.h"
#include "apps/cli/option_checks.h"
#include "experiments/commands.h"
#include "experiments/experiment.h"
#include "experiments/stereo_bench.h"
#include "submarine/base/error.h"
#include "submarine/base/parallel.h"

namespace submarine::apps {
namespace {

struct BenchCommand {
  std::vector<std::string> directories;
  std::string output;
  BenchSettings settings;
  std::vector<std::string> methods;
  std::vector<std::string> truth_factors;
  int threads = 0;
  bool quiet = false;
};

std::map<std::string, double> ParseTruthFactors(const std::vector<std::string>& texts) {
  std::map<std::string, double> factors;
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('=');
    const double factor =
        equals == std::string::npos ? 0.0 : ParseNumber(std::string_view(text).substr(equals + 1));
    if (!(factor > 0.0 && std::isfinite(factor)) || equals == 0) {
      throw InvalidInput(fmt::format(
          "--truth-factor is \"{}\", expected NAME=F with F above 0, for example tsukuba=16",
          text));
    }
    factors[text.substr(0, equals)] = factor;
  }
  return factors;
}

std::vector<BenchPair> ReadPairs(const BenchCommand& command) {
  std::map<std::string, double> factors = ParseTruthFactors(command.truth_factors);
  std::set<std::string> names;
  for (const std::string& directory : command.directories) {
    if (!IsDirectory(directory)) {
      throw FileError(fmt::format(
          "\"{}\" is not a directory, expected one with left.png and right.png", directory));
    }
    if (!names.insert(PairName(directory)).second) {
      throw InvalidInput(
          fmt::format("two directories are called \"{}\", expected names that tell pairs apart",
                      PairName(directory)));
    }
  }
  for (const auto& [name, factor] : factors) {
    if (names.count(name) == 0)
      throw InvalidInput(
          fmt::format("--truth-factor names \"{}\", but no directory has that name", name));
  }
  std::vector<BenchPair> pairs;
  for (const std::string& directory : command.directories)
    pairs.push_back(ReadBenchPair(directory, command.settings.preset, factors));
  return pairs;
}

void Settle(BenchCommand* command) {
  BenchSettings& settings = command->settings;
  for (const std::string& method : command->methods.empty() ? StereoMethods() : command->methods) {
    const bool allowed = !IsOfPaper(method) || settings.preset != StereoPreset::kDefault;
    if (!allowed && !command->methods.empty()) {
      throw InvalidInput(fmt::format(
          "the method {} is for comparison with published results and needs --preset paper or "
          "paper-slip",
          method));
    }
    if (allowed && std::find(settings.methods.begin(), settings.methods.end(), method) ==
                       settings.methods.end())
      settings.methods.push_back(method);
  }
}

void RunBenchmark(BenchCommand command) {
  Settle(&command);
  const internal::ThreadLimit thread_limit(command.threads);
  const std::vector<BenchPair> pairs = ReadPairs(command);
  Experiment experiment(command.output, "stereo-bench", {"pair",
                                                         "method",
                                                         "preset",
                                                         "energy",
                                                         "published_energy",
                                                         "lower",
                                                         "upper",
                                                         "dual",
                                                         "seconds",
                                                         "iterations",
                                                         "termination",
                                                         "pairs",
                                                         "bad_0.5",
                                                         "bad_1",
                                                         "bad_2",
                                                         "mean_absolute",
                                                         "refined_bad_0.5",
                                                         "refined_bad_1",
                                                         "refined_bad_2",
                                                         "refined_mean_absolute"},
                        pairs.size() * command.settings.methods.size(), command.quiet);
  for (const BenchPair& pair : pairs) {
    const std::vector<Task> tasks = StereoTasks(pair, command.settings);
    experiment.Run(tasks.size(), [&](std::size_t k) { return tasks[k]; });
  }
  experiment.Finish();
}

}  // namespace

void AddStereoBenchCommand(CLI::App* app) {
  auto command = std::make_shared<BenchCommand>();
  BenchSettings& settings = command->settings;
  CLI::App* sub = app->add_subcommand(
      "stereo-bench",
      "Stereo pairs by several methods: energies, times, certified intervals, errors");
  sub->add_option(
         "DIR", command->directories,
         "Directories with left.png, right.png and, for errors, disparity.png (or view1.png, "
         "view5.png and disp1.png); their names are those of the pairs")
      ->required();
  sub->add_option("-o,--output", command->output,
                  "Directory of results.csv; finished runs are kept in its runs/, and the same "
                  "command continues there")
      ->required();
  AddChoice<StereoPreset>(
      sub, "--preset", &settings.preset,
      {{"default", StereoPreset::kDefault},
       {"paper", StereoPreset::kPaper},
       {"paper-slip", StereoPreset::kPaperSlip}},
      "default: the plain model of `submarine stereo --unary census`; paper: that of Pansari, "
      "Russell "
      "and Kumar (2018), with their numbers for tsukuba, venus, cones and teddy, and 16 "
      "disparities "
      "for other pairs; paper-slip: the same, "
      "with the right view's colours in the kernel where the authors' runs had them");
  sub->add_option("--methods", command->methods,
                  "Separated by commas: mf-published (mean field as the authors ran it; paper "
                  "presets), mf-self "
                  "(their update on the scored kernel; paper presets), mf (mean field of the "
                  "model; all until "
                  "|dQ|^2 <= 0.001), fw (100 Frank-Wolfe steps, their Submod), auto (ours, with a "
                  "certificate), "
                  "constant (the best single disparity)")
      ->delimiter(',')
      ->check(OneOf(StereoMethods()))
      ->type_name("LIST")
      ->default_str("all that the preset allows");
  sub->add_option("--gap", settings.gap, "Relative gap of auto")->check(NumberBetween(0, 1e12));
  sub->add_option(
         "--truth-factor", command->truth_factors,
         "Divisor of the samples in NAME's disparity.png; known for nine Middlebury pairs, "
         "otherwise 1, or 256 for 16-bit pictures. A sample of 0 means unknown")
      ->type_name("NAME=F")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_option("--threads", command->threads, "0: all cores; energies do not depend on it")
      ->check(NumberBetween(0, 1e4));
  sub->add_flag("-q,--quiet", command->quiet, "No progress, no summary");
  sub->footer(
      "Examples:\n"
      "  submarine-experiments stereo-bench data/tsukuba data/venus -o out\n"
      "  submarine-experiments stereo-bench data/{tsukuba,venus,cones,teddy} -o paper --preset "
      "paper-slip\n"
      "  submarine-experiments stereo-bench mine -o out --methods mf,auto --truth-factor mine=4");
  sub->callback([command] { RunBenchmark(*command); });
}

}  // namespace submarine::apps
