#include "submarine/io/model/grid_bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/file/json_file.h"
#include "submarine/io/file/npy.h"
#include "submarine/io/model/bundle_header.h"
#include "submarine/io/model/metric_spec.h"

namespace submarine {
namespace {

using internal::BesideHeader;
using internal::BundleHeader;
using internal::CheckBundleMetric;
using internal::JsonFields;
using internal::kMaxBundleVariables;
using internal::kMaxHeaderBytes;
using internal::NpyShape;
using internal::ReadJsonFile;
using internal::ShapeText;
using internal::WriteCliques;
using internal::WriteFileAtomically;
using internal::WriteNpy;

using Json = nlohmann::json;

Matrix<double> ReadUnary(const BundleHeader& header, const NpyShape& shape, std::string_view axes) {
  const auto reader = header.OpenArray("unary", shape, axes);
  return header.ReadUnary<double>(*reader, static_cast<std::size_t>(shape.back()));
}

// The weight of every edge, from "weight" or "weights".
void ReadWeights(const BundleHeader& header, std::vector<Edge>& edges) {
  const JsonFields& fields = header.fields;
  if (!fields.Has("weights")) {
    const double weight = fields.Has("weight") ? fields.Number("weight") : 1.0;
    if (weight < 0.0) fields.Refuse("weight", "must not be negative");
    for (Edge& edge : edges) edge.weight = weight;
    return;
  }
  if (fields.Has("weight")) fields.Refuse("weight", "must be left out where \"weights\" is given");
  const auto reader =
      header.OpenArray("weights", {static_cast<std::int64_t>(edges.size())}, "(edges)");
  std::vector<double> weights(edges.size());
  reader->ReadTo(std::span(weights));
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (!std::isfinite(weights[e]) || weights[e] < 0.0) {
      header.FailInArray("weights",
                         fmt::format("has the value {} at [{}], but weights must be finite and "
                                     "not negative",
                                     weights[e], e));
    }
    edges[e].weight = weights[e];
  }
}

std::vector<Edge> ReadEdges(const BundleHeader& header, std::int64_t num_variables) {
  const auto reader = header.OpenArray("edges");
  if (reader->shape().size() != 2 || reader->shape()[1] != 2) {
    header.FailInArray("edges", fmt::format("has shape {}, but (edges, 2) was expected",
                                            ShapeText(reader->shape())));
  }
  if (!reader->holds_integers()) {
    header.FailInArray(
        "edges", fmt::format("holds {} values, but integers were expected", reader->type_name()));
  }
  std::vector<std::int64_t> ends(reader->count());
  reader->ReadTo(std::span(ends));
  std::vector<Edge> edges(ends.size() / 2);
  for (std::size_t k = 0; k < ends.size(); ++k) {
    if (ends[k] < 0 || ends[k] >= num_variables) {
      header.FailInArray("edges",
                         fmt::format("has the variable {} at [{}, {}], but variables are 0 to {}",
                                     ends[k], k / 2, k % 2, num_variables - 1));
    }
    (k % 2 == 0 ? edges[k / 2].a : edges[k / 2].b) = static_cast<int>(ends[k]);
  }
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (edges[e].a == edges[e].b) {
      header.FailInArray("edges",
                         fmt::format("joins variable {} to itself in row {}", edges[e].a, e));
    }
  }
  return edges;
}

LoadedModel ReadGrid(const Json& json, const std::filesystem::path& path, bool strict_hst) {
  const JsonFields fields(json, path.string(),
                          {"submarine", "width", "height", "labels", "connectivity", "weight",
                           "weights", "metric", "unary", "constant", "cliques"});
  const BundleHeader header{fields, path.parent_path()};
  const std::int64_t width = fields.Integer("width", 1, kMaxBundleVariables);
  const std::int64_t height = fields.Integer("height", 1, kMaxBundleVariables);
  const std::int64_t labels = fields.Integer("labels", 2, kMaxLabels);
  if (width * height > kMaxBundleVariables)
    fields.Refuse("width", "times the height must stay below 2^31");
  const std::int64_t connectivity =
      fields.Has("connectivity") ? fields.Integer("connectivity", 4, 8) : 4;
  if (connectivity != 4 && connectivity != 8) fields.Refuse("connectivity", "must be 4 or 8");
  const double constant = header.ReadConstant();

  std::vector<std::string> warnings;
  LabelSpace space = header.ReadMetric(static_cast<int>(labels), strict_hst, &warnings);
  Matrix<double> unary = ReadUnary(header, {height, width, labels}, "(height, width, labels)");
  std::vector<Edge> edges = GridEdges(static_cast<int>(width), static_cast<int>(height),
                                      static_cast<int>(connectivity), 1.0);
  ReadWeights(header, edges);
  return {SparseCrf(std::move(unary), std::move(edges), std::move(space), constant),
          static_cast<int>(width), static_cast<int>(height), std::move(warnings),
          header.ReadCliques(static_cast<std::size_t>(width * height))};
}

