#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/commands.h"
#include "apps/option_checks.h"
#include "apps/solve.h"
#include "apps/solve_output.h"
#include "apps/terminal.h"
#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/io/atomic_file.h"
#include "submarine/io/npy.h"
#include "submarine/io/uai.h"

namespace submarine::apps {
namespace {

struct SolveCommand {
  SolveOptions solve;
  std::string model;
  std::string evidence;
  bool strict_hst = false;
  bool quiet = false;
  int threads = 0;
  double exact_gigabytes = 4.0;
  std::string json;
  std::string marginals;
  std::string mar;
  std::string pr;
  std::string labels;
  std::string picture;
};

struct OutputFile {
  const char* option;
  const std::string& file;
};

std::vector<OutputFile> RequestedOutputs(const SolveCommand& command) {
  std::vector<OutputFile> requested;
  for (const OutputFile& output :
       {OutputFile{"--json", command.json}, OutputFile{"--marginals", command.marginals},
        OutputFile{"--mar", command.mar}, OutputFile{"--pr", command.pr},
        OutputFile{"--labels", command.labels}, OutputFile{"--picture", command.picture}}) {
    if (!output.file.empty()) requested.push_back(output);
  }
  return requested;
}

// The same text for all names of one file, existing or not.
std::filesystem::path Canonical(const std::string& file) {
  std::error_code ignored;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(file, ignored), ignored);
}

// Writable, and none the same as another or as the model. Pipes and devices may take several
// outputs, and opening a pipe on trial would end it for its reader.
void CheckOutputFiles(const SolveCommand& command) {
  std::vector<std::pair<std::filesystem::path, std::string>> taken;
  std::error_code ignored;
  taken.emplace_back(Canonical(command.model), "the model");
  for (const OutputFile& output : RequestedOutputs(command)) {
    const std::filesystem::file_type type = std::filesystem::status(output.file, ignored).type();
    if (type == std::filesystem::file_type::fifo || type == std::filesystem::file_type::character) {
      continue;
    }
    AtomicFile probe(output.file);
    const std::filesystem::path path = Canonical(output.file);
    for (const auto& [other, owner] : taken) {
      if (path == other) {
        throw InvalidInput(fmt::format("{} names the file {}, which is {} already", output.option,
                                       output.file, owner));
      }
    }
    taken.emplace_back(path, fmt::format("the output of {}", output.option));
  }
}

// Whatever cannot be written is better known before the work than after it.
void CheckOutputs(const SolveCommand& command, const ModelInput& input) {
  CheckOutputFiles(command);
  if (!command.picture.empty()) {
    if (input.width == 0) {
      throw InvalidInput("--picture needs a grid model (a .json bundle of kind \"grid\")");
    }
    CheckPictureSize(input.width, input.height);
  }
  if (!command.pr.empty() && command.solve.temperature != 1.0) {
    throw InvalidInput("--pr writes log10 Z, which needs --temperature 1");
  }
  if (!command.marginals.empty() && input.graph) {
    const std::vector<int>& cardinality = input.graph->cardinality;
    if (std::adjacent_find(cardinality.begin(), cardinality.end(), std::not_equal_to<>()) !=
        cardinality.end()) {
      throw InvalidInput(
          "--marginals writes one array, but the variables differ in their number of labels; use "
          "--mar");
    }
  }
}

// How much longer, if the gap keeps falling as a power of time at the pace of the second half of
// the run.
std::string TimeLeft(const std::vector<std::pair<double, double>>& gaps,
                     const SolveOptions& options) {
  double left = options.time_limit_seconds - gaps.back().first;
  const auto middle =
      std::lower_bound(gaps.begin(), gaps.end(), std::pair(gaps.back().first / 2.0, 0.0));
  const auto [t0, gap0] = *middle;
  const auto [t1, gap1] = gaps.back();
  if (t0 > 0.0 && t1 > t0 && gap1 < gap0 && gap1 > options.relative_gap) {
    const double power = std::log(gap0 / gap1) / std::log(t1 / t0);
    left = std::min(left, t1 * (std::pow(gap1 / options.relative_gap, 1.0 / power) - 1.0));
  }
  return std::isfinite(left) && left < 1e6 ? "about " + DurationText(std::max(left, 0.0)) + " left"
                                           : "";
}

class Reporter {
 public:
  Reporter(const SolveOptions& options, bool quiet) : options_(options), line_(quiet) {}

