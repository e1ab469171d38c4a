#include "apps/generate/synthetic_softmax.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "apps/generate/random_numbers.h"
#include "submarine/base/error.h"

namespace submarine::apps {
namespace {

constexpr double kFloor = 0.01;       // weight of the uniform distribution: no class is excluded
constexpr int kPatch = 4;             // cells
constexpr double kLeastLean = 0.3;    // in a confused patch, the fraction of the probability
constexpr double kLargestLean = 0.8;  // that moves to one class, between these two

// Coarse planes: one row of label values per cell.
struct Cells {
  int width;
  int height;
  Matrix<double> rows;

  std::span<double> At(int x, int y) { return rows.row(Index(x, y)); }
  std::span<const double> At(int x, int y) const { return rows.row(Index(x, y)); }
  // Cells beyond the border repeat the border.
  std::size_t Index(int x, int y) const {
    return static_cast<std::size_t>(std::clamp(y, 0, height - 1)) *
               static_cast<std::size_t>(width) +
           static_cast<std::size_t>(std::clamp(x, 0, width - 1));
  }
};

void Check(std::span<const int> truth, int width, int height, int num_labels,
           const SyntheticSoftmax& options) {
  const auto number = [](const char* name, double value, double low, double high) {
    if (!(value >= low && value <= high)) {
      throw InvalidInput(
          fmt::format("--{} is {:g}, expected {:g} to {:g}", name, value, low, high));
    }
  };
  number("cell", options.cell, 1, 256);
  number("blur", options.blur, 0, 20);
  number("noise", options.noise, 0, 20);
  number("confusion", options.confusion, 0, 1);
  if (width < 1 || height < 1 ||
      truth.size() != static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) {
    throw InvalidInput(
        fmt::format("the truth has {} pixels, expected {} x {}", truth.size(), width, height));
  }
  for (const int label : truth) {
    if (label >= num_labels) {
      throw InvalidInput(
          fmt::format("the truth has the label {}, expected 0 to {}", label, num_labels - 1));
    }
  }
}

// The fraction of every label among the known pixels of a cell.
Cells Shares(std::span<const int> truth, int width, int height, std::size_t labels, int cell) {
  Cells cells{(width + cell - 1) / cell, (height + cell - 1) / cell, {}};
  cells.rows = Matrix<double>(
      static_cast<std::size_t>(cells.width) * static_cast<std::size_t>(cells.height), labels);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int label = truth[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                              static_cast<std::size_t>(x)];
      if (label >= 0) cells.At(x / cell, y / cell)[static_cast<std::size_t>(label)] += 1.0;
    }
  }
  for (std::size_t c = 0; c < cells.rows.rows(); ++c) {
    double sum = 0.0;
    for (const double count : cells.rows.row(c)) sum += count;
    for (double& count : cells.rows.row(c))
      count = sum > 0.0 ? count / sum : 1.0 / static_cast<double>(labels);
  }
  return cells;
}

Cells BlurredAlong(const Cells& cells, double sigma, int dx, int dy) {
  const int radius = static_cast<int>(std::ceil(3.0 * sigma));
  Cells out = cells;
  for (int y = 0; y < cells.height; ++y) {
    for (int x = 0; x < cells.width; ++x) {
      const auto row = out.At(x, y);
      std::fill(row.begin(), row.end(), 0.0);
      double sum = 0.0;
      for (int k = -radius; k <= radius; ++k) {
        const double weight = std::exp(-0.5 * k * k / (sigma * sigma));
        const auto from = cells.At(x + k * dx, y + k * dy);
        for (std::size_t l = 0; l < row.size(); ++l) row[l] += weight * from[l];
        sum += weight;
      }
      for (double& value : row) value /= sum;
    }
  }
  return out;
}

// In some patches, moves a fraction of the probability to one class, the same throughout a patch.
void Confuse(double share, std::mt19937_64* rng, Cells* cells) {
  const std::size_t labels = cells->rows.cols();
  for (int top = 0; top < cells->height; top += kPatch) {
    for (int left = 0; left < cells->width; left += kPatch) {
      const bool confused = Uniform(rng) < share;
      const double lean = kLeastLean + (kLargestLean - kLeastLean) * Uniform(rng);
      const auto other = std::min(
          labels - 1, static_cast<std::size_t>(static_cast<double>(labels) * Uniform(rng)));
      if (!confused) continue;
      for (int y = top; y < std::min(top + kPatch, cells->height); ++y) {
        for (int x = left; x < std::min(left + kPatch, cells->width); ++x) {
          const auto row = cells->At(x, y);
          for (double& value : row) value *= 1.0 - lean;
          row[other] += lean;
        }
      }
    }
  }
}

// By Box and Muller: std::normal_distribution may differ between standard libraries.
double Normal(std::mt19937_64* rng) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - Uniform(rng)));
  return radius * std::cos(2.0 * std::numbers::pi * Uniform(rng));
}

void ToLogits(double noise, std::mt19937_64* rng, Cells* cells) {
  const double uniform = 1.0 / static_cast<double>(cells->rows.cols());
  for (std::size_t k = 0; k < cells->rows.size(); ++k) {
    double& value = cells->rows.data()[k];
    value = std::log((1.0 - kFloor) * value + kFloor * uniform) + noise * Normal(rng);
  }
}

// The softmax of the logits interpolated between the four nearest cells, as networks upsample
// theirs.
void Enlarge(const Cells& logits, int cell, double x, double y, std::span<float> row) {
  const double u = (x + 0.5) / cell - 0.5;
  const double v = (y + 0.5) / cell - 0.5;
  const int x0 = static_cast<int>(std::floor(u));
  const int y0 = static_cast<int>(std::floor(v));
  const double fx = u - x0;
  const double fy = v - y0;
  const auto a = logits.At(x0, y0);
  const auto b = logits.At(x0 + 1, y0);
  const auto c = logits.At(x0, y0 + 1);
  const auto d = logits.At(x0 + 1, y0 + 1);
  std::vector<double> values(row.size());
  for (std::size_t l = 0; l < row.size(); ++l) {
    values[l] = (1.0 - fy) * ((1.0 - fx) * a[l] + fx * b[l]) + fy * ((1.0 - fx) * c[l] + fx * d[l]);
  }
  const double most = *std::max_element(values.begin(), values.end());
  double sum = 0.0;
  for (double& value : values) sum += value = std::exp(value - most);
  for (std::size_t l = 0; l < row.size(); ++l) row[l] = static_cast<float>(values[l] / sum);
}

}  // namespace

Matrix<float> SoftmaxFromTruth(std::span<const int> truth, int width, int height, int num_labels,
                               const SyntheticSoftmax& options) {
  Check(truth, width, height, num_labels, options);
  std::mt19937_64 rng(options.seed);
  Cells cells = Shares(truth, width, height, static_cast<std::size_t>(num_labels), options.cell);
  Confuse(options.confusion, &rng, &cells);
  if (options.blur > 0.0)
    cells = BlurredAlong(BlurredAlong(cells, options.blur, 1, 0), options.blur, 0, 1);
  ToLogits(options.noise, &rng, &cells);
  Matrix<float> softmax(truth.size(), static_cast<std::size_t>(num_labels));
  for (std::size_t a = 0; a < truth.size(); ++a) {
    const auto w = static_cast<std::size_t>(width);
    const std::size_t y = a / w;
    Enlarge(cells, options.cell, static_cast<double>(a % w), static_cast<double>(y),
            softmax.row(a));
  }
  return softmax;
}

}  // namespace submarine::apps
