#include <memory>
#include <string>
#include <vector>

#include "apps/cli/option_checks.h"
#include "experiments/commands.h"
#include "experiments/experiment.h"
#include "experiments/synth.h"
#include "submarine/base/parallel.h"

namespace submarine::apps {
namespace {

struct SynthCommand {
  SynthSettings settings;
  int threads = 0;
  bool quiet = false;
  std::string output;
};

void RunSynth(const SynthCommand& command) {
  CheckSynthSettings(command.settings);
  const SynthTasks tasks(command.settings);
  const internal::ThreadLimit thread_limit(command.threads);
  Experiment experiment(command.output, "synth",
                        {"metric", "weight", "instance", "method", "value", "dual", "iterations",
                         "termination", "seconds"},
                        tasks.size(), command.quiet);
  experiment.Run(
      tasks.size(), [&](std::size_t k) { return tasks[k]; }, true);
  experiment.Finish();
}

void AddModelOptions(CLI::App* sub, SynthSettings* settings) {
  sub->add_option("--width", settings->width, "Columns");
  sub->add_option("--height", settings->height, "Rows");
  sub->add_option("--labels", settings->labels, "Labels, 2 to 1024");
  sub->add_option("--unary-range", settings->range, "Unaries are uniform in LOW,HIGH")
      ->delimiter(',')
      ->expected(1, 2)
      ->default_str("0,10");
  sub->add_option("--metrics", settings->metrics,
                  "Separated by spaces: potts, linear, truncated:T, tree:SPEC, tree:FILE.json, or "
                  "the paper's tree1 (5x4:1,0.5) and tree2 (2x2x5:1,1,0.5)")
      ->default_str("potts tree1 tree2");
  sub->add_option("--weights", settings->weights, "Edge weights, separated by commas")
      ->delimiter(',')
      ->default_str("1,2,5,10");
  sub->add_option("--instances", settings->instances, "Random models per metric and weight")
      ->check(NumberBetween(1, 1e6));
  sub->add_option("--seed", settings->seed, "Seed of the random unaries")
      ->check(NumberBetween(0, 1.8e19));
}

void AddMethodOptions(CLI::App* sub, SynthSettings* settings) {
  sub->add_option("--methods", settings->methods,
                  "Separated by commas: submod-fw (Frank-Wolfe as in the paper), submod "
                  "(converged), alternate, trw (rho 1/2), trw-opt (rho optimised), mf")
      ->delimiter(',')
      ->check(OneOf(SynthMethods()))
      ->default_str("all but trw-opt");
  sub->add_flag("--as-published", settings->as_published,
                "Also the published curves with their mistakes (docs/experiments.md)");
  sub->add_option("--steps", settings->steps, "Number of Frank-Wolfe steps")
      ->check(NumberBetween(1, 1e9));
  sub->add_option("--gap", settings->gap, "Relative gap of submod")->check(NumberBetween(0, 1));
  sub->add_option("--trw-tolerance", settings->trw_tolerance,
                  "TRW ends when a sweep gains less than this, relatively")
      ->check(NumberBetween(0, 1));
  sub->add_option("--rho-steps", settings->rho_steps, "Number of optimisation steps of trw-opt")
      ->check(NumberBetween(1, 1e6));
}

}  // namespace

void AddSynthCommand(CLI::App* app) {
  auto command = std::make_shared<SynthCommand>();
  CLI::App* sub = app->add_subcommand(
      "synth", "The paper's synthetic experiment: upper bounds on random grids, against TRW");
  AddModelOptions(sub, &command->settings);
  AddMethodOptions(sub, &command->settings);
  sub->add_option("-o,--output", command->output,
                  "Directory of results.csv; finished runs are kept in its runs/, and the same "
                  "command continues there")
      ->required();
  sub->add_flag("--deterministic", command->settings.deterministic,
                "Bit-identical results for any number of threads, without times");
  sub->add_option("--threads", command->threads, "0: all cores")->check(NumberBetween(0, 1e4));
  sub->add_flag("-q,--quiet", command->quiet, "No progress, no summary");
  sub->footer(
      "Examples:\n"
      "  submarine-experiments synth -o results                     the paper's settings\n"
      "  submarine-experiments synth --instances 5 --as-published -o five\n"
      "  submarine-experiments synth --metrics potts truncated:3 --weights 1,5 -o mine");
  sub->callback([command] { RunSynth(*command); });
}

}  // namespace submarine::apps
