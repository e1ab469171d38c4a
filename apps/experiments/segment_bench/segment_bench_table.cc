#include "apps/experiments/segment_bench/segment_bench_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "apps/cli/messages.h"
#include "apps/experiments/bar_figure.h"
#include "apps/experiments/tables.h"
#include "submarine/base/version.h"

namespace submarine::apps {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAbout =
    "Means over the pictures, of pixels whose true label is known. Labels are the most probable "
    "ones; boundary accuracy is that of pixels within 3 and 6 pixels of another true label; ECE "
    "has "
    "15 bins; NLL clips probabilities at 1e-5. CPU seconds are of all threads, from softmax and "
    "picture to marginals.";

std::string Percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.2f}%", 100.0 * *share) : "-";
}

std::vector<std::string> Cells(const SegmentResult& r) {
  return {Percent(r.accuracy),
          Percent(r.mean_iou),
          Percent(r.boundary_3),
          Percent(r.boundary_6),
          Percent(r.calibration_error),
          fmt::format("{:.4f}", r.negative_log_likelihood),
          fmt::format("{:.3g}", r.seconds),
          fmt::format("{:.3g}", r.cpu_seconds)};
}

const std::vector<std::string> kColumns = {
    "accuracy", "mean IoU", "boundary 3 px", "boundary 6 px", "ECE", "NLL", "s", "CPU s"};

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::optional<double> NumberOrNull(const nlohmann::json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

// Calls `use` for every pair of parameters and method that has a mean.
template <class Use>
void ForMeans(const SegmentRows& rows, const Use& use) {
  for (const NamedParameters& parameters : rows.parameters) {
    for (const SegmentMethod& method : rows.methods) {
      if (const auto mean = MeanOf(rows, parameters.name, method))
        use(parameters.name, ToString(method), *mean);
    }
  }
}

std::vector<std::string> Joined(std::vector<std::string> first,
                                const std::vector<std::string>& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

}  // namespace

std::optional<SegmentMean> MeanOf(const SegmentRows& rows, const std::string& parameters,
                                  const SegmentMethod& method) {
  SegmentMean mean;
  SegmentResult& sum = mean.result;
  double with_boundary = 0.0;
  for (const SegmentRun& run : rows.runs) {
    if (run.parameters != parameters || run.method != method) continue;
    const SegmentResult& r = run.result;
    ++mean.pictures;
    sum.accuracy += r.accuracy;
    sum.mean_iou += r.mean_iou;
    if (r.boundary_3 && r.boundary_6) {
      with_boundary += 1.0;
      sum.boundary_3 = sum.boundary_3.value_or(0.0) + *r.boundary_3;
      sum.boundary_6 = sum.boundary_6.value_or(0.0) + *r.boundary_6;
    }
    sum.calibration_error += r.calibration_error;
    sum.negative_log_likelihood += r.negative_log_likelihood;
    sum.seconds += r.seconds;
    sum.cpu_seconds += r.cpu_seconds;
  }
  if (mean.pictures == 0) return std::nullopt;
  for (double* value : {&sum.accuracy, &sum.mean_iou, &sum.calibration_error,
                        &sum.negative_log_likelihood, &sum.seconds, &sum.cpu_seconds})
    *value /= mean.pictures;
  if (sum.boundary_3) *sum.boundary_3 /= with_boundary;
  if (sum.boundary_6) *sum.boundary_6 /= with_boundary;
  return mean;
}

Json ToJson(const SegmentResult& result) {
  return {{"accuracy", result.accuracy},
          {"mean_iou", result.mean_iou},
          {"boundary_accuracy_3", OrNull(result.boundary_3)},
          {"boundary_accuracy_6", OrNull(result.boundary_6)},
          {"calibration_error", result.calibration_error},
          {"negative_log_likelihood", result.negative_log_likelihood},
          {"seconds", result.seconds},
          {"cpu_seconds", result.cpu_seconds},
          {"termination", result.termination}};
}

SegmentResult ReadSegmentResult(const nlohmann::json& object) {
  SegmentResult result;
  result.accuracy = object.at("accuracy").get<double>();
  result.mean_iou = object.at("mean_iou").get<double>();
  result.boundary_3 = NumberOrNull(object.at("boundary_accuracy_3"));
  result.boundary_6 = NumberOrNull(object.at("boundary_accuracy_6"));
  result.calibration_error = object.at("calibration_error").get<double>();
  result.negative_log_likelihood = object.at("negative_log_likelihood").get<double>();
  result.seconds = object.at("seconds").get<double>();
  result.cpu_seconds = object.at("cpu_seconds").get<double>();
  result.termination = object.at("termination").get<std::string>();
  return result;
}

std::string SegmentCsv(const SegmentRows& rows) {
  std::string csv =
      "picture,parameters,method,accuracy,mean_iou,boundary_accuracy_3,boundary_accuracy_6,"
      "calibration_error,negative_log_likelihood,seconds,cpu_seconds,termination\n";
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : std::string();
  };
  for (const SegmentRun& run : rows.runs) {
    const SegmentResult& r = run.result;
    csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", CsvText(run.picture),
                       CsvText(run.parameters), ToString(run.method), r.accuracy, r.mean_iou,
                       number(r.boundary_3), number(r.boundary_6), r.calibration_error,
                       r.negative_log_likelihood, r.seconds, r.cpu_seconds, CsvText(r.termination));
  }
  return csv;
}

