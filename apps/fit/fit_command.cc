#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/cli/messages.h"
#include "apps/cli/option_checks.h"
#include "apps/cli/terminal.h"
#include "apps/commands.h"
#include "apps/fit/fit_output.h"
#include "apps/fit/labelled_pictures.h"
#include "apps/fit/run_store.h"
#include "apps/fit/stored_scores.h"
#include "apps/solve/solve_output.h"
#include "submarine/base/parallel.h"
#include "submarine/fit/fit.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/model/metric_spec.h"
#include "submarine/io/segmentation/segmentation_parameters.h"

namespace submarine::apps {
namespace {

using internal::FitOptions;
using internal::FitResult;
using internal::FitScore;
using internal::ThreadLimit;
using internal::WriteFileAtomically;

struct FitCommand {
  std::vector<std::string> inputs;
  std::string output;
  FitOptions settings;
  std::string metric = "potts";
  int unknown = 255;
  int threads = 0;
  bool quiet = false;
};

// summary.json comes last, so that all files it names exist.
void WriteResults(const std::filesystem::path& directory, const FitResult& result,
                  const FitOptions& settings) {
  WriteSegmentationParameters(directory / "parameters.json", result.Advised(),
                              FitProvenance(result, settings).dump());
  WriteFileAtomically(directory / "table.md", FitMarkdown(result, settings));
  WriteFileAtomically(directory / "summary.json", JsonText(FitSummary(result, settings)));
}

void RunFit(FitCommand command) {
  std::vector<LabelledPicture> pictures;
  for (const LabelledFiles& files : FindLabelledPictures(command.inputs))
    pictures.push_back(ReadLabelledPicture(files, command.unknown));
  if (command.metric != "potts" && !pictures.empty())
    command.settings.labels =
        ParseMetricSpec(command.metric, pictures.front().num_labels(), false, nullptr);
  internal::CheckFit(pictures, command.settings);
  const ThreadLimit thread_limit(command.threads);
  RunStore store(command.output, "submarine fit");
  StoredScores memory(pictures, command.settings, &store);
  CatchInterrupts();
  ProgressLine line(command.quiet);
  const FitResult result = internal::FitParameters(pictures, command.settings, &memory,
                                                   [&line](const std::string& doing) {
                                                     line.Show(doing);
                                                     return !Interrupted();
                                                   });
  WriteResults(command.output, result, command.settings);
  line.Clear();
  if (!command.quiet) {
    PrintText(FitText(result, command.settings));
    PrintLine(
        "Parameters: " + (std::filesystem::path(command.output) / "parameters.json").string() +
        (command.settings.labels ? ", for --metric " + command.metric : ""));
  }
}

}  // namespace

void AddFitCommand(CLI::App* app) {
  auto command = std::make_shared<FitCommand>();
  FitOptions& settings = command->settings;
  CLI::App* sub = app->add_subcommand(
      "fit",
      "Parameters of segmentation from a few labelled pictures, and whether they help, held out");
  sub->add_option(
         "INPUT", command->inputs,
         "Directories with X.png (jpg, bmp, ...), X.softmax.npy and X.labels.png for every "
         "picture X, or lists of such files separated by tabs")
      ->required();
  sub->add_option("-o,--output", command->output,
                  "Directory of parameters.json, table.md and summary.json; "
                  "what was evaluated is kept in its runs/, and the same command continues there")
      ->required();
  AddChoice<FitScore>(
      sub, "--score", &settings.score,
      {{"iou", FitScore::kMeanIou},
       {"accuracy", FitScore::kAccuracy},
       {"nll", FitScore::kLikelihood}},
      "Score to maximise, of all pictures together: mean IoU over the classes in the truth, the "
      "fraction of correct pixels, or the likelihood of the truth (for probabilities to be used "
      "as such)");
  sub->add_option("--updates", settings.updates, "Number of updates of mean field")
      ->check(NumberBetween(1, 1000));
  sub->add_option("--metric", command->metric,
                  "Distance of labels, as `segment --metric` takes it; to be given there, too");
  sub->add_option("--folds", settings.folds,
                  "Number of folds; each is scored with parameters found on the others");
  sub->add_option("--evaluations", settings.evaluations,
                  "Parameter sets tried per search; there is one search per fold and one on all "
                  "pictures")
      ->check(NumberBetween(1, 100000));
  sub->add_option("--pixels", settings.pixels,
                  "Search on pictures shrunk to at most this many pixels")
      ->check(NumberBetween(100, 1e9));
  sub->add_option(
         "--superpixels", settings.superpixel_sizes,
         "Also learn gamma and Q of superpixels of about so many pixels along a side; given "
         "once for every scale")
      ->type_name("SIZE")
      ->check(NumberBetween(2, 1e4))
      ->allow_extra_args(false);
  sub->add_option("--seed", settings.seed, "Seed of the folds and of the first steps")
      ->check(NumberBetween(0, 1.8e19));
  sub->add_option("--ignore", command->unknown,
                  "The value that means \"unknown\" in the true labels")
      ->check(NumberBetween(0, 65535));
  sub->add_option("--threads", command->threads, "0: all cores; results do not depend on it")
      ->check(NumberBetween(0, 1e4));
  sub->add_flag("-q,--quiet", command->quiet, "No progress, no summary");
  sub->footer(
      "Examples:\n"
      "  submarine fit pictures -o fit\n"
      "  submarine segment photo.png --softmax photo.npy --parameters fit/parameters.json -o out\n"
      "  submarine-experiments segment-bench others -o bench --parameters "
      "fitted=fit/parameters.json");
  sub->callback([command] { RunFit(*command); });
}

}  // namespace submarine::apps
