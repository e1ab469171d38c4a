#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/cli/file_checks.h"
#include "apps/cli/messages.h"
#include "apps/cli/option_checks.h"
#include "apps/cli/terminal.h"
#include "apps/commands.h"
#include "apps/experiments/stereo_bench/stereo_bench.h"
#include "apps/experiments/stereo_bench/stereo_bench_store.h"
#include "apps/experiments/stereo_bench/stereo_bench_table.h"
#include "apps/solve/solve_output.h"
#include "submarine/base/error.h"
#include "submarine/base/numbers.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/io/file/atomic_file.h"

namespace submarine::apps {
namespace {

using internal::Stopwatch;
using internal::ThreadLimit;
using internal::WriteFileAtomically;

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
  if (command->methods.empty()) {
    settings.methods = DefaultBenchMethods(settings.preset);
    return;
  }
  for (const std::string& name : command->methods) {
    const BenchMethod method = *ParseBenchMethod(name);
    if (std::find(settings.methods.begin(), settings.methods.end(), method) ==
        settings.methods.end())
      settings.methods.push_back(method);
    if (IsOfPaper(method) && settings.preset == StereoPreset::kDefault) {
      throw InvalidInput(fmt::format(
          "the method {} is for comparison with published results and needs --preset paper or "
          "paper-slip",
          name));
    }
  }
}

// Runs what is missing, pair by pair, and shows progress.
class Benchmark {
 public:
  Benchmark(const BenchCommand& command, const std::vector<BenchPair>& pairs,
            const BenchStore& store)
      : settings_(command.settings), pairs_(pairs), store_(store), line_(command.quiet) {}

  std::size_t wanted() const { return pairs_.size() * settings_.methods.size(); }

  BenchRows Run() {
    BenchRows rows;
    rows.settings = settings_;
    for (const BenchPair& pair : pairs_) {
      rows.pairs.push_back(pair.name);
      RunPair(pair, &rows);
    }
    line_.Clear();
    return rows;
  }

 private:
  void RunPair(const BenchPair& pair, BenchRows* rows) {
    std::optional<DenseCrf> model;  // built when first needed
    for (const BenchMethod method : settings_.methods) {
      std::optional<BenchResult> result = store_.Find(pair, settings_, method);
      if (!result && !Interrupted()) {
        StereoSettings stereo = pair.settings;
        if (!model) model = BuildStereoModel(pair.views, &stereo);
        result = RunBench(pair, *model, settings_, method, [&](const std::string& doing) {
          line_.Show(fmt::format("{} of {} done, {} elapsed  {} {}: {}", done_, wanted(),
                                 DurationText(clock_.Seconds()), pair.name, ToString(method),
                                 doing));
          return !Interrupted();
        });
        if (result) store_.Store(pair, settings_, method, *result);
      }
      if (!result) continue;
      ++done_;
      rows->runs.push_back({pair.name, method, *std::move(result)});
    }
  }

  const BenchSettings& settings_;
  const std::vector<BenchPair>& pairs_;
  const BenchStore& store_;
  ProgressLine line_;
  std::size_t done_ = 0;
  Stopwatch clock_;
};

// summary.json comes last, so that all files it names exist.
void WriteResults(const std::filesystem::path& directory, const BenchRows& rows) {
  WriteFileAtomically(directory / "table.csv", BenchCsv(rows));
  WriteFileAtomically(directory / "table.md", BenchMarkdown(rows));
  WriteBenchFigure(directory, rows);
  WriteFileAtomically(directory / "summary.json", JsonText(BenchSummary(rows)));
}

void RunBenchmark(BenchCommand command) {
  Settle(&command);
  const ThreadLimit thread_limit(command.threads);
  const std::vector<BenchPair> pairs = ReadPairs(command);
  const BenchStore store(command.output);
  CatchInterrupts();
  Benchmark benchmark(command, pairs, store);
  const BenchRows rows = benchmark.Run();
  WriteResults(command.output, rows);
  if (!command.quiet) PrintText(BenchText(rows));
  if (rows.runs.size() < benchmark.wanted()) {
    throw submarine::Interrupted(fmt::format(
        "interrupted: {} of {} runs are missing; run the same command again to continue",
        benchmark.wanted() - rows.runs.size(), benchmark.wanted()));
  }
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
         "Directories with left.png, right.png and, for errors, disparity.png; their names are "
         "those of the pairs")
      ->required();
  sub->add_option("-o,--output", command->output,
                  "Directory of table.csv, table.md, figure.png, figure.svg and summary.json; "
                  "finished runs are "
                  "kept in its runs/, and the same command continues there")
      ->required();
  AddChoice<StereoPreset>(
      sub, "--preset", &settings.preset,
      {{"default", StereoPreset::kDefault},
       {"paper", StereoPreset::kPaper},
       {"paper-slip", StereoPreset::kPaperSlip}},
      "default: the settings of `submarine stereo`; paper: those of Pansari, Russell "
      "and Kumar (2018) for tsukuba, venus, cones and teddy; paper-slip: the same, "
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
      ->check(OneOf(BenchMethodNames()))
      ->type_name("LIST")
      ->default_str("all that the preset allows");
  sub->add_option("--gap", settings.gap, "Relative gap of auto")
      ->check(NumberBetween(0, 1e12))
      ->capture_default_str();
  sub->add_option(
         "--truth-factor", command->truth_factors,
         "Divisor of the samples in NAME's disparity.png; known for nine Middlebury pairs, "
         "otherwise 1, or 256 for 16-bit pictures. A sample of 0 means unknown")
      ->type_name("NAME=F")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_option("--threads", command->threads, "0: all cores; energies do not depend on it")
      ->check(NumberBetween(0, 1e4))
      ->capture_default_str();
  sub->add_flag("-q,--quiet", command->quiet, "No progress, no table");
  sub->footer(
      "Examples:\n"
      "  submarine stereo-bench data/tsukuba data/venus -o out\n"
      "  submarine stereo-bench data/{tsukuba,venus,cones,teddy} -o paper --preset paper-slip\n"
      "  submarine stereo-bench mine -o out --methods mf,auto --truth-factor mine=4\n"
      "  submarine report out                                          a page of the results");
  sub->callback([command] { RunBenchmark(*command); });
}

}  // namespace submarine::apps
