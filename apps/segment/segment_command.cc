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
#include "apps/solve/group_output.h"
#include "apps/solve/solve_output.h"
#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/io/segmentation/segmentation_parameters.h"

namespace submarine::apps {
namespace {

using internal::ThreadLimit;

enum class Preset { kAdapted, kPydensecrf };

struct SegmentCommand {
  SegmentInputs inputs;
  std::string directory;
  std::string classes;
  std::string palette;
  std::string layout;
  std::string parameters;
  Preset preset = Preset::kAdapted;
  bool least_energy = false;
  bool no_report = false;
  SegmentSettings settings;
};

// What a proof may take unless the user says otherwise.
constexpr double kSecondsOfProof = 30.0;

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

// Labels and their proof are two wishes: labels are those of a few updates of mean field, on lattices, unless
// the least energy is asked for (more updates sharpen the marginals without better labels, see
// docs/parameters.md); a proof adds an interval and leaves them as they are.
void ChooseMethod(const CLI::App& sub, bool least_energy, SolveOptions* solve) {
  const bool proves =
      solve->dense.certify != Certify::kNone && solve->dense.certify != Certify::kLower;
  if (least_energy) {
    if (Given(sub, "--updates"))
      throw InvalidInput(
          "--updates says which labels to return, and so does --least-energy; give one of them");
    solve->dense.updates = 0;
    if (!Given(sub, "--certify")) solve->dense.certify = Certify::kAuto;
  }
  if (!Given(sub, "--method")) {
    solve->method = proves || least_energy ? Method::kAuto : Method::kMeanField;
  } else if (solve->method != Method::kMeanField && !Given(sub, "--certify")) {
    solve->dense.certify = Certify::kAuto;
  }
  if (solve->method == Method::kMeanField) {
    if (!Given(sub, "--pairs")) solve->dense.pairs.kind = OperatorKind::kLattice;
  } else if (!Given(sub, "--time-limit")) {
    solve->limits.time_limit_seconds = kSecondsOfProof;
  }
  if (solve->method == Method::kMeanField && solve->dense.updates > 0 &&
      Given(sub, "--max-iterations"))
    throw InvalidInput(
        "--max-iterations limits the search for a proof or the least energy, and there is none "
        "here; --updates says how many updates make the labels");
  solve->expectations = solve->method != Method::kMeanField &&
                        solve->dense.certify != Certify::kNone &&
                        solve->dense.certify != Certify::kLower;
}

// Takes what the file has, except what is given as options.
void TakeParameters(const CLI::App& sub, const std::string& file, SegmentSettings* settings) {
  const SegmentationParameters parameters = ReadSegmentationParameters(file);
  settings->parameters = parameters;
  if (!Given(sub, "--softmax-temperature"))
    settings->reading.softmax_temperature = parameters.softmax_temperature;
  if (!Given(sub, "--normalisation")) settings->normalisation = parameters.normalisation;
  if (!Given(sub, "--updates")) settings->dense.solve.dense.updates = parameters.updates;
}

SegmentSettings SettingsOf(const CLI::App& sub, const SegmentCommand& command) {
  SegmentSettings settings = command.settings;
  if (!command.parameters.empty() && Given(sub, "--preset"))
    throw InvalidInput("--parameters and --preset both name kernels; give one of them");
  if (command.preset == Preset::kPydensecrf) settings.parameters = SegmentationParameters();
  if (!command.parameters.empty()) TakeParameters(sub, command.parameters, &settings);
  if (!settings.position.empty()) CheckKernelOption("--position", settings.position);
  if (!settings.bilateral.empty()) CheckKernelOption("--bilateral", settings.bilateral);
  for (const std::string& text : settings.superpixels) {
    if (!ParseSuperpixels(text).file.empty() && command.inputs.several())
      throw InvalidInput("--superpixels takes the regions of a file for a single picture only");
  }
  if (!command.classes.empty()) settings.reading.classes = ReadClassNames(command.classes);
  if (!command.palette.empty() && command.palette != "voc")
    settings.reading.palette = ReadPalette(command.palette);
  if (!command.layout.empty()) {
    settings.reading.layout =
        command.layout == "labels-last" ? SoftmaxLayout::kLabelsLast : SoftmaxLayout::kLabelsFirst;
  }
  if (command.no_report) settings.report.reset();
  ChooseMethod(sub, command.least_energy, &settings.dense.solve);
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
  const SegmentJob job{{inputs.images.front(), inputs.softmax, inputs.unary, inputs.scribbles,
                        inputs.truth, inputs.region},
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
  PrintText(GroupsText(done.groups, done.picture.names, done.outcome.solved.marginals));
  PrintText(Summary(done.outcome.solved));
  PrintText(ProofText(done.proof));
  PrintLine("Results: " +
            (std::filesystem::path(command.directory) / (done.page ? "report.html" : "")).string());
  CheckComplete(done.outcome.solved);
}

void AddInputOptions(CLI::App* sub, SegmentCommand* command) {
  SegmentInputs& inputs = command->inputs;
  SegmentReading& reading = command->settings.reading;
  sub->add_option(
         "IMAGE", inputs.images,
         "The picture (PNG, JPEG, TIFF, BMP, PGM, PPM); several, or a directory of them, "
         "are segmented in parallel, and the same command continues where it was stopped. "
         "Or a volume (NIfTI: .nii, .nii.gz); what is larger than the memory goes by blocks "
         "of Python's submarine.blocks")
      ->required();
  AddOutputOption(sub, &command->directory);
  sub->add_option("--softmax", inputs.softmax,
                  "Probabilities of a classifier as .npy of shape (height, width, labels) or "
                  "(labels, height, width); of a volume as NIfTI with the labels along the fourth "
                  "axis, or a file for each label: a.nii,b.nii");
  sub->add_option("--unary", inputs.unary,
                  "Instead of --softmax: costs (-log probability), same shapes");
  sub->add_option("--scribbles", inputs.scribbles,
                  "Instead of --softmax: a picture of the same size with a colour for every label, "
                  "black for undecided. For several pictures, these are directories with files of "
                  "the pictures' names");
  sub->add_option("--truth", inputs.truth,
                  "The true labels, as a grey picture, one with a palette, or .npy of integers: "
                  "accuracy and intersection over union before and after");
  sub->add_option("--region", inputs.region,
                  "With --certify: a picture of the same size; what is proven is about the pixels "
                  "that are white in it");
  sub->add_option("--ignore", reading.ignore, "Value of unknown pixels in --truth")
      ->check(NumberBetween(-1, 65535));
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
      ->check(NumberInside(0, 1));
  sub->add_option("--softmax-temperature", reading.softmax_temperature,
                  "Divides the costs of --softmax: above 1 trusts the classifier less")
      ->check(NumberInside(0, 1e6));
}

}  // namespace

void AddSegmentCommand(CLI::App* app) {
  auto command = std::make_shared<SegmentCommand>();
  SegmentSettings& settings = command->settings;
  SolveOptions& solve = settings.dense.solve;
  solve.method = Method::kMeanField;
  solve.dense.updates = SegmentationParameters().updates;
  solve.dense.certify = Certify::kNone;
  solve.dense.marginals = DenseMarginals::kMeanField;
  CLI::App* sub = app->add_subcommand(
      "segment",
      "A picture and a classifier's softmax (or scribbles) in; labels along its edges out");
  AddInputOptions(sub, command.get());
  sub->add_flag("--least-energy", command->least_energy,
                "Return the labels of the least energy found, with an interval around log Z: lower "
                "energy is not better labels");
  sub->add_flag("--no-report", command->no_report, "Write no report.html");
  sub->add_option("--max-mb", settings.report->max_megabytes,
                  "Show pictures and probabilities at a lower resolution where report.html would "
                  "be larger")
      ->check(NumberBetween(0.1, 1e4));
  AddDenseSolveOptions(sub, &settings.dense);
  sub->add_option("--updates", solve.dense.updates,
                  "Labels and probabilities are those after this number of updates of mean field, "
                  "whatever is proven of them; 0: until its bound no longer rises")
      ->check(NumberBetween(0, 1000000));
  const InGroup group(sub, "Model");
  sub->add_option(
      "--metric", settings.metric,
      "Distance of labels: potts, linear, truncated:T, or a file of a matrix or of a label "
      "tree (.csv, .tsv, .txt, .json, .npy)");
  sub->add_option("--parameters", command->parameters,
                  "Kernels, updates and temperature as `submarine fit` writes them (JSON); options "
                  "given beside it take precedence");
  AddChoice<Preset>(
      sub, "--preset", &command->preset,
      {{"adapted", Preset::kAdapted}, {"pydensecrf", Preset::kPydensecrf}},
      "Kernels. adapted: lengths by the size of the picture, weights by how sure the classifier is "
      "(scribbles: as pydensecrf); pydensecrf: those of its README, 3,3 and 80,13,10");
  AddKernelOptions(sub, &settings.position, &settings.bilateral);
  sub->add_option("--superpixels", settings.superpixels,
                  "Regions whose pixels are to agree, given once for every scale: "
                  "SLIC[:SIZE[,COMPACTNESS]],GAMMA,Q computes "
                  "superpixels of about SIZE x SIZE pixels (20, compactness 10), FILE,GAMMA,Q "
                  "reads a picture with a number for "
                  "every region. A region costs at most GAMMA nats for each of its pixels, and "
                  "that much once the share Q of them "
                  "disagrees")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  AddChoice<KernelNormalisation>(
      sub, "--normalisation", &settings.normalisation,
      {{"symmetric", KernelNormalisation::kSymmetric}, {"none", KernelNormalisation::kNone}},
      "symmetric: divide by row sums, so that pixels with many similar ones weigh no more");
  AddChoice<bool>(sub, "--count", &settings.ordered, {{"once", false}, {"ordered", true}},
                  "once: a pair adds its weight once; ordered: as (a, b) and as (b, a), twice");
  AddPairOptions(sub, &solve);
  sub->footer(
      "Examples:\n"
      "  submarine segment photo.jpg --softmax softmax.npy -o out\n"
      "  submarine segment photo.jpg --softmax softmax.npy --classes names.txt --truth labels.png "
      "-o out\n"
      "  submarine segment photos/ --softmax softmaxes/ --truth labels/ -o out     (photos/a.jpg "
      "with softmaxes/a.npy)\n"
      "  submarine segment photo.jpg --scribbles scribbles.png -o out\n"
      "  submarine segment t1.nii.gz --softmax softmax.nii.gz -o out          (lengths in mm)\n"
      "  submarine segment photo.jpg --softmax softmax.npy -o out --certify          (the same "
      "labels, and what is proven of them)\n"
      "  submarine segment photo.jpg --softmax softmax.npy -o out --least-energy --time-limit 60");
  sub->callback([sub, command] { RunSegment(*sub, *command); });
}

}  // namespace submarine::apps
