#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "apps/cli/dense_options.h"
#include "apps/cli/messages.h"
#include "apps/cli/option_checks.h"
#include "apps/cli/terminal.h"
#include "apps/commands.h"
#include "apps/report/picture_page.h"
#include "apps/report/writing_time.h"
#include "apps/solve/bundle.h"
#include "apps/solve/group_output.h"
#include "apps/solve/solve_output.h"
#include "apps/solve/solve_progress.h"
#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/file/npy.h"
#include "submarine/io/model/uai.h"
#include "submarine/solve/solve.h"

namespace submarine::apps {
namespace {

using Json = nlohmann::ordered_json;
using internal::AtomicFile;
using internal::NpyShape;
using internal::Stopwatch;
using internal::ThreadLimit;
using internal::WriteFileAtomically;
using internal::WriteNpy;

struct SolveCommand {
  SolveOptions solve;
  std::vector<std::string> given;  // options on the command line
  std::string model;
  std::string evidence;
  bool strict_hst = false;
  bool no_report = false;
  bool quiet = false;
  int threads = 0;
  std::string json;
  std::string marginals;
  std::string mar;
  std::string pr;
  std::string labels;
  std::string entropy;
  std::string picture;
  std::string bundle;
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
        OutputFile{"--labels", command.labels}, OutputFile{"--entropy", command.entropy},
        OutputFile{"--picture", command.picture}}) {
    if (!output.file.empty()) requested.push_back(output);
  }
  return requested;
}

// A unique text for all names of one file, existing or not.
std::filesystem::path Canonical(const std::string& file) {
  std::error_code ignored;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(file, ignored), ignored);
}

// Checks that all are writable, and none is the same as another or as the model. Pipes and devices
// may take several outputs, and opening a pipe as a test would end it for its reader.
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
        throw InvalidInput(fmt::format("{} names the file {}, which is also {}", output.option,
                                       output.file, owner));
      }
    }
    taken.emplace_back(path, fmt::format("the output of {}", output.option));
  }
}

bool Given(const SolveCommand& command, std::string_view option) {
  return std::find(command.given.begin(), command.given.end(), option) != command.given.end();
}

void RefuseForSparse(const SolveCommand& command) {
  for (const char* option : {"--pairs", "--cutoff", "--levels", "--certify", "--marginals-of"}) {
    if (Given(command, option)) {
      throw InvalidInput(
          fmt::format("{} is for dense models, but {} is not one", option, command.model));
    }
  }
}

void RefuseForDense(const SolveCommand& command) {
  const SolveOptions& solve = command.solve;
  RequireAccepted(solve.method, ModelKind::kDense);
  if (solve.sparse.extension != ExtensionKind::kOptimal) {
    throw InvalidInput("the alternate extension is not for dense models");
  }
  for (const char* option : {"--rounding", "--starts", "--mean-field", "--seed"}) {
    if (Given(command, option)) {
      throw InvalidInput(
          fmt::format("{} does not apply to dense models, and {} is one", option, command.model));
    }
  }
  const OperatorKind kind = solve.dense.pairs.kind;
  if (Given(command, "--levels") && kind != OperatorKind::kAuto && kind != OperatorKind::kLattice) {
    throw InvalidInput(fmt::format("--levels is for lattices, but --pairs {} uses none",
                                   submarine::ToString(kind)));
  }
  if (Given(command, "--certify") && solve.method == Method::kExact) {
    throw InvalidInput("--certify does not apply to the method exact");
  }
}

void RefuseForOtherMethods(const SolveCommand& command) {
  const auto only_for = [&](const char* option, Method method) {
    if (Given(command, option) && command.solve.method != method)
      throw InvalidInput(fmt::format("{} is for --method {} only", option, ToString(method)));
  };
  only_for("--rho-steps", Method::kTrw);
  const Method method = command.solve.method;
  if (Given(command, "--mean-field") && method == Method::kExact)
    throw InvalidInput("--mean-field does not apply to the method exact");
}

void CheckOptions(const ModelInput& input, const SolveCommand& command) {
  RefuseForOtherMethods(command);
  if (input.dense) {
    RefuseForDense(command);
  } else {
    RefuseForSparse(command);
  }
}

