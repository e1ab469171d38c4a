#include "apps/experiments/synth/synth_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/cli/messages.h"

namespace submarine::apps {
namespace {

using nlohmann::json;

SynthMoments MomentsOf(const std::vector<double>& values) {
  SynthMoments moments;
  moments.count = static_cast<int>(values.size());
  if (values.empty()) return moments;
  const auto count = static_cast<double>(values.size());
  for (double v : values) moments.mean += v / count;
  double squares = 0.0;
  for (double v : values) squares += (v - moments.mean) * (v - moments.mean);
  if (values.size() > 1) moments.deviation = std::sqrt(squares / (count - 1.0));
  return moments;
}

std::optional<SynthRow> Row(const SynthSettings& settings, const SynthResults& results,
                            SynthTask task) {
  std::vector<double> values;
  std::vector<double> ratios;
  std::vector<double> seconds;
  for (task.instance = 0; task.instance < settings.instances; ++task.instance) {
    const auto found = results.find(task);
    if (found == results.end()) continue;
    values.push_back(found->second.value);
    if (found->second.seconds) seconds.push_back(*found->second.seconds);
    SynthTask reference = task;
    reference.method = SynthMethod::kTrw;
    const auto trw = results.find(reference);
    if (trw != results.end() && trw->second.value != 0.0)
      ratios.push_back((values.back() - trw->second.value) / std::abs(trw->second.value));
  }
  if (values.empty()) return std::nullopt;
  SynthRow row{task.metric,       task.weight,  task.method,
               MomentsOf(values), std::nullopt, MomentsOf(seconds)};
  if (!ratios.empty()) row.ratio = MomentsOf(ratios);
  return row;
}

json ToJson(const SynthMoments& moments) {
  return {{"count", moments.count}, {"mean", moments.mean}, {"deviation", moments.deviation}};
}

}  // namespace

std::vector<SynthRow> Summarise(const SynthSettings& settings, const SynthResults& results) {
  std::vector<SynthRow> rows;
  for (std::size_t metric = 0; metric < settings.metrics.size(); ++metric) {
    for (std::size_t weight = 0; weight < settings.weights.size(); ++weight) {
      for (SynthMethod method : settings.methods) {
        const auto row = Row(settings, results, {metric, weight, 0, method});
        if (row) rows.push_back(*row);
      }
    }
  }
  return rows;
}

std::string SynthTable(const SynthSettings& settings, const std::vector<SynthRow>& rows) {
  std::size_t width = 6;
  for (const std::string& metric : settings.metrics) width = std::max(width, metric.size());
  std::string table =
      fmt::format("{:<{}}  {:>6}  {:<19}  {:>4}  {:>13}  {:>8}  {:>8}  {:>9}\n", "metric", width,
                  "weight", "method", "n", "mean bound", "mean r", "std r", "s");
  for (const SynthRow& row : rows) {
    const auto ratio = [&](double SynthMoments::*part) {
      return row.ratio ? fmt::format("{:.4f}", *row.ratio.*part) : std::string("-");
    };
    table += fmt::format("{:<{}}  {:>6}  {:<19}  {:>4}  {:>13.1f}  {:>8}  {:>8}  {:>9}\n",
                         Escaped(settings.metrics[row.metric]), width, settings.weights[row.weight],
                         ToString(row.method), row.value.count, row.value.mean,
                         ratio(&SynthMoments::mean), ratio(&SynthMoments::deviation),
                         row.seconds.count > 0 ? fmt::format("{:.2f}", row.seconds.mean) : "-");
  }
  return table;
}

std::string SynthSummaryJson(const SynthSettings& settings, const std::vector<SynthRow>& rows) {
  json list = json::array();
  for (const SynthRow& row : rows) {
    json entry = {{"metric", settings.metrics[row.metric]},
                  {"weight", settings.weights[row.weight]},
                  {"method", ToString(row.method)},
                  {"bound", ToJson(row.value)},
                  {"ratio", nullptr}};
    if (row.ratio) entry["ratio"] = ToJson(*row.ratio);
    if (row.seconds.count > 0) entry["seconds"] = ToJson(row.seconds);
    list.push_back(std::move(entry));
  }
  return json{{"settings", json::parse(SynthSettingsJson(settings))}, {"rows", list}}.dump(2) +
         "\n";
}

}  // namespace submarine::apps
