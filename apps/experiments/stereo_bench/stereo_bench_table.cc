#include "apps/experiments/stereo_bench/stereo_bench_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/cli/messages.h"
#include "apps/experiments/tables.h"
#include "submarine/base/version.h"

namespace submarine::apps {
namespace {

using internal::DisparityErrors;

using Json = nlohmann::ordered_json;

constexpr const char* kSameModel =
    "All energies are those of the method's labeling under the same model (exact Gaussian kernels, "
    "ordered pairs, no self terms).";

std::string Cell(const std::optional<double>& value, const char* format) {
  return value && std::isfinite(*value) ? fmt::format(fmt::runtime(format), *value) : "-";
}
std::string Energy(const std::optional<double>& value) { return Cell(value, "{:.4g}"); }
std::string Percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.2f}%", 100.0 * *share) : "-";
}
std::optional<double> BadOne(const std::optional<DisparityErrors>& errors) {
  return errors ? std::optional(errors->bad_one) : std::nullopt;
}
std::optional<double> MeanAbsolute(const std::optional<DisparityErrors>& errors) {
  return errors ? std::optional(errors->mean_absolute) : std::nullopt;
}

std::string Interval(const BenchResult& result) {
  if (result.lower && result.upper)
    return fmt::format("[{:.6g}, {:.6g}]", *result.lower, *result.upper);
  return result.upper ? fmt::format("<= {:.6g}", *result.upper) : "-";
}
// The gap of the interval or of the solver (docs/conventions.md), relative to the upper bound.
std::optional<double> BelowUpper(const BenchResult& result, const std::optional<double>& value) {
  if (!value || !result.upper) return std::nullopt;
  return (*result.upper - *value) / std::max(1.0, std::abs(*result.upper));
}
std::optional<double> Width(const BenchResult& r) { return BelowUpper(r, r.lower); }
std::optional<double> Gap(const BenchResult& r) { return BelowUpper(r, r.dual); }

std::optional<double> Ratio(double value, double reference) {
  if (!(value > 0.0 && reference > 0.0)) return std::nullopt;
  return value / reference;
}

// Whether the cited figures correspond to the preset.
bool IsCitedUnder(const CitedRuns& cited, StereoPreset preset) {
  if (preset == StereoPreset::kDefault) return false;
  return !cited.guided_by_right || preset == StereoPreset::kPaperSlip;
}

std::string CitedTable(const BenchRows& rows) {
  MarkdownTable table({"pair", "MF energy", "Submod energy", "Submod bound",
                       "MF on the scored kernel", "MF s", "Submod s",
                       "bad > 1 px: MF / Submod / MF scored kernel"});
  bool any = false;
  for (const std::string& pair : rows.pairs) {
    const auto cited = CitedFor(pair);
    if (!cited) continue;
    any = true;
    table.Add({pair, Energy(cited->mean_field_energy), Energy(cited->submod_energy),
               Cell(cited->submod_bound, "{:.5g}"), Energy(cited->scored_kernel_energy),
               Cell(cited->mean_field_seconds, "{:g}"), Cell(cited->submod_seconds, "{:g}"),
               fmt::format("{} / {} / {}", Percent(cited->mean_field_bad),
                           Percent(cited->submod_bad), Percent(cited->scored_kernel_bad))});
  }
  if (!any) return "";
  return "**Cited, not computed here**: the paper's energies, and its authors' code as it was run "
         "elsewhere on two cores, one "
         "thread. Mean field ran on a normalised kernel and was scored on another, by the authors' "
         "lattice.\n\n" +
         table.text() + "\n";
}

std::string ReproductionTable(const BenchRows& rows) {
  MarkdownTable table({"pair", "published MF energy", "mf-published, scored as published",
                       "difference", "the same labeling, exact Gaussians", "iterations", "s",
                       "bad > 1 px"});
  bool any = false;
  for (const std::string& pair : rows.pairs) {
    const BenchResult* run = rows.Find(pair, BenchMethod::kPublishedMeanField);
    if (run == nullptr) continue;
    any = true;
    const auto cited = CitedFor(pair);
    const bool same = cited && IsCitedUnder(*cited, rows.settings.preset);
    const auto off =
        same ? std::optional(100.0 * (*run->published_energy / cited->mean_field_energy - 1.0))
             : std::nullopt;
    table.Add({pair, same ? Energy(cited->mean_field_energy) : "- (see paper-slip)",
               Energy(run->published_energy), off ? fmt::format("{:+.2f}%", *off) : "-",
               Energy(run->energy), fmt::format("{}", run->iterations.value_or(0)),
               fmt::format("{:.3g}", run->seconds), Percent(BadOne(run->errors))});
  }
  if (!any) return "";
  return "**Reproduction**: mean field as published (normalised classic lattice, self terms, pairs "
         "once), "
         "scored as published (classic lattice, not normalised, ordered pairs).\n\n" +
         table.text() + "\n";
}