// Reports outputs that cannot be written before the work, not after it.
void CheckOutputs(const SolveCommand& command, const ModelInput& input) {
  CheckOutputFiles(command);
  if (!command.picture.empty()) {
    if (input.width == 0) {
      throw InvalidInput(
          "--picture needs a grid model (a .json bundle of kind \"grid\", or \"dense\" with width "
          "and "
          "height)");
    }
    if (input.depth > 0)
      throw InvalidInput("--picture needs a flat grid, but the model is a volume");
    CheckPictureSize(input.width, input.height);
  }
  if (!command.pr.empty() && command.solve.dense.certify == Certify::kNone && input.dense)
    throw InvalidInput("--pr writes a bound on log10 Z, but --certify none makes none");
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

// The layout of the variables and what a summary needs, for use after the model is freed.
struct Layout {
  NpyShape shape;  // without labels
  bool dense;
  std::vector<LabelGroup> groups = {};
  std::vector<std::string> names = {};  // of the labels
};

Layout LayoutOf(const ModelInput& input) {
  const bool dense = input.dense.has_value();
  std::vector<LabelGroup> groups;
  std::vector<std::string> names;
  if (dense || input.crf) {
    const LabelSpace& labels = dense ? input.dense->labels() : input.crf->labels();
    groups = labels.groups;
    names = labels.names;
  }
  if (input.depth > 0) return {{input.depth, input.height, input.width}, dense, groups, names};
  if (input.width > 0) return {{input.height, input.width}, dense, groups, names};
  const std::size_t variables = input.dense ? input.dense->num_variables()
                                : input.crf ? input.crf->unary().rows()
                                            : input.graph->cardinality.size();
  return {{static_cast<std::int64_t>(variables)}, dense, groups, names};
}

void WriteMarginals(const std::string& file, const MarginalRows& marginals, NpyShape shape) {
  std::visit(
      [&](const auto& rows) {
        // Rows of different lengths are not an array; CheckOutputs has refused them.
        if constexpr (requires { rows.cols(); }) {
          shape.push_back(static_cast<std::int64_t>(rows.cols()));
          WriteNpy(file, std::span(rows.data(), rows.size()), shape);
        }
      },
      marginals);
}

Json SummaryOf(const SolveCommand& command, const SolveResult& outcome, const Layout& layout) {
  Json json = SummaryJson(outcome, command.solve, command.model, layout.dense);
  AddGroups(layout.groups, layout.names, outcome.marginals, &json);
  return json;
}

void WriteOutputs(const SolveCommand& command, const SolveResult& outcome, const Layout& layout) {
  if (!command.marginals.empty()) {
    WriteMarginals(command.marginals, outcome.marginals, layout.shape);
  }
  if (!command.mar.empty()) {
    std::visit([&](const auto& rows) { WriteUaiMar(command.mar, rows); }, outcome.marginals);
  }
  if (!command.labels.empty()) {
    const std::vector<std::int32_t> labels(outcome.labels.begin(), outcome.labels.end());
    WriteNpy<std::int32_t>(command.labels, labels, layout.shape);
  }
  if (!command.entropy.empty()) {
    const std::vector<float> entropies = Entropies(outcome.marginals);
    WriteNpy<float>(command.entropy, entropies, layout.shape);
  }
  if (!command.pr.empty()) {
    const Certificate& certificate = outcome.certificate;
    if (certificate.upper || certificate.lower)
      WriteUaiPr(command.pr, certificate.upper ? *certificate.upper : *certificate.lower);
  }
  if (!command.picture.empty()) {
    WritePicture(command.picture, outcome, static_cast<int>(layout.shape[1]),
                 static_cast<int>(layout.shape[0]));
  }
  if (!command.json.empty()) {
    WriteFileAtomically(command.json, JsonText(SummaryOf(command, outcome, layout)));
  }
}

// Writes what a page can show; it finds the files by these names.
void WriteArrays(const SolveCommand& command, const SolveResult& outcome, const Layout& layout,
                 const Bundle& bundle) {
  const auto file = [&](const char* name) { return bundle.File(name).string(); };
  SolveCommand inside = command;
  inside.mar = inside.pr = inside.picture = inside.json = {};
  inside.labels = file("labels.npy");
  inside.entropy = file("entropy.npy");
  const bool even = !std::holds_alternative<std::vector<std::vector<double>>>(outcome.marginals);
  inside.marginals = even ? file("marginals.npy") : "";
  if (!layout.groups.empty())
    WriteGroups(file("groups.npy"), layout.groups, outcome.marginals, layout.shape);
  WriteOutputs(inside, outcome, layout);
}

WritingTime TimeToWrite(const ModelInput& input) {
  if (input.dense)
    return {input.dense->num_variables(), static_cast<std::size_t>(input.dense->num_labels())};
  if (input.crf)
    return {input.crf->unary().rows(), static_cast<std::size_t>(input.crf->num_labels())};
  const std::vector<int>& cardinality = input.graph->cardinality;
  const auto states = std::accumulate(cardinality.begin(), cardinality.end(), std::size_t{0});
  return {cardinality.size(), states / std::max<std::size_t>(1, cardinality.size())};
}

void RunSolve(SolveCommand command) {
  const Stopwatch clock;
  if (command.threads < 0)
    throw InvalidInput(fmt::format("--threads is {}, expected 0 or more", command.threads));
  const ThreadLimit thread_limit(command.threads);
  CatchInterrupts();
  SolveProgress progress(command.solve, command.quiet);
  progress("reading", {.k = -1});
  ModelInput input =
      ReadModel(command.model, command.evidence, command.strict_hst, command.solve, clock);
  for (const std::string& warning : input.warnings) PrintWarning(warning);
  CheckOptions(input, command);
  CheckOutputs(command, input);
  const Layout layout = LayoutOf(input);
  std::optional<Bundle> bundle;
  if (!command.bundle.empty()) bundle.emplace(command.bundle);
  const WritingTime writing = TimeToWrite(input);
  const auto wanted = bundle && !command.no_report ? std::optional(ReportOptions()) : std::nullopt;
  const double limit = command.solve.limits.time_limit_seconds;
  const double reserve =
      bundle || !command.marginals.empty() ? writing.Reserve(wanted.has_value(), limit) : 0.0;
  SolveResult outcome = SolveInTime(input, command.solve, clock, reserve, &progress);
  WriteOutputs(command, outcome, layout);
  if (bundle) {
    WriteArrays(command, outcome, layout, *bundle);
    const auto report = writing.PageInTime(wanted, clock.Seconds(), limit, &outcome.notes);
    FinishBundle(SummaryOf(command, outcome, layout), "solve", nullptr, &*bundle, report);
  }
  progress.Clear();
  if (!command.quiet)
    PrintText(Summary(outcome) + GroupsText(layout.groups, layout.names, outcome.marginals));
  CheckComplete(outcome);
}

}  // namespace

