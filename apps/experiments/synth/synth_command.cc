#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "apps/cli/messages.h"
#include "apps/cli/option_checks.h"
#include "apps/cli/terminal.h"
#include "apps/commands.h"
#include "apps/experiments/synth/synth.h"
#include "apps/experiments/synth/synth_store.h"
#include "apps/experiments/synth/synth_summary.h"
#include "submarine/base/error.h"
#include "submarine/base/numbers.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/io/file/atomic_file.h"

namespace submarine::apps {
namespace {

using internal::ParallelFor;
using internal::Stopwatch;
using internal::ThreadLimit;
using internal::WriteFileAtomically;

struct SynthCommand {
  SynthSettings settings;
  std::vector<double> range = {settings.low, settings.high};
  std::vector<std::string> methods;
  std::string shard = "1/1";
  bool as_published = false;
  int threads = 0;
  bool quiet = false;
  std::string output;
  std::vector<std::string> merge_from;
  std::string merge_to;
};

SynthShard ParseShard(const std::string& text) {
  SynthShard shard;
  const std::size_t slash = text.find('/');
  const auto number = [&](std::size_t begin, std::size_t end, int* value) {
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, *value);
    return error == std::errc{} && stop == text.data() + end;
  };
  if (slash == std::string::npos || !number(0, slash, &shard.index) ||
      !number(slash + 1, text.size(), &shard.count) || shard.index < 1 ||
      shard.index > shard.count) {
    throw InvalidInput(
        fmt::format("--shard is \"{}\", expected i/n with 1 <= i <= n, for example 2/3", text));
  }
  return shard;
}

// The time that the remaining tasks will take, estimated from the most similar finished ones.
class TimeLeft {
 public:
  void Add(const SynthTask& task, double seconds) {
    for (const Key& key : Keys(task)) {
      auto& [count, sum] = seen_[key];
      ++count;
      sum += seconds;
    }
  }
  double Estimate(const SynthTask& task) const {
    for (const Key& key : Keys(task)) {
      const auto found = seen_.find(key);
      if (found != seen_.end()) return found->second.second / found->second.first;
    }
    return 0.0;
  }

 private:
  using Key = std::tuple<int, std::size_t, std::size_t>;  // method, metric, weight, or fewer
  static std::vector<Key> Keys(const SynthTask& task) {
    const int method = static_cast<int>(task.method);
    return {{method, task.metric + 1, task.weight + 1}, {method, 0, 0}, {-1, 0, 0}};
  }
  std::map<Key, std::pair<int, double>> seen_;
};

void WriteSummary(const std::filesystem::path& directory, const SynthSettings& settings,
                  const SynthResults& results, bool quiet) {
  const std::vector<SynthRow> rows = Summarise(settings, results);
  WriteFileAtomically(directory / "summary.json", SynthSummaryJson(settings, rows));
  WriteSynthFigure(directory, settings, rows);
  if (!quiet) PrintText(SynthTable(settings, rows));
}

std::vector<LabelSpace> AllLabels(const SynthSettings& settings) {
  std::vector<LabelSpace> spaces;
  for (const std::string& metric : settings.metrics)
    spaces.push_back(SynthLabels(metric, settings.labels));
  return spaces;
}

class Experiment {
 public:
  Experiment(const SynthCommand& command, SynthStore* store, std::vector<LabelSpace> labels,
             SynthShard shard)
      : settings_(command.settings),
        store_(*store),
        labels_(std::move(labels)),
        line_(command.quiet),
        threads_(command.threads > 0 ? command.threads
                                     : static_cast<int>(std::thread::hardware_concurrency())) {
    const std::vector<SynthTask> all = SynthTasks(settings_);
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (static_cast<int>(k % static_cast<std::size_t>(shard.count)) != shard.index - 1) continue;
      ++wanted_;
      if (store_.results().count(all[k]) == 0) tasks_.push_back(all[k]);
    }
    for (const auto& [task, result] : store_.results()) {
      if (result.seconds) time_left_.Add(task, *result.seconds);
    }
  }

  std::size_t wanted() const { return wanted_; }
  std::size_t missing() const { return tasks_.size() - done_; }

