#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/commands.h"
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

// Whatever cannot be written is better known before the work than after it.
void CheckOutputs(const SolveCommand& command, const ModelInput& input) {
  for (const std::string* file : {&command.json, &command.marginals, &command.mar, &command.pr,
                                  &command.labels, &command.picture}) {
    if (!file->empty()) AtomicFile probe(*file);
  }
  if (!command.picture.empty() && input.width == 0) {
    throw InvalidInput("--picture needs a grid model (a .json bundle of kind \"grid\")");
  }
  if (!command.pr.empty() && command.solve.temperature != 1.0) {
    throw InvalidInput("--pr writes log10 Z, which needs --temperature 1");
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
    if (ragged) {
      throw InvalidInput(
          "the variables differ in their number of labels, so the marginals are no array; use "
          "--mar");
    }
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
  sub->add_option("--method", solve.method,
                  "pdhg: upper bound to a certified gap; fw, bcfw: Frank-Wolfe; mf: lower bound "
                  "only; exact: "
                  "variable elimination")
      ->transform(
          CLI::CheckedTransformer(std::map<std::string, Method>{{"pdhg", Method::kPdhg},
                                                                {"fw", Method::kFrankWolfe},
                                                                {"bcfw", Method::kBlockFrankWolfe},
                                                                {"mf", Method::kMeanField},
                                                                {"exact", Method::kExact}}))
      ->default_str("pdhg");
  sub->add_option("--extension", solve.extension,
                  "optimal, or alternate (the paper's baseline; fw and bcfw)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, ExtensionKind>{
          {"optimal", ExtensionKind::kOptimal}, {"alternate", ExtensionKind::kAlternate}}))
      ->default_str("optimal");
  sub->add_option("--step", solve.harmonic_steps,
                  "Frank-Wolfe steps: line-search, or harmonic = 2/(k+2)")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, bool>{{"line-search", false}, {"harmonic", true}}))
      ->default_str("line-search");
  sub->add_option("--temperature", solve.temperature,
                  "T of exp(-E/T); values are T log Z. 0 solves the linear relaxation (pdhg) or "
                  "finds the MAP (exact)")
      ->check(CLI::Range(0.0, 1e12))
      ->capture_default_str();
  sub->add_option("--gap", solve.relative_gap, "Stop when upper - dual <= gap * max(1, |upper|)")
      ->check(CLI::Range(0.0, 1e12))
      ->capture_default_str();
  sub->add_option("--max-iterations", solve.max_iterations, "Stop after so many iterations")
      ->check(CLI::Range(0, 2000000000))
      ->capture_default_str();
  sub->add_option("--time-limit", solve.time_limit_seconds,
                  "Stop after so many seconds with the best certificate")
      ->check(CLI::Range(0.0, 1e12));
  sub->add_option("--rounding", solve.rounding_draws, "Random roundings tried for the labeling")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  sub->add_option("--starts", solve.starts, "Starts of mean field")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  sub->add_option("--seed", solve.seed, "Of everything random")->capture_default_str();
  sub->add_option("--threads", command->threads, "0: all cores; the results do not depend on it")
      ->capture_default_str();
  sub->add_option("--memory", command->exact_gigabytes, "Gigabytes that exact inference may take")
      ->check(CLI::Range(0.0, 1e6))
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
