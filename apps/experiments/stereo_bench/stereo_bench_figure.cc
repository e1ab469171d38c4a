// Three panels below one another, each with a group of bars per pair.
#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "apps/experiments/bar_figure.h"
#include "apps/experiments/stereo_bench/stereo_bench_table.h"

namespace submarine::apps {
namespace {

BarSeries SeriesOf(BenchMethod method) {
  switch (method) {
    case BenchMethod::kPublishedMeanField:
      return {"mean field as published", {0.80, 0.47, 0.65}};
    case BenchMethod::kSelfTermMeanField:
      return {"mean field, self terms", {0.84, 0.37, 0.00}};
    case BenchMethod::kMeanField:
      return {"mean field", {0.90, 0.62, 0.00}};
    case BenchMethod::kFrankWolfe:
      return {"Submod, 100 steps", {0.34, 0.71, 0.91}};
    case BenchMethod::kAuto:
      return {"ours, certified", {0.00, 0.45, 0.70}};
    case BenchMethod::kConstant:
      return {"best constant", {0.60, 0.60, 0.60}};
  }
  return {"", {0.0, 0.0, 0.0}};
}

using Value = std::function<std::optional<double>(const std::string& pair, const BenchResult& run)>;

// The method `without`, if given, has no bar in this panel.
BarPanel PanelOf(const BenchRows& rows, std::string title, bool logarithmic, const Value& value,
                 std::optional<BenchMethod> without = {}) {
  return {std::move(title), logarithmic,
          [&rows, value, without](std::size_t group, std::size_t series) -> std::optional<double> {
            const std::string& pair = rows.pairs[group];
            const BenchMethod method = rows.settings.methods[series];
            const BenchResult* run = rows.Find(pair, method);
            if (run == nullptr || method == without) return std::nullopt;
            return value(pair, *run);
          }};
}

}  // namespace

void WriteBenchFigure(const std::filesystem::path& directory, const BenchRows& rows) {
  BarFigure figure{fmt::format("Stereo benchmark, preset {}", ToString(rows.settings.preset)),
                   rows.pairs,
                   {},
                   {}};
  for (const BenchMethod method : rows.settings.methods) figure.series.push_back(SeriesOf(method));
  figure.panels.push_back(
      PanelOf(rows, "Energy / energy of mean field (exact Gaussians, log scale)", true,
              [&rows](const std::string& pair, const BenchResult& run) -> std::optional<double> {
                const BenchResult* mf = rows.Find(pair, BenchMethod::kMeanField);
                if (mf == nullptr || !(mf->energy > 0.0 && run.energy > 0.0)) return std::nullopt;
                return run.energy / mf->energy;
              }));
  figure.panels.push_back(PanelOf(
      rows, "Seconds (log scale)", true,
      [](const std::string&, const BenchResult& run) -> std::optional<double> {
        return run.seconds > 0.0 ? std::optional(run.seconds) : std::nullopt;
      },
      BenchMethod::kConstant));
  const bool refined = rows.settings.preset == StereoPreset::kDefault;
  figure.panels.push_back(PanelOf(
      rows,
      refined ? "Bad pixels, refined disparities off by > 1 px (%)"
              : "Bad pixels, labels off by > 1 px (%)",
      false,
      [refined](const std::string&, const BenchResult& run) -> std::optional<double> {
        const auto& errors = refined ? run.refined : run.errors;
        return errors ? std::optional(100.0 * errors->bad_one) : std::nullopt;
      },
      BenchMethod::kConstant));
  WriteBarFigure(directory, std::move(figure));
}

}  // namespace submarine::apps