  // Threads take the tasks in order as they become free.
  void Run() {
    std::atomic<std::size_t> next{0};
    ParallelFor(tasks_.size(), 1, [&](std::size_t, std::size_t) {
      const SynthTask& task = tasks_[next++];
      if (Interrupted()) return;
      const auto result =
          RunSynthTask(settings_, task, labels_[task.metric], [] { return !Interrupted(); });
      if (result) Finish(task, *result);
    });
    line_.Clear();
  }

 private:
  void Finish(const SynthTask& task, SynthResult result) {
    const double seconds = *result.seconds;
    if (settings_.deterministic) result.seconds.reset();
    store_.Append(task, result);
    const std::lock_guard lock(mutex_);
    ++done_;
    finished_.push_back(task);
    time_left_.Add(task, seconds);
    line_.Show(fmt::format("{} of {} results  {} elapsed  about {} left",
                           wanted_ - tasks_.size() + done_, wanted_, DurationText(clock_.Seconds()),
                           DurationText(SecondsLeft())));
  }

  double SecondsLeft() const {
    double sum = 0.0;
    for (const SynthTask& task : tasks_) sum += time_left_.Estimate(task);
    for (const SynthTask& task : finished_) sum -= time_left_.Estimate(task);
    return std::max(0.0, sum) / threads_;
  }

  const SynthSettings& settings_;
  SynthStore& store_;
  std::vector<LabelSpace> labels_;
  ProgressLine line_;
  int threads_;
  std::size_t wanted_ = 0;
  std::vector<SynthTask> tasks_;  // not known before this run
  std::mutex mutex_;
  std::size_t done_ = 0;
  std::vector<SynthTask> finished_;
  TimeLeft time_left_;
  Stopwatch clock_;
};

void Settle(SynthCommand* command) {
  SynthSettings& settings = command->settings;
  if (command->range.size() != 2)
    throw InvalidInput("--unary-range needs two numbers, for example 0,10");
  settings.low = command->range[0];
  settings.high = command->range[1];
  if (!command->methods.empty()) {
    settings.methods.clear();
    for (const std::string& name : command->methods)
      settings.methods.push_back(*ParseSynthMethod(name));
  }
  if (command->as_published) {
    settings.methods.push_back(SynthMethod::kPublishedSubmod);
    settings.methods.push_back(SynthMethod::kPublishedAlternate);
  }
  if (command->output.empty())
    throw InvalidInput("synth needs a directory for its results, for example -o results");
  CheckSynthSettings(settings);
}

void RunSynth(SynthCommand command) {
  Settle(&command);
  const SynthShard shard = ParseShard(command.shard);
  std::vector<LabelSpace> labels = AllLabels(command.settings);
  const ThreadLimit thread_limit(command.threads);
  SynthStore store(command.output, command.settings, shard);
  CatchInterrupts();
  Experiment experiment(command, &store, std::move(labels), shard);
  experiment.Run();
  WriteSummary(command.output, command.settings, store.results(), command.quiet);
  if (experiment.missing() > 0) {
    throw submarine::Interrupted(fmt::format(
        "interrupted: {} of {} results are missing; run the same command again to continue",
        experiment.missing(), experiment.wanted()));
  }
}

void RunMerge(const SynthCommand& command) {
  const std::vector<std::filesystem::path> directories(command.merge_from.begin(),
                                                       command.merge_from.end());
  const MergedSynth merged = MergeSynth(directories, command.merge_to);
  WriteSummary(command.merge_to, merged.settings, merged.results, command.quiet);
  const std::size_t wanted = SynthTasks(merged.settings).size();
  if (merged.results.size() < wanted && !command.quiet) {
    PrintLine(fmt::format("{} of {} results are missing.", wanted - merged.results.size(), wanted));
  }
}

