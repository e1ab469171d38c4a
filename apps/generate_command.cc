#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "apps/commands.h"
#include "apps/option_checks.h"
#include "submarine/base/error.h"
#include "submarine/io/atomic_file.h"
#include "submarine/io/grid_bundle.h"
#include "submarine/io/metric_spec.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::apps {
namespace {

struct GenerateOptions {
  int width = 100;
  int height = 100;
  int labels = 20;
  int connectivity = 4;
  double weight = 1.0;
  double low = 0.0;
  double high = 10.0;
  std::string metric = "potts";
  std::uint64_t seed = 1;
  bool strict_hst = false;
  std::string output;
};

// Uniform in [low, high) from the generator's bits alone: std::uniform_real_distribution may differ
// between standard libraries, and a seed should name the same model everywhere.
Matrix<double> RandomUnaries(std::size_t variables, std::size_t labels,
                             const GenerateOptions& options) {
  std::mt19937_64 rng(options.seed);
  Matrix<double> unary(variables, labels);
  for (std::size_t k = 0; k < unary.size(); ++k) {
    const double unit = static_cast<double>(rng() >> 11) * 0x1p-53;
    unary.data()[k] = options.low + (options.high - options.low) * unit;
  }
  return unary;
}

void RunGenerate(const GenerateOptions& options) {
  const std::filesystem::path output = options.output;
  if (output.extension() != ".json") {
    throw InvalidInput(
        fmt::format("--output is \"{}\", expected a name that ends in .json", options.output));
  }
  AtomicFile probe(output);  // better known now than after the arrays are written
  std::vector<std::string> warnings;
  CheckLabelCount(options.labels);
  LabelSpace labels = ParseMetricSpec(options.metric, options.labels, options.strict_hst, &warnings,
                                      output.parent_path());
  for (const std::string& warning : warnings)
    fmt::print(stderr, "submarine: warning: {}\n", warning);
  if (!(options.low <= options.high)) {
    throw InvalidInput(
        fmt::format("the unaries' range {} to {} is empty", options.low, options.high));
  }
  std::vector<Edge> edges =
      GridEdges(options.width, options.height, options.connectivity, options.weight);
  const auto variables =
      static_cast<std::size_t>(options.width) * static_cast<std::size_t>(options.height);
  const SparseCrf model(RandomUnaries(variables, static_cast<std::size_t>(options.labels), options),
                        std::move(edges), std::move(labels));
  WriteGridBundle(output, model, options.width, options.height, options.connectivity,
                  options.metric);
  fmt::print("Wrote {}: {}.\n", options.output, model.Description());
}

}  // namespace

void AddGenerateCommand(CLI::App* app) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app->add_subcommand(
      "generate", "Write a random grid model: unaries uniform, one edge weight");
  command->add_option("--width", options->width, "Columns")->capture_default_str();
  command->add_option("--height", options->height, "Rows")->capture_default_str();
  command->add_option("--labels", options->labels, "Labels, 2 to 1024")->capture_default_str();
  command->add_option("--connectivity", options->connectivity, "4 or 8 neighbours")
      ->capture_default_str();
  command->add_option("--weight", options->weight, "Weight of every edge")->capture_default_str();
  command->add_option("--low", options->low, "Smallest unary")->capture_default_str();
  command->add_option("--high", options->high, "Largest unary")->capture_default_str();
  command
      ->add_option("--metric", options->metric,
                   "potts, linear, truncated:T, tree:SPEC or tree:FILE.json (beside the output)")
      ->capture_default_str();
  command->add_flag("--strict-hst", options->strict_hst, "Refuse trees that break the r-HST rules");
  command->add_option("--seed", options->seed, "Names the random unaries")
      ->check(NumberBetween(0, 1.8e19))
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "Header to write; the arrays go beside it")
      ->required();
  command->footer(
      "Examples:\n"
      "  submarine generate --width 100 --height 100 --labels 20 --weight 5 -o model.json\n"
      "  submarine generate --labels 20 --metric tree:5x4:1,0.5 --weight 2 -o tree.json");
  command->callback([options] { RunGenerate(*options); });
}

}  // namespace submarine::apps
