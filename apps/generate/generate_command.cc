#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/messages.h"
#include "apps/cli/option_checks.h"
#include "apps/commands.h"
#include "apps/generate/generate_scene.h"
#include "apps/generate/generate_softmax.h"
#include "apps/generate/patches.h"
#include "apps/generate/random_numbers.h"
#include "submarine/base/error.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/model/dense_bundle.h"
#include "submarine/io/model/grid_bundle.h"
#include "submarine/io/model/metric_spec.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::apps {
namespace {

using internal::AtomicFile;

constexpr double kGridWeight = 1.0;
constexpr double kDenseWeight = 0.05;
constexpr int kConnectivity = 4;

struct GenerateOptions {
  bool dense = false;
  bool stereo = false;
  bool segmentation = false;
  std::string softmax;
  int unknown = 255;
  SyntheticSoftmax softmax_options;  // except for the seed
  int width = 100;
  int height = 100;
  int labels = 20;
  std::optional<int> connectivity;
  std::optional<double> weight;
  std::optional<double> sigma;
  std::optional<double> bilateral_sigma;
  std::optional<double> colour_sigma;
  double low = 0.0;
  double high = 10.0;
  std::string metric = "potts";
  std::uint64_t seed = 1;
  bool strict_hst = false;
  std::string output;
};

Matrix<double> RandomUnaries(std::size_t variables, std::size_t labels,
                             const GenerateOptions& options) {
  std::mt19937_64 rng(options.seed);
  Matrix<double> unary(variables, labels);
  for (std::size_t k = 0; k < unary.size(); ++k) {
    unary.data()[k] = options.low + (options.high - options.low) * Uniform(&rng);
  }
  return unary;
}

// A noisy picture of patches. The unaries are uniform, but for the label of the patch only half as
// far above `low`: a guess that the picture must improve on.
DenseSpec RandomPicture(const GenerateOptions& options) {
  std::mt19937_64 rng(options.seed);
  const std::vector<Patch> patches =
      RandomPatches(options.width, options.height, options.labels, &rng);
  const auto labels = static_cast<std::size_t>(options.labels);
  DenseSpec spec;
  spec.width = options.width;
  spec.height = options.height;
  spec.channels = 3;
  spec.metric = options.metric;
  const auto pixels =
      static_cast<std::size_t>(options.width) * static_cast<std::size_t>(options.height);
  spec.unary = Matrix<float>(pixels, labels);
  spec.image.reserve(3 * pixels);
  for (std::size_t a = 0; a < pixels; ++a) {
    const Patch& patch = PatchAt(patches, a, options.width);
    for (const float channel : NoisyColour(patch, &rng)) spec.image.push_back(channel);
    for (std::size_t i = 0; i < labels; ++i) {
      const double height = (options.high - options.low) * Uniform(&rng);
      spec.unary(a, i) = static_cast<float>(options.low + (i == patch.label ? 0.5 : 1.0) * height);
    }
  }
  return spec;
}

void CheckPixels(const GenerateOptions& options) {
  if (options.width < 1 || options.height < 1 ||
      options.width > std::numeric_limits<int>::max() / options.height) {
    throw InvalidInput(
        fmt::format("a picture of {} x {} pixels cannot be made", options.width, options.height));
  }
}

void GenerateDense(const GenerateOptions& options) {
  if (options.connectivity) {
    throw InvalidInput("--connectivity is for grids: in a dense model every pair is joined");
  }
  CheckPixels(options);
  const double weight = options.weight.value_or(kDenseWeight);
  DenseSpec spec = RandomPicture(options);
  spec.kernels.push_back({.type = DenseKernelType::kPosition,
                          .sigma = {options.sigma.value_or(2.0)},
                          .weight = weight});
  spec.kernels.push_back({.type = DenseKernelType::kBilateral,
                          .sigma = {options.bilateral_sigma.value_or(10.0)},
                          .colour_sigma = {options.colour_sigma.value_or(20.0)},
                          .weight = weight});
  const std::filesystem::path output = options.output;
  WriteDenseBundle(output, spec);
  PrintLine(fmt::format("Wrote {}: {}.", options.output,
                        BuildDenseCrf(spec, output.parent_path()).Description()));
}

void GenerateGrid(const GenerateOptions& options, LabelSpace labels) {
  if (options.sigma || options.bilateral_sigma || options.colour_sigma) {
    throw InvalidInput("--sigma, --bilateral-sigma and --colour-sigma need --dense");
  }
  const int connectivity = options.connectivity.value_or(kConnectivity);
  std::vector<Edge> edges =
      GridEdges(options.width, options.height, connectivity, options.weight.value_or(kGridWeight));
  const auto variables =
      static_cast<std::size_t>(options.width) * static_cast<std::size_t>(options.height);
  const SparseCrf model(RandomUnaries(variables, static_cast<std::size_t>(options.labels), options),
                        std::move(edges), std::move(labels));
  WriteGridBundle(options.output, model, options.width, options.height, connectivity,
                  options.metric);
  PrintLine(fmt::format("Wrote {}: {}.", options.output, model.Description()));
}

void GenerateStereo(const GenerateOptions& options) {
  if (options.dense || options.connectivity || options.weight)
    throw InvalidInput(
        "--stereo makes pictures, not a model: --dense, --connectivity and --weight do not apply");
  CheckPixels(options);
  GenerateScene(options.output, options.width, options.height, options.labels, options.seed);
  PrintLine(fmt::format(
      "Wrote {0}/left.png, {0}/right.png and {0}/disparity.png: {1} x {2} pixels, disparities "
      "below {3}.",
      options.output, options.width, options.height, options.labels));
}

void GenerateForSegmentation(const GenerateOptions& options) {
  if (options.dense || options.connectivity || options.weight) {
    throw InvalidInput(
        "--segmentation and --softmax make no model: --dense, --connectivity and --weight do not "
        "apply");
  }
  CheckLabelCount(options.labels);
  SyntheticSoftmax disturbances = options.softmax_options;
  disturbances.seed = options.seed;
  if (!options.segmentation) {
    GenerateSoftmax(options.softmax, options.labels, options.unknown, disturbances, options.output);
    return;
  }
  CheckPixels(options);
  GenerateSegmentation(options.output, options.width, options.height, options.labels, disturbances);
}

void RunGenerate(const GenerateOptions& options) {
  if (options.stereo + options.segmentation + !options.softmax.empty() > 1)
    throw InvalidInput("only one of --stereo, --segmentation and --softmax can be made at a time");
  if (options.segmentation || !options.softmax.empty()) {
    GenerateForSegmentation(options);
    return;
  }
  if (options.stereo) {
    GenerateStereo(options);
    return;
  }
  const std::filesystem::path output = options.output;
  if (output.extension() != ".json") {
    throw InvalidInput(
        fmt::format("--output is \"{}\", expected a name that ends in .json", options.output));
  }
  { const AtomicFile probe(output); }  // fail now rather than after the arrays are written
  std::vector<std::string> warnings;
  CheckLabelCount(options.labels);
  LabelSpace labels = ParseMetricSpec(options.metric, options.labels, options.strict_hst, &warnings,
                                      output.parent_path());
  for (const std::string& warning : warnings) PrintWarning(warning);
  if (!(options.low <= options.high)) {
    throw InvalidInput(
        fmt::format("the unaries' range {} to {} is empty", options.low, options.high));
  }
  if (options.dense) {
    GenerateDense(options);
  } else {
    GenerateGrid(options, std::move(labels));
  }
}

void AddSoftmaxOptions(CLI::App* command, GenerateOptions* options) {
  const InGroup group(command, "Softmaxes");
  SyntheticSoftmax* softmax = &options->softmax_options;
  command->add_option("--cell", softmax->cell, "Pixels along the side of a cell of the classifier");
  command->add_option("--blur", softmax->blur, "Smoothing, in cells");
  command->add_option("--noise", softmax->noise, "Noise of the logits of every cell, in nats");
  command->add_option("--confusion", softmax->confusion,
                      "Share of patches of 4 x 4 cells that lean to another label");
  command->add_option("--ignore", options->unknown, "The value that means \"unknown\" in TRUTH")
      ->check(NumberBetween(0, 65535));
}

}  // namespace

