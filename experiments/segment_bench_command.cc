#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/option_checks.h"
#include "apps/fit/labelled_pictures.h"
#include "experiments/commands.h"
#include "experiments/experiment.h"
#include "experiments/segment_bench.h"
#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/io/segmentation/segmentation_parameters.h"

namespace submarine::apps {
namespace {

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

void RunSegmentBenchmark(const SegmentBenchCommand& command) {
  const std::vector<SegmentMethod> methods = Methods(command.methods);
  const std::vector<NamedParameters> parameters = Parameters(command.parameters);
  const std::vector<LabelledFiles> files = FindLabelledPictures(command.inputs);
  const LabelledPicture first = ReadLabelledPicture(files.front(), command.unknown);
  const internal::ThreadLimit thread_limit(command.threads);
  Experiment experiment(command.output, "segment-bench",
                        {"picture", "parameters", "method", "accuracy", "mean_iou",
                         "boundary_accuracy_3", "boundary_accuracy_6", "calibration_error",
                         "negative_log_likelihood", "seconds", "cpu_seconds", "termination"},
                        files.size() * parameters.size() * methods.size(), command.quiet);
  for (const LabelledFiles& one : files) {
    const LabelledPicture picture = ReadLabelledPicture(one, command.unknown);
    RequireSameLabels(first, picture);
    const std::vector<Task> tasks = SegmentTasks(picture, parameters, methods, command.time_limit);
    experiment.Run(tasks.size(), [&](std::size_t k) { return tasks[k]; });
  }
  experiment.Finish();
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
                  "Directory of results.csv; finished runs are kept in its runs/, and the same "
                  "command continues there")
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
  sub->add_option("--ignore", command->unknown,
                  "The value that means \"unknown\" in the true labels")
      ->check(NumberBetween(0, 65535));
  sub->add_option("--time-limit", command->time_limit,
                  "Seconds for each picture by auto and by routed")
      ->check(NumberBetween(0.1, 1e9));
  sub->add_option("--threads", command->threads, "0: all cores; scores do not depend on it")
      ->check(NumberBetween(0, 1e4));
  sub->add_flag("-q,--quiet", command->quiet, "No progress, no summary");
  sub->footer(
      "Examples:\n"
      "  submarine-experiments segment-bench pictures -o out\n"
      "  submarine-experiments segment-bench pictures -o out --parameters "
      "fitted=fit/parameters.json\n"
      "  submarine-experiments segment-bench pictures -o out --methods unary,mf5,routed "
      "--time-limit 120");
  sub->callback([command] { RunSegmentBenchmark(*command); });
}

}  // namespace submarine::apps
