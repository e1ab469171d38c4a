#include "apps/solve/solve_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <variant>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/simd/row_kernels.h"
#include "submarine/base/version.h"
#include "submarine/io/image/colour_map.h"
#include "submarine/io/image/png.h"

namespace submarine::apps {
namespace {

using internal::EntropyRow;

using Json = nlohmann::ordered_json;

Json NumberOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
template <class Number>
Json NumberOrNull(const std::optional<Number>& value) {
  return value ? NumberOrNull(static_cast<double>(*value)) : Json(nullptr);
}

Json ProvenanceOrNull(const std::optional<Bound>& bound) {
  return bound ? Json(ToString(bound->provenance())) : Json(nullptr);
}

Json OptionsJson(const SolveResult& result, const SolveOptions& options, bool dense) {
  const ModelKind kind = dense ? ModelKind::kDense : ModelKind::kSparse;
  Json json = {{"method", ToString(options.method)},
               {"gap", options.limits.gap.value_or(DefaultGap(result.method, kind))},
               {"max_iterations",
                options.limits.max_iterations.value_or(DefaultIterations(result.method, kind))},
               {"time_limit", std::isfinite(options.limits.time_limit_seconds)
                                  ? Json(options.limits.time_limit_seconds)
                                  : Json(nullptr)},
               {"step", options.harmonic_steps ? "harmonic" : "line-search"}};
  if (dense) {
    json["pairs"] = ToString(options.dense.pairs.kind);
    json["cutoff"] = options.dense.pairs.cutoff;
    json["levels"] = options.dense.pairs.lattice.levels;
    json["certify"] = ToString(options.dense.certify);
    json["updates"] = options.dense.updates;
    json["marginals_of"] = ToString(options.dense.marginals);
  } else {
    json["rounding"] = options.sparse.rounding_draws;
    json["starts"] = options.sparse.starts;
    if (options.sparse.mean_field) json["mean_field"] = ToString(*options.sparse.mean_field);
    json["seed"] = options.sparse.seed;
    if (result.method == Method::kTrw) json["rho_steps"] = options.sparse.rho_steps;
  }
  return json;
}

double RowEntropy(std::span<const double> row) { return EntropyRow(row.data(), row.size()); }

double RowEntropy(std::span<const float> row) {
  double entropy = 0.0;
  for (const double p : row) entropy -= p > 0.0 ? p * std::log(p) : 0.0;
  return std::max(0.0, entropy);  // single-precision rows may sum to slightly more than 1
}

std::size_t NumLabels(const MarginalRows& marginals) {
  return std::visit(
      [](const auto& rows) -> std::size_t {
        if constexpr (requires { rows.cols(); }) {
          return rows.cols();
        } else {
          return rows.front().size();
        }
      },
      marginals);
}

// Pixels are enlarged by a whole factor until the longer side of a panel has at least this many.
constexpr int kPanelSide = 400;
constexpr int kPanelGap = 8;
constexpr std::int64_t kMaxPictureSide = 1'000'000;  // as in io/image/png.cc

int Zoom(int width, int height) {
  const int side = std::max(width, height);
  return side < kPanelSide ? (kPanelSide + side - 1) / side : 1;
}

}  // namespace

Json SummaryJson(const SolveResult& result, const SolveOptions& options,
                 const std::string& model_file, bool dense) {
  const Certificate& certificate = result.certificate;
  Json json;
  json["lower"] = NumberOrNull(certificate.lower);
  json["upper"] = NumberOrNull(certificate.upper);
  json["dual"] = NumberOrNull(certificate.dual);
  json["energy"] = NumberOrNull(result.energy);
  json["provenance"] = {{"lower", ProvenanceOrNull(certificate.lower)},
                        {"upper", ProvenanceOrNull(certificate.upper)},
                        {"dual", ProvenanceOrNull(certificate.dual)},
                        {"energy", ProvenanceOrNull(result.energy)}};
  if (const auto width = WidthOf(result)) {
    json["interval"] = {{"width", width->nats},
                        {"relative", width->relative},
                        {"per_variable", width->per_variable}};
  }
  json["seconds"] = result.seconds;
  json["threads"] = result.threads;
  json["estimated_gigabytes"] =
      result.estimated_bytes > 0.0 ? Json(result.estimated_bytes / 1e9) : Json(nullptr);
  json["termination"] = ToString(result.termination);
  json["method"] = ToString(result.method);
  json["extension"] = certificate.extension.empty() ? Json(nullptr) : Json(certificate.extension);
  json["temperature"] = certificate.temperature;
  json["about"] = certificate.model;
  json["defect"] = certificate.defect;
  if (const auto& loss = result.metric_loss) {
    json["metric_loss"] = {
        {"worst_ratio", loss->worst}, {"mean_ratio", loss->mean}, {"pairs", loss->pairs}};
  }
  json["notes"] = result.notes;
  json["pairs"] = result.pairs.empty() ? Json(nullptr) : Json(result.pairs);
  json["model"] = model_file;
  // T log Z_T >= -min E, so minus the upper bound is a lower bound on the least energy.
  json["map"]["lower"] =
      certificate.upper ? NumberOrNull(Negated(*certificate.upper)) : Json(nullptr);
  json["map"]["upper"] = NumberOrNull(result.energy);
  json["options"] = OptionsJson(result, options, dense);
  json["version"] = kVersion;
  json["iterations"] = Json::array();
  for (const SolveRecord& record : result.records) {
    Json entry = {{"k", record.k},
                  {"seconds", record.seconds},
                  {"upper", NumberOrNull(record.upper)},
                  {"dual", NumberOrNull(record.dual)}};
    if (record.lower) entry["lower"] = NumberOrNull(record.lower);
    json["iterations"].push_back(std::move(entry));
  }
  return json;
}

std::string JsonText(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<float> Entropies(const MarginalRows& marginals) {
  std::vector<float> entropies;
  const auto add = [&](auto row) { entropies.push_back(static_cast<float>(RowEntropy(row))); };
  std::visit(
      [&](const auto& rows) {
        if constexpr (requires { rows.rows(); }) {
          entropies.reserve(rows.rows());
          for (std::size_t a = 0; a < rows.rows(); ++a) add(rows.row(a));
        } else {
          for (const std::vector<double>& row : rows) add(std::span<const double>(row));
        }
      },
      marginals);
  return entropies;
}

void CheckPictureSize(int width, int height) {
  const std::int64_t zoom = Zoom(width, height);
  if (2 * zoom * width + kPanelGap > kMaxPictureSide || zoom * height > kMaxPictureSide) {
    throw InvalidInput(fmt::format(
        "the picture of a {} x {} grid would be larger than a PNG can be", width, height));
  }
}

void WritePicture(const std::string& file, const SolveResult& result, int width, int height) {
  const std::vector<float> entropies = Entropies(result.marginals);
  const auto num_labels = static_cast<double>(NumLabels(result.marginals));
  const int zoom = Zoom(width, height);
  const int panel = width * zoom;
  const int picture_width = 2 * panel + kPanelGap;
  const int picture_height = height * zoom;
  std::vector<std::uint8_t> pixels(
      3 * static_cast<std::size_t>(picture_width) * static_cast<std::size_t>(picture_height), 255);
  const auto paint = [&](int left, int column, int row, const std::array<std::uint8_t, 3>& colour) {
    for (int dy = 0; dy < zoom; ++dy) {
      for (int dx = 0; dx < zoom; ++dx) {
        const std::int64_t x = std::int64_t{left} + std::int64_t{column} * zoom + dx;
        const std::int64_t y = std::int64_t{row} * zoom + dy;
        const std::int64_t position = 3 * (y * picture_width + x);
        std::copy(colour.begin(), colour.end(), pixels.begin() + position);
      }
    }
  };
  const double most_entropy = std::log(num_labels);
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) {
      const auto a = static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
                     static_cast<std::size_t>(column);
      paint(0, column, row, ColourMap(result.labels[a] / (num_labels - 1.0)));
      paint(panel + kPanelGap, column, row, ColourMap(entropies[a] / most_entropy));
    }
  }
  WritePng(file, picture_width, picture_height, 3, pixels);
}

}  // namespace submarine::apps