void AddGenerateCommand(CLI::App* app) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app->add_subcommand(
      "generate",
      "Write a random model: a grid with uniform unaries and one edge weight, or a picture with "
      "Gaussian kernels");
  command->add_flag("--dense", options->dense,
                    "A dense model: a noisy picture of patches, a position and a bilateral kernel");
  command->add_flag(
      "--stereo", options->stereo,
      "A stereo pair with its true disparities instead of a model; --output is a directory");
  command->add_flag(
      "--segmentation", options->segmentation,
      "A picture with true labels and a classifier's softmax instead of a model: with --output X, "
      "X.png, X.labels.png and X.softmax.npy");
  command
      ->add_option("--softmax", options->softmax,
                   "The softmax of a classifier that is somewhat wrong about this picture of "
                   "labels; --output is an .npy file")
      ->type_name("TRUTH");
  AddSoftmaxOptions(command, options.get());
  command->add_option("--width", options->width, "Columns");
  command->add_option("--height", options->height, "Rows");
  command->add_option("--labels", options->labels,
                      "Labels, 2 to 1024; of a stereo pair, disparities");
  command->add_option("--connectivity", options->connectivity, "4 or 8 neighbours (grids)")
      ->default_str(fmt::format("{}", kConnectivity));
  command->add_option("--weight", options->weight, "Weight of every edge, or of both kernels")
      ->default_str(fmt::format("{:g}, dense {:g}", kGridWeight, kDenseWeight));
  command->add_option("--sigma", options->sigma, "Pixels: width of the position kernel (dense)")
      ->default_str("2");
  command
      ->add_option("--bilateral-sigma", options->bilateral_sigma,
                   "Pixels: width of the bilateral kernel (dense)")
      ->default_str("10");
  command
      ->add_option("--colour-sigma", options->colour_sigma,
                   "Its width in grey levels, 0 to 255 (dense)")
      ->default_str("20");
  command->add_option("--low", options->low, "Smallest unary");
  command->add_option("--high", options->high, "Largest unary");
  command->add_option(
      "--metric", options->metric,
      "potts, linear, truncated:T, tree:SPEC, or a file beside the output of a matrix or of a "
      "label tree (.csv, .tsv, .txt, .json, .npy)");
  command->add_flag("--strict-hst", options->strict_hst, "Refuse trees that break the r-HST rules");
  command->add_option("--seed", options->seed, "Seed of the random numbers")
      ->check(NumberBetween(0, 1.8e19));
  command
      ->add_option("-o,--output", options->output,
                   "JSON header to write; arrays are written next to it")
      ->required();
  command->footer(
      "Examples:\n"
      "  submarine generate --width 100 --height 100 --labels 20 --weight 5 -o model.json\n"
      "  submarine generate --labels 20 --metric tree:5x4:1,0.5 --weight 2 -o tree.json\n"
      "  submarine generate --dense --width 64 --height 48 --labels 5 -o dense.json\n"
      "  submarine generate --stereo --width 320 --height 240 --labels 32 -o scene\n"
      "  submarine generate --segmentation --width 200 --height 150 --labels 6 -o pictures/one\n"
      "  submarine generate --softmax photo.labels.png --labels 21 --noise 2 -o photo.softmax.npy");
  command->callback([options] { RunGenerate(*options); });
}

}  // namespace submarine::apps
