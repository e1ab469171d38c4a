#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/messages.h"
#include "apps/cli/option_checks.h"
#include "apps/cli/terminal.h"
#include "apps/commands.h"
#include "apps/experiments/labelled_pictures.h"
#include "apps/experiments/run_store.h"
#include "apps/experiments/segment_bench/segment_bench.h"
#include "apps/experiments/segment_bench/segment_bench_table.h"
#include "apps/solve/solve_output.h"
#include "submarine/base/error.h"
#include "submarine/base/numbers.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/base/version.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/segmentation/segmentation_parameters.h"

namespace submarine::apps {
namespace {

using internal::Stopwatch;
using internal::ThreadLimit;
using internal::WriteFileAtomically;

struct SegmentBenchCommand {
  std::vector<std::string> inputs;
  std::string output;
  std::vector<std::string> methods;
  std::vector<std::string> parameters;
  int unknown = 255;
  double time_limit = 60.0;
  int threads = 0;
  bool quiet = false;
};

std::vector<SegmentMethod> Methods(const std::vector<std::string>& names) {
  if (names.empty()) return DefaultSegmentMethods();
  std::vector<SegmentMethod> methods;
  for (const std::string& name : names) {
    const auto method = ParseSegmentMethod(name);
    if (!method) {
      throw InvalidInput(fmt::format(
          "--methods names \"{}\", expected unary, mf, mfN or pydensecrfN with N iterations, auto "
          "or routed",
          name));
    }
    if (std::find(methods.begin(), methods.end(), *method) == methods.end())
      methods.push_back(*method);
  }
  return methods;
}

std::vector<NamedParameters> Parameters(const std::vector<std::string>& texts) {
  std::vector<NamedParameters> sets = {{"default", {}}};
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (equals == std::string::npos || name.empty() || equals + 1 == text.size() ||
        name.find_first_of("/\\.") != std::string::npos) {
      throw InvalidInput(fmt::format(
          "--parameters is \"{}\", expected NAME=FILE, for example fitted=fit/parameters.json",
          text));
    }
    if (std::any_of(sets.begin(), sets.end(),
                    [&](const NamedParameters& set) { return set.name == name; })) {
      throw InvalidInput(fmt::format(
          "two sets of parameters are called \"{}\", expected names that tell them apart", name));
    }
    sets.push_back({name, ReadSegmentationParameters(text.substr(equals + 1))});
  }
  return sets;
}

// Runs what is missing, picture by picture, and shows progress.
class SegmentBenchmark {
 public:
  SegmentBenchmark(const SegmentBenchCommand& command, std::vector<LabelledFiles> files,
                   const RunStore& store)
      : command_(command), files_(std::move(files)), store_(store), line_(command.quiet) {}

  SegmentRows Run(std::vector<NamedParameters> parameters, std::vector<SegmentMethod> methods) {
    SegmentRows rows{std::move(parameters), std::move(methods), {}, {}};
    wanted_ = files_.size() * rows.parameters.size() * rows.methods.size();
    std::optional<LabelledPicture> first;
    for (const LabelledFiles& files : files_) {
      LabelledPicture picture = ReadLabelledPicture(files, command_.unknown);
      if (first) RequireSameLabels(*first, picture);
      rows.pictures.push_back(files.name);
      RunPicture(picture, &rows);
      if (!first) first = std::move(picture);
    }
    line_.Clear();
    return rows;
  }

  std::size_t wanted() const { return wanted_; }

 private:
  void RunPicture(const LabelledPicture& picture, SegmentRows* rows) {
    for (const NamedParameters& set : rows->parameters) {
      for (const SegmentMethod& method : rows->methods) {
        std::optional<SegmentResult> result = Stored(picture, set, method);
        if (!result && !Interrupted()) {
          result = RunSegmentMethod(picture, set.parameters, method, command_.time_limit,
                                    [&](const std::string& doing) {
                                      Show(picture, set, method, doing);
                                      return !Interrupted();
                                    });
          if (result) Store(picture, set, method, *result);
        }
        if (!result) continue;
        ++done_;
        rows->runs.push_back({picture.name, set.name, method, *std::move(result)});
      }
    }
  }

  static std::string NameOf(const LabelledPicture& picture, const NamedParameters& set,
                            const SegmentMethod& method) {
    return fmt::format("{}.{}.{}", picture.name, set.name, ToString(method));
  }

  std::optional<SegmentResult> Stored(const LabelledPicture& picture, const NamedParameters& set,
                                      const SegmentMethod& method) const {
    const std::string name = NameOf(picture, set, method);
    const auto found =
        store_.Find(name, RunParameters(picture, set.parameters, method, command_.time_limit));
    try {
      return found ? std::optional(ReadSegmentResult(*found)) : std::nullopt;
    } catch (const nlohmann::json::exception&) {
      store_.Refuse(name);
    }
  }