  bool operator()(std::string_view phase, const SolveRecord& record) {
    std::string text = fmt::format("{} {:>5}  {:.1f} s", phase, record.k, record.seconds);
    if (record.upper) text += fmt::format("  upper {:.4f}", *record.upper);
    if (record.dual) {
      const double gap = RelativeGap(*record.upper, *record.dual);
      gaps_.emplace_back(record.seconds, gap);
      text += fmt::format("  dual {:.4f}  gap {:.2e}  {}", *record.dual, gap,
                          TimeLeft(gaps_, options_));
    }
    if (record.lower) text += fmt::format("  lower {:.4f}", *record.lower);
    line_.Show(text);
    return !Interrupted();
  }

  void Clear() { line_.Clear(); }

 private:
  const SolveOptions& options_;
  ProgressLine line_;
  std::vector<std::pair<double, double>> gaps_;  // (seconds, gap)
};

void WriteOutputs(const SolveCommand& command, const SolveOutcome& outcome, int width, int height) {
  const bool ragged = outcome.marginals.size() == 0;
  const auto grid_shape = [&](std::vector<std::int64_t> tail) {
    NpyShape shape = width > 0 ? NpyShape{height, width}
                               : NpyShape{static_cast<std::int64_t>(outcome.labels.size())};
    shape.insert(shape.end(), tail.begin(), tail.end());
    return shape;
  };
  if (!command.marginals.empty()) {
    WriteNpy(command.marginals, outcome.marginals,
             grid_shape({static_cast<std::int64_t>(outcome.marginals.cols())}));
  }
  if (!command.mar.empty()) {
    if (ragged) {
      WriteUaiMar(command.mar, outcome.ragged_marginals);
    } else {
      WriteUaiMar(command.mar, outcome.marginals);
    }
  }
  if (!command.labels.empty()) {
    const std::vector<std::int32_t> labels(outcome.labels.begin(), outcome.labels.end());
    WriteNpy<std::int32_t>(command.labels, labels, grid_shape({}));
  }
  if (!command.pr.empty()) {
    const Certificate& certificate = outcome.certificate;
    WriteUaiPr(command.pr, certificate.upper ? *certificate.upper : *certificate.lower);
  }
  if (!command.picture.empty()) WritePicture(command.picture, outcome, width, height);
  if (!command.json.empty()) {
    WriteFileAtomically(command.json, SummaryJson(outcome, command.solve, command.model));
  }
}

void RunSolve(SolveCommand command) {
  if (command.threads < 0)
    throw InvalidInput(fmt::format("--threads is {}, expected 0 or more", command.threads));
  SetThreadCount(command.threads);
  command.solve.max_exact_bytes =
      static_cast<std::int64_t>(std::min(command.exact_gigabytes, 1e6) * 1e9);
  ModelInput input = ReadModel(command.model, command.evidence, command.strict_hst);
  for (const std::string& warning : input.warnings)
    fmt::print(stderr, "submarine: warning: {}\n", warning);
  CheckOutputs(command, input);
  const int width = input.width;
  const int height = input.height;
  if (command.solve.method != Method::kExact) CatchInterrupts();
  Reporter reporter(command.solve, command.quiet);
  const SolveOutcome outcome = Solve(std::move(input), command.solve, std::ref(reporter));
  reporter.Clear();
  WriteOutputs(command, outcome, width, height);
  if (!command.quiet) fmt::print("{}", SummaryText(outcome));
}

}  // namespace

