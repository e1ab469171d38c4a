#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/messages.h"
#include "apps/cli/option_checks.h"
#include "apps/commands.h"
#include "apps/metric/tree_picture.h"
#include "apps/solve/solve_output.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/model/metric_spec.h"

namespace submarine::apps {
namespace {

using internal::WriteFileAtomically;
using Json = nlohmann::ordered_json;

struct MetricCommand {
  std::string metric;
  int labels = 0;
  int cuts = 10;
  std::string json;
  std::string picture;
};

SizedMetric Read(const MetricCommand& command) {
  if (std::optional<SizedMetric> metric = ReadSizedMetric(command.metric)) {
    const int labels = metric->labels.num_labels();
    if (command.labels > 0 && command.labels != labels) {
      throw InvalidInput(fmt::format("--labels is {}, but {} has {} labels", command.labels,
                                     command.metric, labels));
    }
    return *std::move(metric);
  }
  if (command.labels == 0) {
    throw InvalidInput(fmt::format(
        "the metric {} needs --labels, as it is neither from a file nor a tree", command.metric));
  }
  return {ParseMetricSpec(command.metric, command.labels, false, nullptr)};
}

std::string NameOf(const LabelSpace& labels, int label) {
  return labels.names.empty() ? fmt::format("{}", label)
                              : labels.names[static_cast<std::size_t>(label)];
}

// Longest first.
std::vector<int> CutsInUse(const LabelSpace& labels) {
  const std::vector<double>& length = labels.metrics.front().length;
  std::vector<int> cuts;
  for (int c = 0; c < labels.cuts->num_cuts(); ++c) {
    if (length[static_cast<std::size_t>(c)] > 0.0) cuts.push_back(c);
  }
  std::stable_sort(cuts.begin(), cuts.end(), [&](int a, int b) {
    return length[static_cast<std::size_t>(a)] > length[static_cast<std::size_t>(b)];
  });
  return cuts;
}

std::string CutText(const LabelSpace& labels, int cut) {
  constexpr std::size_t kShown = 12;
  std::vector<std::string> names;
  for (int label : labels.cuts->set(cut)) names.push_back(NameOf(labels, label));
  const std::size_t more = names.size() - std::min(kShown, names.size());
  names.resize(names.size() - more);
  return fmt::format("{:10.4g}  {{{}{}}}", labels.metrics[0].length[static_cast<std::size_t>(cut)],
                     fmt::join(names, ", "), more > 0 ? fmt::format(", {} more", more) : "");
}

std::string Report(const SizedMetric& metric, const MetricCommand& command) {
  const LabelSpace& labels = metric.labels;
  const LabelMetric& d = labels.metrics.front();
  const std::vector<int> cuts = CutsInUse(labels);
  double nearest = std::numeric_limits<double>::infinity(), farthest = 0.0;
  for (std::size_t i = 0; i < d.distance.rows(); ++i) {
    for (std::size_t j = i + 1; j < d.distance.cols(); ++j) {
      nearest = std::min(nearest, d.distance(i, j));
      farthest = std::max(farthest, d.distance(i, j));
    }
  }
  std::string text =
      fmt::format("{}: {} labels{}, distances from {:g} to {:g}\n", d.name, labels.num_labels(),
                  labels.groups.empty() ? "" : fmt::format(" in {} groups", labels.groups.size()),
                  nearest, farthest);
  const auto single = std::count_if(cuts.begin(), cuts.end(),
                                    [&](int c) { return labels.cuts->set(c).size() == 1; });
  text += fmt::format(
      "Cuts: {}, {} of them of single labels; Potts has {}, and the time of an iteration of the "
      "upper bound grows with the cuts.\n",
      cuts.size(), single, labels.num_labels());
  if (labels.exact()) {
    text += "The cuts express it exactly: d' = d.\n";
  } else {
    const MetricFit fit = FitOf(*labels.cuts, d);
    text += fmt::format(
        "Upper bounds are about the sum of cuts d' <= d: d/d' is at most {:.4g} ({} and {}), "
        "{:.4g} "
        "on average. Labels, energies and lower bounds are those of d.\n",
        fit.worst, NameOf(labels, fit.i), NameOf(labels, fit.j), fit.mean);
  }
  if (metric.tree) {
    for (const std::string& violation : metric.tree->HstViolations())
      text += fmt::format("No r-HST: {}.\n", violation);
    return text + TreeText(*metric.tree);
  }
  const auto shown = std::min(cuts.size(), static_cast<std::size_t>(command.cuts));
  if (shown > 0) text += fmt::format("The longest {} cuts, length and labels:\n", shown);
  for (std::size_t k = 0; k < shown; ++k) text += CutText(labels, cuts[k]) + "\n";
  return text;
}

Json ReportJson(const LabelSpace& labels) {
  const LabelMetric& d = labels.metrics.front();
  const MetricFit fit = FitOf(*labels.cuts, d);
  Json json = {{"metric", d.name},
               {"labels", labels.num_labels()},
               {"exact", labels.exact()},
               {"worst_ratio", labels.exact() ? 1.0 : fit.worst},
               {"mean_ratio", labels.exact() ? 1.0 : fit.mean}};
  if (!labels.names.empty()) json["names"] = labels.names;
  json["groups"] = Json::array();
  for (const LabelGroup& group : labels.groups)
    json["groups"].push_back({{"name", group.name}, {"labels", group.labels}});
  json["cuts"] = Json::array();
  for (int c : CutsInUse(labels)) {
    json["cuts"].push_back(
        {{"length", d.length[static_cast<std::size_t>(c)]}, {"labels", labels.cuts->set(c)}});
  }
  return json;
}

void RunMetric(const MetricCommand& command) {
  for (const std::string* file : {&command.json, &command.picture}) {
    if (!file->empty()) internal::AtomicFile probe(*file);  // fail now rather than after the work
  }
  const SizedMetric metric = Read(command);
  if (!command.picture.empty()) {
    if (!metric.tree) {
      throw InvalidInput(
          fmt::format("--picture draws label trees, and {} is none", command.metric));
    }
    WriteFileAtomically(command.picture, TreeSvg(*metric.tree));
  }
  if (!command.json.empty()) WriteFileAtomically(command.json, JsonText(ReportJson(metric.labels)));
  PrintText(Report(metric, command));
}

}  // namespace

void AddMetricCommand(CLI::App* app) {
  auto command = std::make_shared<MetricCommand>();
  CLI::App* sub = app->add_subcommand(
      "metric", "Show a label metric: its cuts, how well they express it, its tree");
  sub->add_option("METRIC", command->metric,
                  "What --metric of the other commands takes: a file of a matrix or a label tree "
                  "(.csv, .tsv, .txt, .json, .npy), a tree, or a name, with --labels")
      ->required();
  sub->add_option("--labels", command->labels, "Number of labels, of potts, linear and truncated:T")
      ->check(NumberBetween(2, kMaxLabels))
      ->default_str("");
  sub->add_option("--cuts", command->cuts, "How many cuts to list")
      ->check(NumberBetween(0, 1000000));
  sub->add_option("--json", command->json, "Write all cuts and groups (JSON)");
  sub->add_option("--picture", command->picture, "Draw the label tree (SVG)");
  sub->footer(
      "Examples:\n"
      "  submarine metric animals.tsv --picture animals.svg\n"
      "  submarine metric costs.csv --json cuts.json\n"
      "  submarine metric repair:costs.csv\n"
      "  submarine metric tree2b\n"
      "  submarine metric truncated:3 --labels 16");
  sub->callback([command] { RunMetric(*command); });
}

}  // namespace submarine::apps
