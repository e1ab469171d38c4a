#include "submarine/stereo/matching_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"

namespace submarine {
namespace {

using internal::ParallelFor;

constexpr int kCensusColumns = 4;  // neighbours to either side
constexpr int kCensusRows = 3;
constexpr float kCensusBits = (2 * kCensusColumns + 1) * (2 * kCensusRows + 1) - 1;
constexpr int kMaxRadius = 100;

void CheckPair(const StereoView& left, const StereoView& right) {
  if (left.width != right.width || left.height != right.height || left.channels != right.channels) {
    throw InvalidInput(fmt::format(
        "the left view is {} x {} with {} channels and the right {} x {} with {}, expected two "
        "views "
        "alike",
        left.width, left.height, left.channels, right.width, right.height, right.channels));
  }
  if (left.width < 1 || left.height < 1 || (left.channels != 1 && left.channels != 3)) {
    throw InvalidInput(fmt::format(
        "a view is {} x {} with {} channels, expected at least one pixel and 1 or 3 channels",
        left.width, left.height, left.channels));
  }
  const std::size_t count = static_cast<std::size_t>(left.width) *
                            static_cast<std::size_t>(left.height) *
                            static_cast<std::size_t>(left.channels);
  for (const StereoView* view : {&left, &right}) {
    if (view->samples.size() != count)
      throw InvalidInput(
          fmt::format("a view has {} samples, expected {}", view->samples.size(), count));
    if (!std::all_of(view->samples.begin(), view->samples.end(),
                     [](float v) { return std::isfinite(v); }))
      throw InvalidInput("a sample of a view is not finite");
  }
}

void CheckOptions(const MatchingOptions& options) {
  if (!(options.truncate > 0.0))
    throw InvalidInput(
        fmt::format("costs are truncated at {:g}, expected more than 0", options.truncate));
  if (!(options.factor > 0.0 && std::isfinite(options.factor)))
    throw InvalidInput(fmt::format("costs are multiplied by {:g}, expected a finite number above 0",
                                   options.factor));
  if (options.radius < 0 || options.radius > kMaxRadius)
    throw InvalidInput(
        fmt::format("the window has radius {}, expected 0 to {}", options.radius, kMaxRadius));
}

// Calls body(y) for the rows of a view.
template <class Body>
void ForRows(const StereoView& view, const Body& body) {
  ParallelFor(static_cast<std::size_t>(view.height), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t y = begin; y < end; ++y) body(static_cast<int>(y));
  });
}

std::size_t PixelIndex(const StereoView& view, int x, int y) {
  return static_cast<std::size_t>(y) * static_cast<std::size_t>(view.width) +
         static_cast<std::size_t>(x);
}

// costs(a, k) = compare(x, x - k, y) where the match exists, else `outside`.
template <class Compare>
Matrix<float> CompareAll(const StereoView& left, int disparities, float outside,
                         const Compare& compare) {
  const auto pixels = static_cast<std::size_t>(left.width) * static_cast<std::size_t>(left.height);
  Matrix<float> costs(pixels, static_cast<std::size_t>(disparities), outside);
  ForRows(left, [&](int y) {
    for (int x = 0; x < left.width; ++x) {
      float* row = costs.row(PixelIndex(left, x, y)).data();
      for (int k = 0; k < std::min(disparities, x + 1); ++k) row[k] = compare(x, x - k, y);
    }
  });
  return costs;
}

Matrix<float> AbsoluteDifferences(const StereoView& left, const StereoView& right,
                                  int disparities) {
  const int channels = left.channels;
  return CompareAll(
      left, disparities, 255.0F * static_cast<float>(channels), [&](int x, int match, int y) {
        const float* l = left.samples.data() + PixelIndex(left, x, y) * channels;
        const float* r = right.samples.data() + PixelIndex(right, match, y) * channels;
        float sum = 0.0F;
        for (int c = 0; c < channels; ++c) sum += std::abs(l[c] - r[c]);
        return sum;
      });
}

// The least and the greatest value of each sample within half a pixel along its row.
struct HalfPixelRange {
  std::vector<float> low;
  std::vector<float> high;
};

