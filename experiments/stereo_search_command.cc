#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "apps/cli/messages.h"
#include "apps/cli/option_checks.h"
#include "apps/fit/content_hash.h"
#include "experiments/commands.h"
#include "experiments/experiment.h"
#include "experiments/stereo_search.h"
#include "submarine/base/error.h"
#include "submarine/base/parallel.h"

namespace submarine::apps {
namespace {

struct SearchCommand {
  std::vector<std::string> directories;
  std::string output;
  int leave = 2;
  int sweeps = 2;
  int threads = 0;
  bool quiet = false;
};

// Runs are kept by what was chosen, whichever search asks for them.
class Scores {
 public:
  Scores(const SearchCommand& command, const std::vector<BenchPair>& pairs)
      : pairs_(pairs), store_(command.output, "stereo-search"), line_(command.quiet) {
    for (const BenchPair& pair : pairs) contents_.push_back(fmt::format("{:016x}", pair.contents));
  }

  const StereoScores& Of(const Choice& choice, std::size_t p) {
    const auto found = known_.find({choice, p});
    if (found != known_.end()) return found->second;
    if (Interrupted())
      throw submarine::Interrupted("interrupted: run the same command again to continue");
    const Row parameters = {
        {"pair", pairs_[p].name}, {"contents", contents_[p]}, {"choice", choice}};
    const std::string text = parameters.dump();
    const std::string name = fmt::format("{}-{:016x}", pairs_[p].name,
                                         ContentHash(std::span<const char>(text), kEmptyHash));
    StereoScores scores;
    if (const auto stored = store_.Find(name, parameters)) {
      scores = stored->get<StereoScores>();
    } else {
      line_.Show(fmt::format("{} runs, {}", known_.size(), pairs_[p].name));
      scores = ScoresOf(pairs_[p], choice);
      store_.Store(name, {{"parameters", parameters}, {"result", scores}});
    }
    return known_[{choice, p}] = scores;
  }

  Choice Search(const std::vector<std::size_t>& pairs, int sweeps) {
    return SearchConstants(
        [&](const Choice& choice) {
          std::vector<StereoScores> scores;
          for (const std::size_t p : pairs) scores.push_back(Of(choice, p));
          return scores;
        },
        sweeps);
  }

  void Clear() { line_.Clear(); }

 private:
  const std::vector<BenchPair>& pairs_;
  RunStore store_;
  std::vector<std::string> contents_;
  std::map<std::pair<Choice, std::size_t>, StereoScores> known_;
  ProgressLine line_;
};

std::string Line(const std::string& name, const StereoScores& scores) {
  std::string line = fmt::format("| {} |", name);
  for (const double score : scores) line += fmt::format(" {:.2f} |", 100.0 * score);
  return line;
}

StereoScores MeanOf(const std::vector<StereoScores>& scores) {
  StereoScores mean = {};
  for (const StereoScores& of : scores) {
    for (std::size_t m = 0; m < mean.size(); ++m)
      mean[m] += of[m] / static_cast<double>(scores.size());
  }
  return mean;
}

void RunSearch(const SearchCommand& command) {
  const internal::ThreadLimit thread_limit(command.threads);
  std::vector<BenchPair> pairs;
  for (const std::string& directory : command.directories) {
    pairs.push_back(ReadBenchPair(directory, StereoPreset::kDefault, {}));
    if (pairs.back().truth.empty())
      throw InvalidInput(fmt::format("\"{}\" holds no disparity.png to search by", directory));
  }
  if (pairs.size() <= static_cast<std::size_t>(command.leave)) {
    throw InvalidInput(fmt::format("there are {} pairs, expected more than the {} to leave out",
                                   pairs.size(), command.leave));
  }
  Scores scores(command, pairs);
  std::vector<std::size_t> all(pairs.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const Choice of_all = scores.Search(all, command.sweeps);
  // Pairs that are alike are often neighbours in a list, and should not be left out together.
  std::vector<std::size_t> order = all;
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  std::vector<StereoScores> held_out(pairs.size());
  const auto leave = static_cast<std::size_t>(command.leave);
  for (std::size_t first = 0; first < order.size(); first += leave) {
    std::vector<std::size_t> seen;
    for (std::size_t j = 0; j < order.size(); ++j) {
      if (j < first || j >= first + leave) seen.push_back(order[j]);
    }
    std::sort(seen.begin(), seen.end());
    const Choice choice = scores.Search(seen, command.sweeps);
    for (std::size_t j = first; j < std::min(first + leave, order.size()); ++j)
      held_out[order[j]] = scores.Of(choice, order[j]);
  }
  std::string text = "| constant | literature | searched | default |\n|---|---|---|---|\n";
  const Choice defaults = ChoiceOfDefaults();
  for (std::size_t c = 0; c < defaults.size(); ++c) {
    const SearchedConstant& constant = SearchedConstants()[c];
    text += fmt::format("| {} | {:g} | {:g} | {:g} |\n", constant.name, constant.values.front(),
                        of_all[c], defaults[c]);
  }
  text += "\n| pairs |";
  for (const char* name : kSearchMeasureNames) text += fmt::format(" {} |", name);
  text += "\n|---|" + std::string(4 * kSearchMeasures, '-') + "\n";
  for (std::size_t m = 0, at = text.rfind("|---|") + 5; m < kSearchMeasures; ++m, at += 4)
    text.replace(at, 4, "---|");
  for (const std::size_t p : all) text += Line(pairs[p].name + ", held out", held_out[p]) + "\n";
  text += Line("mean, held out", MeanOf(held_out)) + "\n";
  for (const auto& [name, choice] : {std::pair("mean, searched on all", of_all),
                                     std::pair("mean, literature", ChoiceOfLiterature()),
                                     std::pair("mean, defaults", defaults)}) {
    std::vector<StereoScores> of_pairs;
    for (const std::size_t p : all) of_pairs.push_back(scores.Of(choice, p));
    text += Line(name, MeanOf(of_pairs)) + "\n";
  }
  scores.Clear();
  PrintText(text);
}

}  // namespace

void AddStereoSearchCommand(CLI::App* app) {
  auto command = std::make_shared<SearchCommand>();
  CLI::App* sub = app->add_subcommand("stereo-search",
                                      "Searches the numbers of semi-global matching, and says what "
                                      "a search is worth on pairs that it "
                                      "has not seen");
  sub->add_option("DIR", command->directories,
                  "Directories with left.png, right.png and disparity.png, as for stereo-bench")
      ->required();
  sub->add_option("-o,--output", command->output,
                  "Directory that keeps finished runs; the same command continues there")
      ->required();
  sub->add_option("--leave", command->leave, "So many pairs are left out of each search")
      ->check(NumberBetween(1, 100));
  sub->add_option("--sweeps", command->sweeps, "Over all numbers, one after the other")
      ->check(NumberBetween(1, 100));
  sub->add_option("--threads", command->threads, "0: all cores; results do not depend on it")
      ->check(NumberBetween(0, 1e4));
  sub->add_flag("-q,--quiet", command->quiet, "No progress");
  sub->footer("Example:\n  submarine-experiments stereo-search DATA/* -o search");
  sub->callback([command] {
    CatchInterrupts();
    RunSearch(*command);
  });
}

}  // namespace submarine::apps