  void Store(const LabelledPicture& picture, const NamedParameters& set,
             const SegmentMethod& method, const SegmentResult& result) const {
    store_.Store(
        NameOf(picture, set, method),
        {{"picture", picture.name},
         {"method", ToString(method)},
         {"parameters", RunParameters(picture, set.parameters, method, command_.time_limit)},
         {"result", ToJson(result)},
         {"version", kVersion}});
  }

  void Show(const LabelledPicture& picture, const NamedParameters& set, const SegmentMethod& method,
            const std::string& doing) {
    line_.Show(fmt::format("{} of {} done, {} elapsed  {} {} {}: {}", done_, wanted_,
                           DurationText(clock_.Seconds()), picture.name, set.name, ToString(method),
                           doing));
  }

  const SegmentBenchCommand& command_;
  std::vector<LabelledFiles> files_;
  const RunStore& store_;
  ProgressLine line_;
  std::size_t wanted_ = 0;
  std::size_t done_ = 0;
  Stopwatch clock_;
};

// summary.json comes last, so that all files it names exist.
void WriteResults(const std::filesystem::path& directory, const SegmentRows& rows) {
  WriteFileAtomically(directory / "table.csv", SegmentCsv(rows));
  WriteFileAtomically(directory / "table.md", SegmentMarkdown(rows));
  WriteSegmentFigure(directory, rows);
  WriteFileAtomically(directory / "summary.json", JsonText(SegmentSummary(rows)));
}

void RunSegmentBenchmark(const SegmentBenchCommand& command) {
  std::vector<SegmentMethod> methods = Methods(command.methods);
  std::vector<NamedParameters> parameters = Parameters(command.parameters);
  std::vector<LabelledFiles> files = FindLabelledPictures(command.inputs);
  ReadLabelledPicture(files.front(), command.unknown);  // fail before a directory is created
  const ThreadLimit thread_limit(command.threads);
  const RunStore store(command.output, "segment-bench");
  CatchInterrupts();
  SegmentBenchmark benchmark(command, std::move(files), store);
  const SegmentRows rows = benchmark.Run(std::move(parameters), std::move(methods));
  WriteResults(command.output, rows);
  if (!command.quiet) PrintText(SegmentText(rows));
  if (rows.runs.size() < benchmark.wanted()) {
    throw submarine::Interrupted(fmt::format(
        "interrupted: {} of {} runs are missing; run the same command again to continue",
        benchmark.wanted() - rows.runs.size(), benchmark.wanted()));
  }
}

}  // namespace

void AddSegmentBenchCommand(CLI::App* app) {
  auto command = std::make_shared<SegmentBenchCommand>();
  CLI::App* sub = app->add_subcommand(
      "segment-bench",
      "Labelled pictures by several methods and parameters: accuracy, IoU, calibration, times");
  sub->add_option(
         "INPUT", command->inputs,
         "Directories with X.png (jpg, bmp, ...), X.softmax.npy and X.labels.png for every "
         "picture X, or lists of such files separated by tabs")
      ->required();
  sub->add_option("-o,--output", command->output,
                  "Directory of table.csv, table.md, figure.png, figure.svg and summary.json; "
                  "finished runs are kept in its runs/, and the same command continues there")
      ->required();
  sub->add_option("--methods", command->methods,
                  "Separated by commas: unary (the softmax alone), mfN (N updates of mean field), "
                  "mf (until it converges), pydensecrfN (N updates of that package), auto and "
                  "routed (marginals of upper bounds, slow)")
      ->delimiter(',')
      ->type_name("LIST")
      ->default_str("unary,mf1,mf2,mf5,mf10,mf,pydensecrf5");
  sub->add_option("--parameters", command->parameters,
                  "Beside the defaults, also parameters from a file that `submarine fit` wrote")
      ->type_name("NAME=FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_option("--unknown", command->unknown,
                  "The value that means \"unknown\" in the true labels")
      ->check(NumberBetween(0, 65535))
      ->capture_default_str();
  sub->add_option("--time-limit", command->time_limit,
                  "Seconds for each picture by auto and by routed")
      ->check(NumberBetween(0.1, 1e9))
      ->capture_default_str();
  sub->add_option("--threads", command->threads, "0: all cores; scores do not depend on it")
      ->check(NumberBetween(0, 1e4))
      ->capture_default_str();
  sub->add_flag("-q,--quiet", command->quiet, "No progress, no table");
  sub->footer(
      "Examples:\n"
      "  submarine segment-bench pictures -o out\n"
      "  submarine segment-bench pictures -o out --parameters fitted=fit/parameters.json\n"
      "  submarine segment-bench pictures -o out --methods unary,mf5,routed --time-limit 120\n"
      "  submarine report out                                          a page of the results");
  sub->callback([command] { RunSegmentBenchmark(*command); });
}

}  // namespace submarine::apps