LoadedModel ReadGraph(const Json& json, const std::filesystem::path& path, bool strict_hst) {
  const JsonFields fields(json, path.string(),
                          {"submarine", "variables", "labels", "edges", "weight", "weights",
                           "metric", "unary", "constant", "cliques"});
  const BundleHeader header{fields, path.parent_path()};
  const std::int64_t variables = fields.Integer("variables", 1, kMaxBundleVariables);
  const std::int64_t labels = fields.Integer("labels", 2, kMaxLabels);
  const double constant = header.ReadConstant();

  std::vector<std::string> warnings;
  LabelSpace space = header.ReadMetric(static_cast<int>(labels), strict_hst, &warnings);
  Matrix<double> unary = ReadUnary(header, {variables, labels}, "(variables, labels)");
  std::vector<Edge> edges = ReadEdges(header, variables);
  ReadWeights(header, edges);
  return {SparseCrf(std::move(unary), std::move(edges), std::move(space), constant), 0, 0,
          std::move(warnings), header.ReadCliques(static_cast<std::size_t>(variables))};
}

// ---- Writing ----

void CheckMetric(const std::filesystem::path& path, const SparseCrf& model,
                 const std::string& spec) {
  CheckBundleMetric(spec, path.parent_path());
  const LabelSpace described =
      ParseMetricSpec(spec, model.num_labels(), false, nullptr, path.parent_path());
  const std::vector<LabelMetric>& metrics = model.labels().metrics;
  if (metrics.size() != 1 || !(metrics[0].distance == described.metrics[0].distance)) {
    throw InvalidInput(
        fmt::format("the model's metric is not {}, which a bundle would record", spec));
  }
}

void WriteWeights(const std::filesystem::path& path, const SparseCrf& model, Json& header) {
  std::vector<double> weights;
  for (const Edge& edge : model.edges()) weights.push_back(edge.weight);
  if (std::adjacent_find(weights.begin(), weights.end(), std::not_equal_to<>()) == weights.end()) {
    header["weight"] = weights.empty() ? 1.0 : weights.front();
    return;
  }
  const std::filesystem::path file = BesideHeader(path, "weights");
  WriteNpy(file, std::span<const double>(weights),
           NpyShape{static_cast<std::int64_t>(weights.size())});
  header["weights"] = file.filename().string();
}

void WriteRest(const std::filesystem::path& path, const SparseCrf& model, const NpyShape& shape,
               const std::string& metric_spec, std::span<const Clique> cliques, Json header) {
  CheckCliques(cliques, model.num_variables());
  const std::filesystem::path unary = BesideHeader(path, "unary");
  WriteNpy(unary, model.unary(), shape);
  WriteWeights(path, model, header);
  header["labels"] = model.num_labels();
  header["metric"] = metric_spec;
  header["unary"] = unary.filename().string();
  if (model.constant() != 0.0) header["constant"] = model.constant();
  if (!cliques.empty()) header["cliques"] = WriteCliques(path, cliques);
  WriteFileAtomically(path, header.dump(2) + "\n");
}

}  // namespace

LoadedModel ReadBundle(const std::filesystem::path& path, bool strict_hst) {
  const Json json = ReadJsonFile(path, kMaxHeaderBytes);
  if (json.is_object() && json.contains("submarine")) {
    if (json["submarine"] == "grid") return ReadGrid(json, path, strict_hst);
    if (json["submarine"] == "graph") return ReadGraph(json, path, strict_hst);
  }
  throw FileError(
      fmt::format("{} is not a model bundle: its key \"submarine\" must be \"grid\" or \"graph\"",
                  path.string()));
}

void WriteGridBundle(const std::filesystem::path& path, const SparseCrf& model, int width,
                     int height, int connectivity, const std::string& metric_spec,
                     std::span<const Clique> cliques) {
  CheckMetric(path, model, metric_spec);
  const std::vector<Edge> expected = GridEdges(width, height, connectivity, 1.0);
  const auto same_ends = [](const Edge& e, const Edge& f) { return e.a == f.a && e.b == f.b; };
  if (static_cast<std::size_t>(width) * static_cast<std::size_t>(height) != model.num_variables() ||
      !std::equal(model.edges().begin(), model.edges().end(), expected.begin(), expected.end(),
                  same_ends)) {
    throw InvalidInput(
        fmt::format("the model is not the {}-connected grid of {} x {} that a bundle would "
                    "record",
                    connectivity, width, height));
  }
  WriteRest(path, model, {height, width, model.num_labels()}, metric_spec, cliques,
            {{"submarine", "grid"},
             {"width", width},
             {"height", height},
             {"connectivity", connectivity}});
}

void WriteGraphBundle(const std::filesystem::path& path, const SparseCrf& model,
                      const std::string& metric_spec, std::span<const Clique> cliques) {
  CheckMetric(path, model, metric_spec);
  std::vector<std::int32_t> ends;
  for (const Edge& edge : model.edges()) ends.insert(ends.end(), {edge.a, edge.b});
  const std::filesystem::path file = BesideHeader(path, "edges");
  WriteNpy(file, std::span<const std::int32_t>(ends),
           NpyShape{static_cast<std::int64_t>(ends.size() / 2), 2});
  WriteRest(path, model, {static_cast<std::int64_t>(model.num_variables()), model.num_labels()},
            metric_spec, cliques,
            {{"submarine", "graph"},
             {"variables", model.num_variables()},
             {"edges", file.filename().string()}});
}

}  // namespace submarine