void AddModelOptions(CLI::App* sub, SynthCommand* command) {
  SynthSettings& settings = command->settings;
  sub->add_option("--width", settings.width, "Columns")->capture_default_str();
  sub->add_option("--height", settings.height, "Rows")->capture_default_str();
  sub->add_option("--labels", settings.labels, "Labels, 2 to 1024")->capture_default_str();
  sub->add_option("--unary-range", command->range, "Unaries are uniform in LOW,HIGH")
      ->delimiter(',')
      ->expected(1, 2)
      ->default_str("0,10");
  sub->add_option("--metrics", settings.metrics,
                  "Separated by spaces: potts, linear, truncated:T, tree:SPEC, tree:FILE.json, or "
                  "the paper's tree1 (5x4:1,0.5) and tree2 (2x2x5:1,1,0.5)")
      ->default_str("potts tree1 tree2");
  sub->add_option("--weights", settings.weights, "Edge weights, separated by commas")
      ->delimiter(',')
      ->default_str("1,2,5,10");
  sub->add_option("--instances", settings.instances, "Random models per metric and weight")
      ->check(NumberBetween(1, 1e6))
      ->capture_default_str();
  sub->add_option("--seed", settings.seed, "Seed of the random unaries")
      ->check(NumberBetween(0, 1.8e19))
      ->capture_default_str();
}

void AddMethodOptions(CLI::App* sub, SynthCommand* command) {
  SynthSettings& settings = command->settings;
  sub->add_option("--methods", command->methods,
                  "Separated by commas: submod-fw (Frank-Wolfe as in the paper), submod "
                  "(converged), alternate, trw (rho 1/2), trw-opt (rho optimised), mf, hybrid")
      ->delimiter(',')
      ->check(OneOf(SynthMethodNames()))
      ->default_str("all but trw-opt");
  sub->add_flag("--as-published", command->as_published,
                "Also the published curves with their mistakes (docs/experiments.md)");
  sub->add_option("--steps", settings.steps, "Number of Frank-Wolfe steps")
      ->check(NumberBetween(1, 1e9))
      ->capture_default_str();
  sub->add_option("--gap", settings.gap, "Relative gap of submod")
      ->check(NumberBetween(0, 1))
      ->capture_default_str();
  sub->add_option("--hybrid-gap", settings.hybrid_gap, "Relative gap of hybrid")
      ->check(NumberBetween(0, 1))
      ->capture_default_str();
  sub->add_option("--trw-tolerance", settings.trw_tolerance,
                  "TRW ends when a sweep gains less than this, relatively")
      ->check(NumberBetween(0, 1))
      ->capture_default_str();
  sub->add_option("--rho-steps", settings.rho_steps, "Number of optimisation steps of trw-opt")
      ->check(NumberBetween(1, 1e6))
      ->capture_default_str();
}

void AddMerge(CLI::App* sub, SynthCommand* command) {
  CLI::App* merge = sub->add_subcommand("merge", "Join the results of shards");
  merge->add_option("DIR", command->merge_from, "Directories of shards")->required();
  merge->add_option("-o,--output", command->merge_to, "Directory for the joined results")
      ->required();
  merge->add_flag("-q,--quiet", command->quiet, "No table");
}

}  // namespace

void AddSynthCommand(CLI::App* app) {
  auto command = std::make_shared<SynthCommand>();
  CLI::App* sub = app->add_subcommand(
      "synth", "The paper's synthetic experiment: upper bounds on random grids, against TRW");
  AddModelOptions(sub, command.get());
  AddMethodOptions(sub, command.get());
  sub->add_option("-o,--output", command->output,
                  "Directory of results.csv, summary.json, figure.svg and figure.png; an "
                  "interrupted run is continued there");
  sub->add_option("--shard", command->shard,
                  "i/n: only the i-th of n parts, for several machines; see `synth merge`")
      ->capture_default_str();
  sub->add_flag("--deterministic", command->settings.deterministic,
                "Bit-identical results for any number of threads, without times");
  sub->add_option("--threads", command->threads, "0: all cores")
      ->check(NumberBetween(0, 1e4))
      ->capture_default_str();
  sub->add_flag("-q,--quiet", command->quiet, "No progress, no table");
  AddMerge(sub, command.get());
  sub->footer(
      "Examples:\n"
      "  submarine synth -o results                              the paper's settings\n"
      "  submarine synth --instances 5 --as-published -o five\n"
      "  submarine synth --metrics potts truncated:3 --weights 1,5 --instances 3 -o mine\n"
      "  submarine synth --shard 1/2 -o part1   and elsewhere   --shard 2/2 -o part2\n"
      "  submarine synth merge part1 part2 -o whole");
  sub->callback([command, sub] {
    if (sub->got_subcommand("merge")) {
      RunMerge(*command);
    } else {
      RunSynth(*command);
    }
  });
}

}  // namespace submarine::apps
