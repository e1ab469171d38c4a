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

LabelCounts& LabelCounts::operator+=(const LabelCounts& other) {
  for (auto list : {&LabelCounts::truth, &LabelCounts::given, &LabelCounts::right}) {
    std::vector<std::int64_t>& sums = this->*list;
    sums.resize(std::max(sums.size(), (other.*list).size()));
    for (std::size_t l = 0; l < (other.*list).size(); ++l) sums[l] += (other.*list)[l];
  }
  return *this;
}

LabelCounts CountLabels(std::span<const int> truth, std::span<const int> labels, int num_labels,
                        std::span<const std::uint8_t> mask) {
  CheckSize("labeling", labels.size(), truth.size());
  if (!mask.empty()) CheckSize("mask", mask.size(), truth.size());
  if (num_labels < 1)
    throw InvalidInput(fmt::format("evaluation: {} labels, expected at least 1", num_labels));
  const std::vector<std::int64_t> none(static_cast<std::size_t>(num_labels));
  LabelCounts counts{none, none, none};
  for (std::size_t a = 0; a < truth.size(); ++a) {
    if (truth[a] == kUnknownLabel || (!mask.empty() && mask[a] == 0)) continue;
    CheckLabel("true label", a, truth[a], num_labels);
    CheckLabel("label", a, labels[a], num_labels);
    ++counts.truth[static_cast<std::size_t>(truth[a])];
    ++counts.given[static_cast<std::size_t>(labels[a])];
    if (truth[a] == labels[a]) ++counts.right[static_cast<std::size_t>(truth[a])];
  }
  return counts;
}

LabelScores ScoreLabels(const LabelCounts& counts) {
  LabelScores scores;
  std::int64_t right = 0;
  int present = 0;
  for (std::size_t t = 0; t < counts.truth.size(); ++t) {
    scores.pixels += counts.truth[t];
    right += counts.right[t];
    if (counts.truth[t] == 0) {
      scores.iou.push_back(std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    scores.iou.push_back(static_cast<double>(counts.right[t]) /
                         static_cast<double>(counts.truth[t] + counts.given[t] - counts.right[t]));
    scores.mean_iou += scores.iou.back();
    ++present;
  }
  CheckCompared(scores.pixels, 0);
  scores.accuracy = static_cast<double>(right) / static_cast<double>(scores.pixels);
  scores.mean_iou /= present;
  return scores;
}

namespace {

// For every entry of a line whether all within `radius` have its value and are inside; `inside(k)`,
// `same(k)`: whether k and k + 1 have the same one.
template <class Inside, class Same, class Set>
void Erode(int length, int radius, const Inside& inside, const Same& same, const Set& set) {
  int begin = 0;
  while (begin < length) {
    int end = begin + 1;
    if (!inside(begin)) {
      begin = end;
      continue;
    }
    while (end < length && inside(end) && same(end - 1)) ++end;
    // Beyond the line nothing is different.
    const int from = begin == 0 ? 0 : begin + radius;
    const int to = end == length ? length : end - radius;
    for (int k = from; k < to; ++k) set(k);
    begin = end;
  }
}

// Sets all within `radius` of those inside.
template <class Inside, class Set>
void Dilate(int length, int radius, const Inside& inside, const Set& set) {
  int next = 0;  // not set yet
  for (int k = 0; k < length; ++k) {
    if (!inside(k)) continue;
    for (next = std::max(next, k - radius); next < std::min(length, k + radius + 1); ++next)
      set(next);
  }
}

}  // namespace

// The opening of every label by a square, first along rows, then along columns.
std::vector<std::uint8_t> ThinParts(std::span<const int> truth, int width, int height, int radius) {
  if (width < 1 || height < 1 ||
      truth.size() != static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) {
    throw InvalidInput(fmt::format("evaluation: the truth has {} pixels, expected {} x {}",
                                   truth.size(), width, height));
  }
  if (radius < 1) throw InvalidInput(fmt::format("evaluation: the radius is {}", radius));
  const auto at = [width](int x, int y) {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
           static_cast<std::size_t>(x);
  };
  using Mask = std::vector<std::uint8_t>;
  Mask rows(truth.size()), eroded(truth.size()), wide(truth.size()), thick(truth.size());
  for (int y = 0; y < height; ++y) {
    Erode(
        width, radius, [&](int x) { return truth[at(x, y)] != kUnknownLabel; },
        [&](int x) { return truth[at(x, y)] == truth[at(x + 1, y)]; },
        [&](int x) { rows[at(x, y)] = 1; });
  }
  for (int x = 0; x < width; ++x) {
    Erode(
        height, radius, [&](int y) { return rows[at(x, y)] != 0; },
        [&](int y) { return truth[at(x, y)] == truth[at(x, y + 1)]; },
        [&](int y) { eroded[at(x, y)] = 1; });
  }
  for (int y = 0; y < height; ++y) {
    Dilate(
        width, radius, [&](int x) { return eroded[at(x, y)] != 0; },
        [&](int x) { wide[at(x, y)] = 1; });
  }
  for (int x = 0; x < width; ++x) {
    Dilate(
        height, radius, [&](int y) { return wide[at(x, y)] != 0; },
        [&](int y) { thick[at(x, y)] = 1; });
  }
  for (std::size_t a = 0; a < truth.size(); ++a)
    thick[a] = truth[a] != kUnknownLabel && thick[a] == 0 ? 1 : 0;
  return thick;
}

int ThinRadius(int width, int height) { return std::max(1, std::max(width, height) / 100); }

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