HalfPixelRange RangeAround(const StereoView& view) {
  HalfPixelRange range{{view.samples.begin(), view.samples.end()},
                       {view.samples.begin(), view.samples.end()}};
  const int channels = view.channels;
  ForRows(view, [&](int y) {
    for (int x = 0; x < view.width; ++x) {
      for (int neighbour : {x - 1, x + 1}) {
        if (neighbour < 0 || neighbour >= view.width) continue;
        for (int c = 0; c < channels; ++c) {
          const std::size_t j = PixelIndex(view, x, y) * channels + c;
          const float half = 0.5F * (view.samples[j] +
                                     view.samples[PixelIndex(view, neighbour, y) * channels + c]);
          range.low[j] = std::min(range.low[j], half);
          range.high[j] = std::max(range.high[j], half);
        }
      }
    }
  });
  return range;
}

Matrix<float> BirchfieldTomasi(const StereoView& left, const StereoView& right, int disparities) {
  const int channels = left.channels;
  const HalfPixelRange l = RangeAround(left);
  const HalfPixelRange r = RangeAround(right);
  const auto distance = [](float value, float low, float high) {
    return std::max({0.0F, value - high, low - value});
  };
  return CompareAll(
      left, disparities, 255.0F * static_cast<float>(channels), [&](int x, int match, int y) {
        const std::size_t i = PixelIndex(left, x, y) * channels;
        const std::size_t j = PixelIndex(right, match, y) * channels;
        float sum = 0.0F;
        for (int c = 0; c < channels; ++c) {
          sum += std::min(distance(left.samples[i + c], r.low[j + c], r.high[j + c]),
                          distance(right.samples[j + c], l.low[i + c], l.high[i + c]));
        }
        return sum;
      });
}

// Bit b of a pixel's word: whether its b-th neighbour is darker than it.
std::vector<std::uint64_t> CensusWords(const StereoView& view) {
  const int channels = view.channels;
  std::vector<float> grey(view.samples.size() / static_cast<std::size_t>(channels), 0.0F);
  for (std::size_t a = 0; a < grey.size(); ++a) {
    for (int c = 0; c < channels; ++c) grey[a] += view.samples[a * channels + c];
  }
  std::vector<std::uint64_t> words(grey.size(), 0);
  ForRows(view, [&](int y) {
    for (int x = 0; x < view.width; ++x) {
      const float centre = grey[PixelIndex(view, x, y)];
      std::uint64_t word = 0;
      for (int dy = -kCensusRows; dy <= kCensusRows; ++dy) {
        const int row = std::clamp(y + dy, 0, view.height - 1);
        for (int dx = -kCensusColumns; dx <= kCensusColumns; ++dx) {
          if (dx == 0 && dy == 0) continue;
          const int column = std::clamp(x + dx, 0, view.width - 1);
          word = 2 * word + (grey[PixelIndex(view, column, row)] < centre ? 1 : 0);
        }
      }
      words[PixelIndex(view, x, y)] = word;
    }
  });
  return words;
}

Matrix<float> Census(const StereoView& left, const StereoView& right, int disparities) {
  const std::vector<std::uint64_t> l = CensusWords(left);
  const std::vector<std::uint64_t> r = CensusWords(right);
  return CompareAll(left, disparities, kCensusBits, [&](int x, int match, int y) {
    return static_cast<float>(
        std::popcount(l[PixelIndex(left, x, y)] ^ r[PixelIndex(right, match, y)]));
  });
}

void Truncate(double at, Matrix<float>* costs) {
  const auto limit = static_cast<float>(std::min(at, 1e30));
  ParallelFor(costs->size(), std::size_t{1} << 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) costs->data()[j] = std::min(costs->data()[j], limit);
  });
}

