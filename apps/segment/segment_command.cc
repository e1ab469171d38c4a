#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/dense_options.h"
#include "apps/cli/messages.h"
#include "apps/cli/option_checks.h"
#include "apps/cli/terminal.h"
#include "apps/commands.h"
#include "apps/segment/segment_batch.h"
#include "apps/segment/segment_job.h"
#include "apps/solve/solve_output.h"
#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/io/segmentation/segmentation_parameters.h"

namespace submarine::apps {
namespace {

using internal::ThreadLimit;

struct SegmentCommand {
  SegmentInputs inputs;
  std::string directory;
  std::string classes;
  std::string palette;
  std::string layout;
  std::string parameters;
  std::vector<double> spatial = {3.0, 3.0};
  std::vector<double> bilateral = {80.0, 13.0, 10.0};
  bool best = false;
  bool no_report = false;
  double max_megabytes = ReportOptions().max_megabytes;
  SegmentSettings settings;
};

bool Given(const CLI::App& sub, const std::string& option) {
  return sub.get_option(option)->count() > 0;
}

void CheckInputs(const SegmentInputs& inputs) {
  const int given = static_cast<int>(!inputs.softmax.empty()) +
                    static_cast<int>(!inputs.unary.empty()) +
                    static_cast<int>(!inputs.scribbles.empty());
  if (given != 1) {
    throw InvalidInput(
        "segment needs one of --softmax (probabilities), --unary (costs) and --scribbles, and not "
        "more than one of them");
  }
}

void ChooseBest(const CLI::App& sub, SolveOptions* solve) {
  if (Given(sub, "--method"))
    throw InvalidInput("--best chooses the method itself; give either --best or --method");
  solve->method = Method::kAuto;
  solve->dense.classic_updates = false;
}

// The defaults are cheap because the labels are what matters: the usual number of updates, on
// lattices, and the lower bound that they prove there. Other methods, or mean field to convergence,
// come with their own bounds. More updates sharpen the marginals without better labels: see
// docs/parameters.md.
void ChooseMeanField(const CLI::App& sub, SolveOptions* solve) {
  if (solve->method != Method::kMeanField) return;
  if (!Given(sub, "--pairs")) solve->dense.pairs.kind = OperatorKind::kLattice;
  if (!Given(sub, "--certify")) solve->dense.certify = Certify::kLower;
  if (solve->dense.classic_updates && !solve->limits.max_iterations)
    solve->limits.max_iterations = SegmentationParameters().iterations;
}

// Takes the parameters of the file, except those given as options.
void TakeParameters(const CLI::App& sub, const std::string& file, SegmentSettings* settings) {
  const KernelNormalisation normalisation = settings->parameters.normalisation;
  settings->parameters = ReadSegmentationParameters(file);
  const SegmentationParameters& parameters = settings->parameters;
  if (!Given(sub, "--softmax-temperature"))
    settings->reading.softmax_temperature = parameters.softmax_temperature;
  SolveOptions& solve = settings->dense.solve;
  // The iterations in the file are for mean field.
  if (solve.method == Method::kMeanField && !Given(sub, "--max-iterations") &&
      !Given(sub, "--updates")) {
    solve.dense.classic_updates = parameters.iterations > 0;
    if (parameters.iterations > 0) solve.limits.max_iterations = parameters.iterations;
  }
  if (Given(sub, "--normalisation")) settings->parameters.normalisation = normalisation;
}

SegmentSettings SettingsOf(const CLI::App& sub, const SegmentCommand& command) {
  SegmentSettings settings = command.settings;
  if (command.best) ChooseBest(sub, &settings.dense.solve);
  if (!command.parameters.empty()) TakeParameters(sub, command.parameters, &settings);
  const bool from_file = !command.parameters.empty();
  SegmentationParameters& parameters = settings.parameters;
  if (!from_file || Given(sub, "--spatial")) {
    CheckKernelOption("--spatial", command.spatial);
    parameters.position_sigma = command.spatial[0];
    parameters.position_weight = command.spatial[1];
  }
  if (!from_file || Given(sub, "--bilateral")) {
    CheckKernelOption("--bilateral", command.bilateral);
    parameters.bilateral_sigma = command.bilateral[0];
    parameters.colour_sigma = command.bilateral[1];
    parameters.bilateral_weight = command.bilateral[2];
  }
  if (!command.classes.empty()) settings.reading.classes = ReadClassNames(command.classes);
  if (!command.palette.empty() && command.palette != "voc")
    settings.reading.palette = ReadPalette(command.palette);
  if (!command.layout.empty()) {
    settings.reading.layout =
        command.layout == "labels-last" ? SoftmaxLayout::kLabelsLast : SoftmaxLayout::kLabelsFirst;
  }
  settings.report = command.no_report
                        ? std::nullopt
                        : std::optional(ReportOptions{.max_megabytes = command.max_megabytes});
  ChooseMeanField(sub, &settings.dense.solve);
  return settings;
}

void RunSegment(const CLI::App& sub, const SegmentCommand& command) {
  CheckInputs(command.inputs);
  const SegmentSettings settings = SettingsOf(sub, command);
  CatchInterrupts();
  if (command.inputs.several()) {
    RunSegmentBatch(settings, SegmentJobs(command.inputs, command.directory), command.directory);
    return;
  }
  const ThreadLimit thread_limit(settings.dense.threads);
  const SegmentInputs& inputs = command.inputs;
  const SegmentJob job{
      {inputs.images.front(), inputs.softmax, inputs.unary, inputs.scribbles, inputs.truth},
      command.directory};
  SolveProgress progress(settings.dense.solve, settings.dense.quiet);
  const SegmentDone done = RunSegmentJob(settings, job, false, &progress);
  progress.Clear();
  for (const std::string& warning : done.picture.warnings) PrintWarning(warning);
  if (settings.dense.quiet) {
    CheckComplete(done.outcome.solved);
    return;
  }
  for (const std::string& note : done.picture.notes) PrintLine(note);
  PrintText(OutcomeText(done.picture, done.outcome));
  PrintText(Summary(done.outcome.solved));
  PrintLine("Results: " +
            (std::filesystem::path(command.directory) / (done.page ? "report.html" : "")).string());
  CheckComplete(done.outcome.solved);
}

void AddInputOptions(CLI::App* sub, SegmentCommand* command) {
  SegmentInputs& inputs = command->inputs;
  SegmentReading& reading = command->settings.reading;
  sub->add_option("IMAGE", inputs.images,
                  "The picture (PNG, JPEG, TIFF, BMP, PGM, PPM); several, or a directory of them, "
                  "are segmented in parallel, and the same command continues where it was stopped")
      ->required();
  AddOutputOption(sub, &command->directory);
  sub->add_option("--softmax", inputs.softmax,
                  "Probabilities of a classifier as .npy of shape (height, width, labels) or "
                  "(labels, height, width)");
  sub->add_option("--unary", inputs.unary,
                  "Instead of --softmax: costs (-log probability), same shapes");
  sub->add_option("--scribbles", inputs.scribbles,
                  "Instead of --softmax: a picture of the same size with a colour for every label, "
                  "black for undecided. For several pictures, these are directories with files of "
                  "the pictures' names");
  sub->add_option("--truth", inputs.truth,
                  "The true labels, as a grey picture, one with a palette, or .npy of integers: "
                  "accuracy and intersection over union before and after");
  sub->add_option("--ignore", reading.ignore, "Value of unknown pixels in --truth")
      ->check(NumberBetween(-1, 65535))
      ->capture_default_str();
  sub->add_option("--classes", command->classes, "Names of the labels: a text file, one per line");
  sub->add_option("--palette", command->palette,
                  "Colours of the labels: voc, or a text file with #rrggbb or R G B per line")
      ->type_name("voc|FILE")
      ->default_str("voc, or those of the scribbles");
  sub->add_option("--layout", command->layout, "Axis order, for arrays whose shape fits both ways")
      ->check(OneOf({"labels-last", "labels-first"}))
      ->type_name("{labels-last,labels-first}");
  sub->add_option("--confidence", reading.confidence,
                  "Probability that a scribble is right, against all other labels together")
      ->check(NumberInside(0, 1))
      ->capture_default_str();
  sub->add_option("--softmax-temperature", reading.softmax_temperature,
                  "Divides the costs of --softmax: above 1 trusts the classifier less")
      ->check(NumberInside(0, 1e6))
      ->capture_default_str();
}

}  // namespace

void AddSegmentCommand(CLI::App* app) {
  auto command = std::make_shared<SegmentCommand>();
  SegmentSettings& settings = command->settings;
  SolveOptions& solve = settings.dense.solve;
  solve.method = Method::kMeanField;
  solve.dense.classic_updates = true;
  solve.dense.marginals = DenseMarginals::kMeanField;
  CLI::App* sub = app->add_subcommand(
      "segment",
      "A picture and a classifier's softmax (or scribbles) in; labels along its edges out");
  AddInputOptions(sub, command.get());
  sub->add_flag("--best", command->best,
                "Take the time for the best energy and a certified interval around log Z (auto) "
                "instead of 5 iterations of mean field and a lower bound");
  sub->add_flag("--no-report", command->no_report, "Write no report.html");
  sub->add_option("--max-mb", command->max_megabytes,
                  "Show pictures and probabilities at a lower resolution where report.html would "
                  "be larger")
      ->check(NumberBetween(0.1, 1e4))
      ->capture_default_str();
  AddDenseSolveOptions(sub, &settings.dense);
  AddChoice<bool>(
      sub, "--updates", &solve.dense.classic_updates, {{"classic", true}, {"damped", false}},
      "Mean-field updates. classic: all pixels at once, 5 times or --max-iterations; damped: "
      "until the bound no longer rises");
  const char* group = "Model";
  sub->add_option("--metric", settings.metric,
                  "Distance of labels: potts, linear, truncated:T, tree:FILE")
      ->capture_default_str()
      ->group(group);
  sub->add_option(
         "--parameters", command->parameters,
         "Kernels, iterations and temperature as `submarine fit` writes them (JSON); options "
         "given beside it take precedence")
      ->group(group);
  AddKernelOptions(sub, &command->spatial, &command->bilateral);
  AddChoice<KernelNormalisation>(
      sub, "--normalisation", &settings.parameters.normalisation,
      {{"symmetric", KernelNormalisation::kSymmetric}, {"none", KernelNormalisation::kNone}},
      "symmetric: divide by row sums, so that pixels with many similar ones weigh no more")
      ->group(group);
  AddChoice<bool>(sub, "--count", &settings.ordered, {{"once", false}, {"ordered", true}},
                  "once: a pair adds its weight once; ordered: as (a, b) and as (b, a), twice")
      ->group(group);
  AddPairOptions(sub, &solve);
  sub->footer(
      "Examples:\n"
      "  submarine segment photo.jpg --softmax softmax.npy -o out\n"
      "  submarine segment photo.jpg --softmax softmax.npy --classes names.txt --truth labels.png "
      "-o out\n"
      "  submarine segment photos/ --softmax softmaxes/ --truth labels/ -o out     (photos/a.jpg "
      "with softmaxes/a.npy)\n"
      "  submarine segment photo.jpg --scribbles scribbles.png -o out\n"
      "  submarine segment photo.jpg --softmax softmax.npy -o out --best --time-limit 60");
  sub->callback([sub, command] { RunSegment(*sub, *command); });
}

}  // namespace submarine::apps