std::string SegmentMarkdown(const SegmentRows& rows) {
  MarkdownTable means(Joined({"parameters", "method", "pictures"}, kColumns));
  ForMeans(rows, [&](const std::string& parameters, const std::string& method,
                     const SegmentMean& mean) {
    means.Add(Joined({parameters, method, fmt::format("{}", mean.pictures)}, Cells(mean.result)));
  });
  MarkdownTable runs(Joined({"picture", "parameters", "method"}, kColumns));
  for (const SegmentRun& run : rows.runs)
    runs.Add(Joined({run.picture, run.parameters, ToString(run.method)}, Cells(run.result)));
  return fmt::format("{} submarine {}.\n\n", kAbout, kVersion) + means.text() +
         "\n**By picture**\n\n" + runs.text();
}

std::string SegmentText(const SegmentRows& rows) {
  std::size_t width = 10;
  for (const NamedParameters& parameters : rows.parameters)
    width = std::max(width, Escaped(parameters.name).size());
  const auto line = [width](const std::string& parameters, const std::string& method,
                            const std::vector<std::string>& cells) {
    std::string text = fmt::format("{:<{}}  {:<12}", parameters, width, method);
    for (std::size_t k = 0; k < cells.size(); ++k)
      text += fmt::format("  {:>{}}", cells[k], kColumns[k].size() < 8 ? 8 : kColumns[k].size());
    return text + "\n";
  };
  std::string text = line("parameters", "method", kColumns);
  ForMeans(rows,
           [&](const std::string& parameters, const std::string& method, const SegmentMean& mean) {
             text += line(Escaped(parameters), method, Cells(mean.result));
           });
  return text + fmt::format("Means over {} pictures.\n", rows.pictures.size());
}

Json SegmentSummary(const SegmentRows& rows) {
  Json runs = Json::array();
  for (const SegmentRun& run : rows.runs) {
    Json entry = {
        {"picture", run.picture}, {"parameters", run.parameters}, {"method", ToString(run.method)}};
    entry.update(ToJson(run.result));
    runs.push_back(std::move(entry));
  }
  Json facts = Json::array();
  ForMeans(rows,
           [&](const std::string& parameters, const std::string& method, const SegmentMean& mean) {
             const SegmentResult& r = mean.result;
             facts.push_back(
                 {fmt::format("{}, {}", parameters, method),
                  fmt::format("{} of pixels right, mean IoU {}, near boundaries (3 px) {}, ECE "
                              "{}, NLL {:.4f}, {:.3g} s",
                              Percent(r.accuracy), Percent(r.mean_iou), Percent(r.boundary_3),
                              Percent(r.calibration_error), r.negative_log_likelihood, r.seconds)});
           });
  Json parameters = Json::object();
  for (const NamedParameters& named : rows.parameters)
    parameters[named.name] = ToJson(named.parameters);
  return {{"kind", "segment-bench"},
          {"pictures", rows.pictures},
          {"parameters", parameters},
          {"runs", runs},
          {"version", kVersion},
          {"page",
           {{"title", fmt::format("Segmentation benchmark, {} pictures", rows.pictures.size())},
            {"figures",
             Json::array({{{"name", "Errors, calibration, times"}, {"file", "figure.png"}}})},
            {"facts", facts},
            {"notes", Json::array({kAbout})}}}};
}

void WriteSegmentFigure(const std::filesystem::path& directory, const SegmentRows& rows) {
  constexpr std::array<std::array<double, 3>, 8> kColours = {{{0.60, 0.60, 0.60},
                                                              {0.34, 0.71, 0.91},
                                                              {0.00, 0.62, 0.45},
                                                              {0.00, 0.45, 0.70},
                                                              {0.94, 0.89, 0.26},
                                                              {0.90, 0.62, 0.00},
                                                              {0.84, 0.37, 0.00},
                                                              {0.80, 0.47, 0.65}}};
  BarFigure figure{
      fmt::format("Segmentation benchmark, means over {} pictures", rows.pictures.size()),
      {},
      {},
      {}};
  for (const NamedParameters& parameters : rows.parameters)
    figure.groups.push_back(parameters.name);
  for (const SegmentMethod& method : rows.methods)
    figure.series.push_back({ToString(method), kColours[figure.series.size() % kColours.size()]});
  const auto add = [&](const char* title, bool logarithmic, const auto& read) {
    figure.panels.push_back(
        {title, logarithmic,
         [&rows, read, logarithmic](std::size_t group,
                                    std::size_t series) -> std::optional<double> {
           const auto mean = MeanOf(rows, rows.parameters[group].name, rows.methods[series]);
           const std::optional<double> value = mean ? read(mean->result) : std::nullopt;
           return value && logarithmic && !(*value > 0.0) ? std::nullopt : value;
         }});
  };
  using Result = const SegmentResult&;
  add("Wrong labels (%)", false,
      [](Result r) { return std::optional(100.0 * (1.0 - r.accuracy)); });
  add("100% - mean IoU (%)", false,
      [](Result r) { return std::optional(100.0 * (1.0 - r.mean_iou)); });
  add("Wrong labels within 3 pixels of a boundary (%)", false, [](Result r) {
    return r.boundary_3 ? std::optional(100.0 * (1.0 - *r.boundary_3)) : std::nullopt;
  });
  add("Expected calibration error (%)", false,
      [](Result r) { return std::optional(100.0 * r.calibration_error); });
  add("CPU seconds (log scale)", true, [](Result r) { return std::optional(r.cpu_seconds); });
  WriteBarFigure(directory, std::move(figure));
}

}  // namespace submarine::apps