// The mean of `costs` over the windows: running sums along rows, then along columns, of the costs
// and of their number. Costs without a match (x < k) are not counted.
Matrix<float> WindowMeans(const StereoView& view, const Matrix<float>& costs, int radius) {
  const int width = view.width;
  const int height = view.height;
  const int disparities = static_cast<int>(costs.cols());
  Matrix<float> means = costs;
  // Column sums over 2 radius + 1 rows slide down in double: additions and subtractions of
  // truncated costs of moderate size stay accurate to far more than a float holds.
  const int blocks = std::min(height, 16);
  ParallelFor(static_cast<std::size_t>(blocks), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      const int first = static_cast<int>(block) * height / blocks;
      const int last = static_cast<int>(block + 1) * height / blocks;
      Matrix<double> column(static_cast<std::size_t>(width), costs.cols());
      const auto add_row = [&](int y, double sign) {
        if (y < 0 || y >= height) return;
        const float* row = costs.data() + PixelIndex(view, 0, y) * costs.cols();
        for (std::size_t j = 0; j < column.size(); ++j) column.data()[j] += sign * row[j];
      };
      for (int y = first - radius; y < first + radius; ++y) add_row(y, 1.0);
      for (int y = first; y < last; ++y) {
        add_row(y + radius, 1.0);
        const int rows = std::min(y + radius, height - 1) - std::max(y - radius, 0) + 1;
        for (int k = 0; k < disparities; ++k) {
          double sum = 0.0;
          for (int x = k; x < std::min(k + radius, width); ++x)
            sum += column(static_cast<std::size_t>(x), static_cast<std::size_t>(k));
          for (int x = k; x < width; ++x) {
            const auto kk = static_cast<std::size_t>(k);
            const int entering = x + radius;
            const int leaving = x - radius;
            if (entering < width) sum += column(static_cast<std::size_t>(entering), kk);
            const int columns = std::min(entering, width - 1) - std::max(leaving, k) + 1;
            means(PixelIndex(view, x, y), kk) = static_cast<float>(sum / (rows * columns));
            if (leaving >= k) sum -= column(static_cast<std::size_t>(leaving), kk);
          }
        }
        add_row(y - radius, -1.0);
      }
    }
  });
  return means;
}

Matrix<float> RawCosts(const StereoView& left, const StereoView& right, int disparities,
                       MatchingKind kind) {
  switch (kind) {
    case MatchingKind::kCensus:
      return Census(left, right, disparities);
    case MatchingKind::kBirchfieldTomasi:
      return BirchfieldTomasi(left, right, disparities);
    default:
      return AbsoluteDifferences(left, right, disparities);
  }
}

}  // namespace

MatchingOptions ParseMatchingKind(const std::string& text) {
  MatchingOptions options;
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const bool windows = colon != std::string::npos;
  bool valid = true;
  if (name == "census") {
    options.kind = MatchingKind::kCensus;
  } else if (name == "bt") {
    options.kind = MatchingKind::kBirchfieldTomasi;
  } else {
    valid = name == (windows ? "sad" : "ad");
  }
  if (windows) {
    const char* end = text.data() + text.size();
    const auto [parsed, error] = std::from_chars(text.data() + colon + 1, end, options.radius);
    valid = valid && error == std::errc() && parsed == end && options.radius >= 0 &&
            options.radius <= kMaxRadius;
  }
  if (valid) return options;
  throw InvalidInput(
      fmt::format("there is no matching cost \"{}\", expected ad, census or bt, or over windows of "
                  "radius R from 0 to {} sad:R, census:R or bt:R",
                  text, kMaxRadius));
}

std::string ToString(const MatchingOptions& options) {
  const bool windows = options.radius > 0;
  const std::string radius = windows ? fmt::format(":{}", options.radius) : "";
  switch (options.kind) {
    case MatchingKind::kAbsoluteDifference:
      return (windows ? "sad" : "ad") + radius;
    case MatchingKind::kCensus:
      return "census" + radius;
    case MatchingKind::kBirchfieldTomasi:
      return "bt" + radius;
  }
  return "unknown";
}

Matrix<float> MatchingCosts(const StereoView& left, const StereoView& right, int disparities,
                            const MatchingOptions& options) {
  internal::CheckViews(left, right, disparities);
  CheckOptions(options);
  Matrix<float> costs = RawCosts(left, right, disparities, options.kind);
  if (std::isfinite(options.truncate)) Truncate(options.truncate, &costs);
  if (options.radius > 0) costs = WindowMeans(left, costs, options.radius);
  if (options.factor != 1.0) {
    for (std::size_t j = 0; j < costs.size(); ++j)
      costs.data()[j] *= static_cast<float>(options.factor);
  }
  return costs;
}

namespace internal {

void CheckViews(const StereoView& left, const StereoView& right, int disparities) {
  CheckPair(left, right);
  if (disparities < 2)
    throw InvalidInput(fmt::format("{} disparities, expected at least 2", disparities));
  if (disparities > left.width) {
    throw InvalidInput(
        fmt::format("{} disparities, but the views have only {} columns", disparities, left.width));
  }
}

}  // namespace internal

}  // namespace submarine
