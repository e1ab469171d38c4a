#include "apps/solve_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <variant>
#include <vector>

#include "apps/terminal.h"
#include "submarine/base/error.h"
#include "submarine/base/row_kernels.h"
#include "submarine/base/version.h"
#include "submarine/io/png.h"

namespace submarine::apps {
namespace {

using Json = nlohmann::ordered_json;

Json NumberOrNull(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json OptionsJson(const SolveOptions& options, bool dense) {
  Json json = {
      {"gap", options.relative_gap},
      {"max_iterations", options.max_iterations},
      {"time_limit", std::isfinite(options.time_limit_seconds) ? Json(options.time_limit_seconds)
                                                               : Json(nullptr)},
      {"step", options.harmonic_steps ? "harmonic" : "line-search"}};
  if (dense) {
    json["pairs"] = ToString(options.pairs.kind);
    json["cutoff"] = options.pairs.cutoff;
    json["levels"] = options.pairs.lattice.levels;
    json["hard_bins"] = options.pairs.lattice.hard_bins;
    json["certify"] = ToString(options.certify);
    json["marginals_of"] = ToString(options.marginals);
  } else {
    json["rounding"] = options.rounding_draws;
    json["starts"] = options.starts;
    json["seed"] = options.seed;
    if (options.rho) json["rho"] = *options.rho;
    if (options.method == Method::kTrw) json["rho_steps"] = options.rho_steps;
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
constexpr std::int64_t kMaxPictureSide = 1'000'000;  // as in io/png.cc

int Zoom(int width, int height) {
  const int side = std::max(width, height);
  return side < kPanelSide ? (kPanelSide + side - 1) / side : 1;
}

}  // namespace

Json SummaryJson(const SolveOutcome& outcome, const SolveOptions& options,
                 const std::string& model_file, bool dense) {
  const Certificate& certificate = outcome.certificate;
  Json json;
  json["lower"] = NumberOrNull(certificate.lower);
  json["upper"] = NumberOrNull(certificate.upper);
  json["dual"] = NumberOrNull(certificate.dual);
  json["energy"] = NumberOrNull(outcome.energy);
  json["seconds"] = outcome.seconds;
  json["termination"] = outcome.termination;
  json["method"] = ToString(options.method);
  json["extension"] = certificate.extension.empty() ? Json(nullptr) : Json(certificate.extension);
  json["temperature"] = certificate.temperature;
  json["about"] = certificate.model;
  json["pairs"] = outcome.pairs.empty() ? Json(nullptr) : Json(outcome.pairs);
  json["model"] = model_file;
  // T log Z_T >= -min E, so minus the upper bound is a lower bound on the least energy.
  json["map"]["lower"] = certificate.upper ? NumberOrNull(-*certificate.upper) : Json(nullptr);
  json["map"]["upper"] = NumberOrNull(outcome.energy);
  json["options"] = OptionsJson(options, dense);
  json["version"] = kVersion;
  json["iterations"] = Json::array();
  for (const SolveRecord& record : outcome.records) {
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

std::string SummaryText(const SolveOutcome& outcome) {
  const Certificate& certificate = outcome.certificate;
  const double T = certificate.temperature;
  const std::string what = T == 1.0 ? "log Z" : fmt::format("T log Z at T = {:g}", T);
  std::string text = fmt::format("{}\n", certificate.model);
  text +=
      fmt::format("Stopped after {}: {}.\n", DurationText(outcome.seconds), outcome.termination);
  if (!outcome.pairs.empty()) text += fmt::format("Pairs applied by {}.\n", outcome.pairs);
  if (certificate.upper && certificate.dual) {
    text += fmt::format(
        "Upper bound {:.6f}, at most {:.2e} (relative) above the best {} can give.\n",
        *certificate.upper, std::max(0.0, RelativeGap(*certificate.upper, *certificate.dual)),
        certificate.extension.empty() ? "these forests"
                                      : fmt::format("the {} extension", certificate.extension));
  }
  if (outcome.energy) {
    // Exact inference at T > 0 looks for no labeling; its labels are those of the largest marginals.
    const bool searched = outcome.termination != "exact" || T == 0.0;
    text += fmt::format("{}: energy {:.6f}",
                        searched ? "Best labeling found" : "Labeling of the largest marginals",
                        *outcome.energy);
    text += certificate.upper
                ? fmt::format("; no labeling has less than {:.6f}.\n", -*certificate.upper)
                : ".\n";
  }
  if (outcome.termination == "exact") {
    text += T == 0.0 ? fmt::format("The least energy is {:.9f}, exactly.\n", -*certificate.upper)
                     : fmt::format("{} is {:.9f}, exactly.\n", what, *certificate.upper);
  } else if (certificate.lower && certificate.upper && T == 0.0) {
    text += fmt::format("Certified: the least energy lies between {:.6f} and {:.6f}.\n",
                        -*certificate.upper, -*certificate.lower);
  } else if (certificate.lower && certificate.upper) {
    text += fmt::format("Certified: {} lies between {:.6f} and {:.6f}.\n", what, *certificate.lower,
                        *certificate.upper);
  } else if (certificate.upper) {
    text += fmt::format("Certified: {} is at most {:.6f}.\n", what, *certificate.upper);
  } else if (certificate.lower) {
    text += fmt::format("Certified: {} is at least {:.6f}.\n", what, *certificate.lower);
  }
  return text;
}

void CheckPictureSize(int width, int height) {
  const std::int64_t zoom = Zoom(width, height);
  if (2 * zoom * width + kPanelGap > kMaxPictureSide || zoom * height > kMaxPictureSide) {
    throw InvalidInput(fmt::format(
        "the picture of a {} x {} grid would be larger than a PNG can be", width, height));
  }
}

void WritePicture(const std::string& file, const SolveOutcome& outcome, int width, int height) {
  const std::vector<float> entropies = Entropies(outcome.marginals);
  const auto num_labels = static_cast<double>(NumLabels(outcome.marginals));
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
      paint(0, column, row, ColourMap(outcome.labels[a] / (num_labels - 1.0)));
      paint(panel + kPanelGap, column, row, ColourMap(entropies[a] / most_entropy));
    }
  }
  WritePng(file, picture_width, picture_height, 3, pixels);
}

}  // namespace submarine::apps