std::string ComparisonTable(const BenchRows& rows) {
  MarkdownTable table({"pair", "method", "energy", "/ mf", "s", "/ mf", "interval of log Z",
                       "its width", "gap", "bad > 1 px", "refined", "mean error, px, refined"});
  for (const BenchRun& run : rows.runs) {
    const BenchResult& r = run.result;
    const BenchResult* mf = rows.Find(run.pair, BenchMethod::kMeanField);
    table.Add({run.pair, ToString(run.method), Energy(r.energy),
               mf != nullptr ? Cell(Ratio(r.energy, mf->energy), "{:.3f}") : "-",
               fmt::format("{:.3g}", r.seconds),
               mf != nullptr ? Cell(Ratio(r.seconds, mf->seconds), "{:.3g}") : "-", Interval(r),
               Percent(Width(r)), Percent(Gap(r)), Percent(BadOne(r.errors)),
               Percent(BadOne(r.refined)), Cell(MeanAbsolute(r.refined), "{:.3f}")});
  }
  return fmt::format(
             "**{}** Intervals of `auto` are certified for that model; the bound of `fw` is as its "
             "operator has it. Seconds are "
             "from model to result, for `auto` with the certificate. Bad pixels are of all known "
             "ones.\n\n",
             kSameModel) +
         table.text() + "\n";
}

std::string RatioTable(const BenchRows& rows) {
  MarkdownTable table({"method", "time / mf", "energy / mf", "pairs"});
  bool any = false;
  for (const BenchMethod method : rows.settings.methods) {
    const auto ratios = RatiosToMeanField(rows, method);
    if (!ratios || method == BenchMethod::kMeanField) continue;
    any = true;
    table.Add({ToString(method), fmt::format("{:.3g}", ratios->seconds),
               fmt::format("{:.3f}", ratios->energy), fmt::format("{}", ratios->pairs)});
  }
  return any ? "**Averages over the pairs** (geometric means).\n\n" + table.text() : "";
}

std::string CsvNumber(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : "";
}

}  // namespace

const BenchResult* BenchRows::Find(const std::string& pair, BenchMethod method) const {
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const BenchRun& run) {
    return run.pair == pair && run.method == method;
  });
  return found == runs.end() ? nullptr : &found->result;
}

std::optional<BenchRatios> RatiosToMeanField(const BenchRows& rows, BenchMethod method) {
  BenchRatios ratios;
  double log_seconds = 0.0;
  double log_energy = 0.0;
  for (const std::string& pair : rows.pairs) {
    const BenchResult* run = rows.Find(pair, method);
    const BenchResult* mf = rows.Find(pair, BenchMethod::kMeanField);
    if (run == nullptr || mf == nullptr) continue;
    const auto seconds = Ratio(run->seconds, mf->seconds);
    const auto energy = Ratio(run->energy, mf->energy);
    if (!seconds || !energy) continue;
    ++ratios.pairs;
    log_seconds += std::log(*seconds);
    log_energy += std::log(*energy);
  }
  if (ratios.pairs == 0) return std::nullopt;
  ratios.seconds = std::exp(log_seconds / ratios.pairs);
  ratios.energy = std::exp(log_energy / ratios.pairs);
  return ratios;
}