void AddSolveCommand(CLI::App* app) {
  auto command = std::make_shared<SolveCommand>();
  SolveOptions& solve = command->solve;
  CLI::App* sub = app->add_subcommand("solve", "Marginals and certified bounds of a model");
  sub->add_option("MODEL", command->model,
                  "A .uai or .fg file, or a .json bundle (docs/formats.md)")
      ->required();
  std::vector<std::pair<std::string, Method>> methods;
  std::vector<Method> all;
  for (const MethodInfo& info : Methods()) {
    methods.emplace_back(info.name, info.method);
    all.push_back(info.method);
  }
  AddChoice<Method>(sub, "--method", &solve.method, methods, MethodHelp(all));
  AddChoice<ExtensionKind>(sub, "--extension", &solve.sparse.extension,
                           "optimal, or alternate (the paper's baseline; fw)");
  AddChoice<bool>(sub, "--step", &solve.harmonic_steps,
                  {{"line-search", false}, {"harmonic", true}},
                  "Frank-Wolfe steps: line-search, or harmonic = 2/(k+2)");
  sub->add_option(
         "--temperature", solve.temperature,
         "T of exp(-E/T); values are T log Z. 0: the linear programming relaxation (auto, pdhg), "
         "local search (dense mf) or the labeling of least energy (exact)")
      ->check(NumberBetween(0, 1e12));
  sub->add_option("--gap", solve.limits.gap,
                  "Stop when upper - dual <= gap * max(1, |upper|); trw: when a sweep gains less")
      ->check(NumberBetween(0, 1e12))
      ->default_str(fmt::format("{:g}, trw {:g}, dense {:g}",
                                DefaultGap(Method::kPdhg, ModelKind::kSparse),
                                DefaultGap(Method::kTrw, ModelKind::kSparse),
                                DefaultGap(Method::kAuto, ModelKind::kDense)));
  sub->add_option("--max-iterations", solve.limits.max_iterations,
                  "Stop after this many iterations")
      ->check(NumberBetween(0, 2000000000))
      ->default_str(fmt::format("{}, dense {}, dense fw {}",
                                DefaultIterations(Method::kPdhg, ModelKind::kSparse),
                                DefaultIterations(Method::kAuto, ModelKind::kDense),
                                DefaultIterations(Method::kFrankWolfe, ModelKind::kDense)));
  AddLimitOptions(sub, &solve);
  sub->add_option("--rounding", solve.sparse.rounding_draws,
                  "Random roundings tried for the labeling")
      ->check(NumberBetween(0, 1000000));
  sub->add_option("--starts", solve.sparse.starts, "Number of starts of mean field")
      ->check(NumberBetween(1, 1000000));
  sub->add_option_function<std::string>(
         "--mean-field",
         [&solve](const std::string& text) {
           solve.sparse.mean_field =
               text == "forest" ? MeanFieldKind::kForest : MeanFieldKind::kNaive;
         },
         "Lower bounds of sparse models: naive, by independent variables; forest, exact within the "
         "rows of a grid or other trees and independent between them; default: naive for mf, the "
         "better of both beside an upper bound")
      ->check(OneOf({"naive", "forest"}))
      ->type_name("{naive,forest}");
  sub->add_option("--seed", solve.sparse.seed, "Seed of all random choices")
      ->check(NumberBetween(0, 1.8e19));
  sub->add_option("--threads", command->threads, "0: all cores; the results do not depend on it");
  sub->add_option("--evidence", command->evidence, "UAI evidence file (.uai and .fg models)");
  sub->add_flag("--deterministic", solve.limits.deterministic,
                "Make no decision depend on the clock, so that slow and fast machines get the same "
                "result; no result depends on the number of threads in any case");
  sub->add_flag("--strict-hst", command->strict_hst,
                "Refuse label trees that break the r-HST rules");
  sub->add_option("--json", command->json, "Write the summary: bounds, energy, iterations");
  sub->add_option("--marginals", command->marginals, "Write the marginals (.npy)");
  sub->add_option("--mar", command->mar, "Write the marginals in UAI's MAR form");
  sub->add_option(
      "--pr", command->pr,
      "Write log10 Z (the upper bound, or the lower where there is none) in UAI's PR form");
  sub->add_option("--labels", command->labels, "Write the best labeling (.npy)");
  sub->add_option("--entropy", command->entropy,
                  "Write the entropy of every variable's marginal, in nats (.npy)");
  sub->add_option("--picture", command->picture, "Write labels and uncertainty as a PNG (grids)");
  sub->add_option("--bundle", command->bundle,
                  "Write summary, arrays and a page (report.html) into this directory");
  sub->add_flag("--no-report", command->no_report, "Write no report.html into that directory");
  sub->add_flag("-q,--quiet", command->quiet, "No progress, no summary");
  sub->add_option(
         "--rho-steps", solve.sparse.rho_steps,
         "trw: number of steps that optimise the probability with which every edge is in a "
         "forest; the bound stays valid")
      ->check(NumberBetween(0, 1000000));
  AddPairOptions(sub, &command->solve);
  sub->footer(
      "Examples:\n"
      "  submarine solve model.json --gap 1e-4 --json summary.json --marginals marginals.npy\n"
      "  submarine solve segmentation.uai --method exact --mar exact.MAR --pr exact.PR\n"
      "  submarine solve model.json --temperature 0 --rounding 100 --labels map.npy\n"
      "  submarine solve model.json --method fw --extension alternate --max-iterations 100\n"
      "  submarine solve spins.uai --method trw --rho-steps 20 --mar trw.MAR\n"
      "  submarine solve dense.json --time-limit 60 --bundle results\n"
      "  submarine solve dense.json --pairs lattice --certify exact --json summary.json\n"
      "  submarine solve dense.json --method mf --max-iterations 5 --labels labels.npy");
  sub->callback([command, sub] {
    for (const CLI::Option* option : sub->get_options()) {
      if (option->count() > 0) command->given.push_back(option->get_name());
    }
    RunSolve(*command);
  });
}

}  // namespace submarine::apps
