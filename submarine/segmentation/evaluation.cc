#include "submarine/segmentation/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include "submarine/base/error.h"

namespace submarine::internal {
namespace {

constexpr int kMaxRadius = 50;
constexpr double kRowSumTolerance = 1e-3;  // single precision over 1024 labels, with a margin

void CheckSize(std::string_view array, std::size_t size, std::size_t expected) {
  if (size != expected) {
    throw InvalidInput(
        fmt::format("evaluation: the {} has {} pixels, the truth has {}", array, size, expected));
  }
}

void CheckLabel(std::string_view array, std::size_t pixel, int label, int num_labels) {
  if (label < 0 || label >= num_labels) {
    throw InvalidInput(fmt::format("evaluation: the {} of pixel {} is {}, expected 0 to {}", array,
                                   pixel, label, num_labels - 1));
  }
}

void CheckCompared(std::int64_t compared, std::size_t pixels) {
  if (compared == 0) {
    throw InvalidInput(
        fmt::format("evaluation: none of the {} pixels has a known true label", pixels));
  }
}

void CheckRow(std::span<const float> row, std::size_t pixel) {
  double sum = 0.0;
  for (std::size_t label = 0; label < row.size(); ++label) {
    if (!(row[label] >= 0.0F) || !std::isfinite(row[label])) {
      throw InvalidInput(
          fmt::format("evaluation: the probability of pixel {}, label {} is {}, expected a finite "
                      "number >= 0",
                      pixel, label, row[label]));
    }
    sum += row[label];
  }
  if (std::abs(sum - 1.0) > kRowSumTolerance) {
    throw InvalidInput(
        fmt::format("evaluation: the probabilities of pixel {} sum to {}, expected 1", pixel, sum));
  }
}

struct Bin {
  double confidences = 0.0;
  double right = 0.0;
};

}  // namespace

Matrix<std::int64_t> CountLabels(std::span<const int> truth, std::span<const int> labels,
                                 int num_labels, std::span<const std::uint8_t> mask) {
  CheckSize("labeling", labels.size(), truth.size());
  if (!mask.empty()) CheckSize("mask", mask.size(), truth.size());
  if (num_labels < 1)
    throw InvalidInput(fmt::format("evaluation: {} labels, expected at least 1", num_labels));
  const auto size = static_cast<std::size_t>(num_labels);
  Matrix<std::int64_t> counts(size, size);
  for (std::size_t a = 0; a < truth.size(); ++a) {
    if (truth[a] == kUnknownLabel || (!mask.empty() && mask[a] == 0)) continue;
    CheckLabel("true label", a, truth[a], num_labels);
    CheckLabel("label", a, labels[a], num_labels);
    ++counts(static_cast<std::size_t>(truth[a]), static_cast<std::size_t>(labels[a]));
  }
  return counts;
}

LabelScores ScoreLabels(const Matrix<std::int64_t>& counts) {
  const std::size_t labels = counts.rows();
  std::vector<std::int64_t> have(labels), given(labels);
  LabelScores scores;
  std::int64_t right = 0;
  for (std::size_t t = 0; t < labels; ++t) {
    right += counts(t, t);
    for (std::size_t l = 0; l < labels; ++l) {
      have[t] += counts(t, l);
      given[l] += counts(t, l);
    }
    scores.pixels += have[t];
  }
  CheckCompared(scores.pixels, 0);
  scores.accuracy = static_cast<double>(right) / static_cast<double>(scores.pixels);
  int present = 0;
  for (std::size_t t = 0; t < labels; ++t) {
    const std::int64_t either = have[t] + given[t] - counts(t, t);
    scores.iou.push_back(either == 0
                             ? std::numeric_limits<double>::quiet_NaN()
                             : static_cast<double>(counts(t, t)) / static_cast<double>(either));
    if (either == 0) continue;
    scores.mean_iou += scores.iou.back();
    ++present;
  }
  scores.mean_iou /= present;
  return scores;
}

std::vector<std::uint8_t> BoundaryBand(std::span<const int> truth, int width, int height,
                                       int radius) {
  if (width < 1 || height < 1 ||
      truth.size() != static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) {
    throw InvalidInput(fmt::format("evaluation: the truth has {} pixels, expected {} x {}",
                                   truth.size(), width, height));
  }
  if (radius < 1 || radius > kMaxRadius) {
    throw InvalidInput(fmt::format("evaluation: the radius of the band is {}, expected 1 to {}",
                                   radius, kMaxRadius));
  }
  // Half of the disc: the other half is found from the other pixel of the pair.
  std::vector<std::pair<int, int>> offsets;
  for (int dy = 0; dy <= radius; ++dy) {
    for (int dx = dy == 0 ? 1 : -radius; dx <= radius; ++dx) {
      if (dx * dx + dy * dy <= radius * radius) offsets.emplace_back(dx, dy);
    }
  }
  std::vector<std::uint8_t> band(truth.size());
  for (const auto& [dx, dy] : offsets) {
    for (int y = 0; y + dy < height; ++y) {
      for (int x = std::max(0, -dx); x < std::min(width, width - dx); ++x) {
        const auto a = static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                       static_cast<std::size_t>(x);
        const auto b = static_cast<std::size_t>(y + dy) * static_cast<std::size_t>(width) +
                       static_cast<std::size_t>(x + dx);
        if (truth[a] != truth[b]) band[a] = band[b] = 1;
      }
    }
  }
  return band;
}

ProbabilityScores ScoreProbabilities(const Matrix<float>& probabilities,
                                     std::span<const int> truth) {
  CheckSize("matrix of probabilities", probabilities.rows(), truth.size());
  std::array<Bin, kCalibrationBins> bins = {};
  ProbabilityScores scores;
  for (std::size_t a = 0; a < truth.size(); ++a) {
    if (truth[a] == kUnknownLabel) continue;
    CheckLabel("true label", a, truth[a], static_cast<int>(probabilities.cols()));
    const std::span<const float> row = probabilities.row(a);
    CheckRow(row, a);
    const auto most = std::max_element(row.begin(), row.end());
    const double confidence = std::min(1.0, static_cast<double>(*most));
    Bin& bin = bins[static_cast<std::size_t>(
        std::min(kCalibrationBins - 1, static_cast<int>(confidence * kCalibrationBins)))];
    bin.confidences += confidence;
    bin.right += most - row.begin() == truth[a] ? 1.0 : 0.0;
    scores.negative_log_likelihood -= std::log(
        std::max(kLikelihoodClip, static_cast<double>(row[static_cast<std::size_t>(truth[a])])));
    ++scores.pixels;
  }
  CheckCompared(scores.pixels, truth.size());
  const auto pixels = static_cast<double>(scores.pixels);
  scores.negative_log_likelihood /= pixels;
  for (const Bin& bin : bins) scores.calibration_error += std::abs(bin.right - bin.confidences);
  scores.calibration_error /= pixels;
  return scores;
}

}  // namespace submarine::internal