std::string BenchCsv(const BenchRows& rows) {
  std::string csv =
      "pair,preset,method,source,energy,energy_as_published,lower,upper,dual,seconds,iterations,"
      "termination,bad_0.5,bad_1,bad_2,mean_absolute,refined_bad_0.5,refined_bad_1,refined_bad_2,"
      "refined_mean_absolute\n";
  const auto errors = [](const std::optional<DisparityErrors>& e) {
    return e ? fmt::format("{},{},{},{}", e->bad_half, e->bad_one, e->bad_two, e->mean_absolute)
             : std::string(",,,");
  };
  const std::string preset = ToString(rows.settings.preset);
  for (const BenchRun& run : rows.runs) {
    const BenchResult& r = run.result;
    csv += fmt::format("{},{},{},computed,{},{},{},{},{},{},{},{},{},{}\n", CsvText(run.pair),
                       preset, ToString(run.method), r.energy, CsvNumber(r.published_energy),
                       CsvNumber(r.lower), CsvNumber(r.upper), CsvNumber(r.dual), r.seconds,
                       r.iterations ? fmt::format("{}", *r.iterations) : "", CsvText(r.termination),
                       errors(r.errors), errors(r.refined));
  }
  for (const std::string& pair : rows.pairs) {
    const auto cited = CitedFor(pair);
    if (!cited) continue;
    const auto add = [&](const char* method, double energy, std::optional<double> upper,
                         std::optional<double> seconds, std::optional<double> bad) {
      csv += fmt::format("{},paper-slip,{},cited,,{},,{},,{},,,,{},,,,,,\n", CsvText(pair), method,
                         energy, CsvNumber(upper), CsvNumber(seconds), CsvNumber(bad));
    };
    add("mf-published", cited->mean_field_energy, {}, cited->mean_field_seconds,
        cited->mean_field_bad);
    add("fw", cited->submod_energy, cited->submod_bound, cited->submod_seconds, cited->submod_bad);
    add("mf", cited->scored_kernel_energy, {}, {}, cited->scored_kernel_bad);
  }
  return csv;
}

std::string BenchMarkdown(const BenchRows& rows) {
  return fmt::format("Preset `{}`, submarine {}.\n\n", ToString(rows.settings.preset), kVersion) +
         CitedTable(rows) + ReproductionTable(rows) + ComparisonTable(rows) + RatioTable(rows);
}

std::string BenchText(const BenchRows& rows) {
  std::size_t width = 4;
  for (const std::string& pair : rows.pairs) width = std::max(width, Escaped(pair).size());
  std::string text =
      fmt::format("{:<{}}  {:<12}  {:>11}  {:>9}  {:>29}  {:>7}  {:>10}  {:>8}\n", "pair", width,
                  "method", "energy", "s", "log Z", "width", "bad > 1 px", "refined");
  for (const BenchRun& run : rows.runs) {
    const BenchResult& r = run.result;
    text += fmt::format("{:<{}}  {:<12}  {:>11}  {:>9.2f}  {:>29}  {:>7}  {:>10}  {:>8}\n",
                        Escaped(run.pair), width, ToString(run.method), Energy(r.energy), r.seconds,
                        Interval(r), Percent(Width(r)), Percent(BadOne(r.errors)),
                        Percent(BadOne(r.refined)));
  }
  if (const auto ratios = RatiosToMeanField(rows, BenchMethod::kAuto)) {
    text += fmt::format("auto to mf, geometric means over {} pairs: time {:.3g}, energy {:.3f}\n",
                        ratios->pairs, ratios->seconds, ratios->energy);
  }
  return text;
}

Json BenchSummary(const BenchRows& rows) {
  Json runs = Json::array();
  Json facts = Json::array();
  for (const BenchRun& run : rows.runs) {
    Json entry = {{"pair", run.pair}, {"method", ToString(run.method)}};
    entry.update(ToJson(run.result));
    runs.push_back(std::move(entry));
    std::string text =
        fmt::format("energy {}, {:.3g} s", Energy(run.result.energy), run.result.seconds);
    if (run.result.lower && run.result.upper)
      text += fmt::format(", log Z in {}", Interval(run.result));
    if (run.result.refined) {
      text += fmt::format(", bad pixels {} (refined {})", Percent(BadOne(run.result.errors)),
                          Percent(BadOne(run.result.refined)));
    }
    facts.push_back({fmt::format("{}, {}", run.pair, ToString(run.method)), text});
  }
  Json ratios = Json::object();
  for (const BenchMethod method : rows.settings.methods) {
    const auto found = RatiosToMeanField(rows, method);
    if (!found || method == BenchMethod::kMeanField) continue;
    ratios[ToString(method)] = {
        {"seconds", found->seconds}, {"energy", found->energy}, {"pairs", found->pairs}};
    facts.push_back(
        {fmt::format("{} / mf, geometric mean over {} pairs", ToString(method), found->pairs),
         fmt::format("time {:.3g}, energy {:.3f}", found->seconds, found->energy)});
  }
  const std::string preset = ToString(rows.settings.preset);
  return {{"kind", "stereo-bench"},
          {"preset", preset},
          {"pairs", rows.pairs},
          {"runs", runs},
          {"ratios_to_mf", ratios},
          {"version", kVersion},
          {"page",
           {{"title", fmt::format("Stereo benchmark, preset {}", preset)},
            {"figures",
             Json::array({{{"name", "Energies, times, bad pixels"}, {"file", "figure.png"}}})},
            {"facts", facts},
            {"notes", Json::array({kSameModel})}}}};
}

}  // namespace submarine::apps