void AddSolveCommand(CLI::App* app) {
  auto command = std::make_shared<SolveCommand>();
  SolveOptions& solve = command->solve;
  CLI::App* sub = app->add_subcommand("solve", "Marginals and certified bounds of a model");
  sub->add_option("MODEL", command->model,
                  "A .uai or .fg file, or a .json bundle (docs/formats.md)")
      ->required();
  AddChoice<Method>(sub, "--method", &solve.method,
                    {{"pdhg", Method::kPdhg},
                     {"fw", Method::kFrankWolfe},
                     {"bcfw", Method::kBlockFrankWolfe},
                     {"mf", Method::kMeanField},
                     {"exact", Method::kExact}},
                    "pdhg: upper bound to a certified gap; fw, bcfw: Frank-Wolfe; mf: lower bound "
                    "only; exact: variable elimination");
  AddChoice<ExtensionKind>(
      sub, "--extension", &solve.extension,
      {{"optimal", ExtensionKind::kOptimal}, {"alternate", ExtensionKind::kAlternate}},
      "optimal, or alternate (the paper's baseline; fw and bcfw)");
  AddChoice<bool>(sub, "--step", &solve.harmonic_steps,
                  {{"line-search", false}, {"harmonic", true}},
                  "Frank-Wolfe steps: line-search, or harmonic = 2/(k+2)");
  sub->add_option("--temperature", solve.temperature,
                  "T of exp(-E/T); values are T log Z. 0 solves the linear relaxation (pdhg) or "
                  "finds the MAP (exact)")
      ->check(NumberBetween(0, 1e12))
      ->capture_default_str();
  sub->add_option("--gap", solve.relative_gap, "Stop when upper - dual <= gap * max(1, |upper|)")
      ->check(NumberBetween(0, 1e12))
      ->capture_default_str();
  sub->add_option("--max-iterations", solve.max_iterations, "Stop after so many iterations")
      ->check(NumberBetween(0, 2000000000))
      ->capture_default_str();
  sub->add_option("--time-limit", solve.time_limit_seconds,
                  "Stop after so many seconds with the best certificate")
      ->check(NumberBetween(0, 1e12));
  sub->add_option("--rounding", solve.rounding_draws, "Random roundings tried for the labeling")
      ->check(NumberBetween(0, 1000000))
      ->capture_default_str();
  sub->add_option("--starts", solve.starts, "Starts of mean field")
      ->check(NumberBetween(1, 1000000))
      ->capture_default_str();
  sub->add_option("--seed", solve.seed, "Of everything random")
      ->check(NumberBetween(0, 1.8e19))
      ->capture_default_str();
  sub->add_option("--threads", command->threads, "0: all cores; the results do not depend on it")
      ->capture_default_str();
  sub->add_option("--memory", command->exact_gigabytes, "Gigabytes that exact inference may take")
      ->check(NumberBetween(0, 1e6))
      ->capture_default_str();
  sub->add_option("--evidence", command->evidence, "UAI evidence file (.uai and .fg models)");
  sub->add_flag("--strict-hst", command->strict_hst,
                "Refuse label trees that break the r-HST rules");
  sub->add_option("--json", command->json, "Write the summary: bounds, energy, iterations");
  sub->add_option("--marginals", command->marginals, "Write the marginals (.npy)");
  sub->add_option("--mar", command->mar, "Write the marginals in UAI's MAR form");
  sub->add_option(
      "--pr", command->pr,
      "Write log10 Z (the upper bound, or the lower where there is none) in UAI's PR form");
  sub->add_option("--labels", command->labels, "Write the best labeling (.npy)");
  sub->add_option("--picture", command->picture, "Write labels and uncertainty as a PNG (grids)");
  sub->add_flag("-q,--quiet", command->quiet, "No progress, no summary");
  sub->footer(
      "Examples:\n"
      "  submarine solve model.json --gap 1e-4 --json summary.json --marginals marginals.npy\n"
      "  submarine solve segmentation.uai --method exact --mar exact.MAR --pr exact.PR\n"
      "  submarine solve model.json --temperature 0 --rounding 100 --labels map.npy\n"
      "  submarine solve model.json --method fw --extension alternate --max-iterations 100");
  sub->callback([command] { RunSolve(*command); });
}

}  // namespace submarine::apps
