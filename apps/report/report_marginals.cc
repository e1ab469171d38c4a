#include "apps/report/report_marginals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>

#include "apps/report/page_encoding.h"
#include "submarine/base/error.h"
#include "submarine/base/parallel.h"

namespace submarine::apps {
namespace {

using internal::kRowGrain;
using internal::NpyReader;
using internal::ParallelFor;
using internal::ShapeText;

// Single-precision rows of a thousand labels are within this of one.
constexpr double kSumTolerance = 1e-2;

[[noreturn]] void FailAtPixel(const std::filesystem::path& path, const PageGrid& grid,
                              std::size_t pixel, std::string_view problem) {
  throw FileError(fmt::format("\"{}\" is not an array of marginals: at pixel {} {}", path.string(),
                              grid.PixelText(pixel), problem));
}

std::uint8_t Quantise(float p) {
  return static_cast<std::uint8_t>(std::lround(255.0F * std::sqrt(std::clamp(p, 0.0F, 1.0F))));
}

void CheckRow(const std::filesystem::path& path, const PageGrid& grid, std::size_t pixel,
              std::span<const float> row, bool complete) {
  double sum = 0.0;
  for (const float p : row) {
    if (!(p >= -kSumTolerance && p <= 1.0 + kSumTolerance)) {
      FailAtPixel(path, grid, pixel, fmt::format("it holds {}, expected a probability", p));
    }
    sum += p;
  }
  if (sum > 1.0 + kSumTolerance || (complete && sum < 1.0 - kSumTolerance)) {
    FailAtPixel(
        path, grid, pixel,
        fmt::format("the probabilities sum to {}, expected {}", sum, complete ? "1" : "at most 1"));
  }
}

QuantisedMarginals ReadProbabilities(const std::filesystem::path& path, const PageGrid& grid,
                                     NpyReader* reader, bool complete) {
  QuantisedMarginals marginals;
  marginals.kept = static_cast<std::size_t>(reader->shape().back());
  std::vector<float> values(reader->count());
  reader->ReadTo(std::span(values));
  const std::size_t kept = marginals.kept;
  const auto row = [&](std::size_t pixel) { return std::span(values).subspan(pixel * kept, kept); };
  ParallelFor(grid.pixels(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) CheckRow(path, grid, a, row(a), complete);
  });
  marginals.q.resize(grid.shown_pixels() * kept);
  ParallelFor(grid.shown_pixels(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const auto source = row(grid.SourceOf(k));
      std::transform(source.begin(), source.end(),
                     marginals.q.begin() + static_cast<std::ptrdiff_t>(k * kept), Quantise);
    }
  });
  return marginals;
}

// The k most probable entries of every pixel, in descending order.
QuantisedMarginals KeepMostProbable(const QuantisedMarginals& all, std::size_t k) {
  QuantisedMarginals top{all.labels, k, {}, {}};
  const std::size_t pixels = all.q.size() / all.kept;
  top.q.reserve(pixels * k);
  top.label.reserve(pixels * k);
  std::vector<std::size_t> order(all.kept);
  for (std::size_t a = 0; a < pixels; ++a) {
    const std::uint8_t* q = all.q.data() + a * all.kept;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::partial_sort(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
        [&](std::size_t i, std::size_t j) { return q[i] != q[j] ? q[i] > q[j] : i < j; });
    for (std::size_t rank = 0; rank < k; ++rank) {
      const std::size_t entry = order[rank];
      top.q.push_back(q[entry]);
      top.label.push_back(all.label.empty() ? static_cast<std::uint16_t>(entry)
                                            : all.label[a * all.kept + entry]);
    }
  }
  return top;
}

std::string LabelBytes(const QuantisedMarginals& marginals, std::size_t label_bytes) {
  std::string bytes;
  bytes.reserve(marginals.label.size() * label_bytes);
  for (const std::uint16_t label : marginals.label) {
    bytes += static_cast<char>(label & 0xff);
    if (label_bytes == 2) bytes += static_cast<char>(label >> 8);
  }
  return bytes;
}

std::optional<PackedMarginals> PackAsTheyAre(const QuantisedMarginals& marginals,
                                             std::size_t max_bytes) {
  const std::size_t max_deflated = max_bytes / 4 * 3;
  const auto q = Deflate({reinterpret_cast<const char*>(marginals.q.data()), marginals.q.size()},
                         max_deflated);
  if (!q) return std::nullopt;
  PackedMarginals packed{marginals.kept, Base64(*q), {}, 0};
  if (!marginals.label.empty()) {
    packed.label_bytes = marginals.labels <= 256 ? 1 : 2;
    const auto label = Deflate(LabelBytes(marginals, packed.label_bytes), max_deflated);
    if (!label) return std::nullopt;
    packed.label = Base64(*label);
  }
  if (packed.q.size() + packed.label.size() > max_bytes) return std::nullopt;
  return packed;
}

}  // namespace

QuantisedMarginals ReadMarginals(const std::filesystem::path& path, const PageGrid& grid,
                                 NpyReader* reader) {
  QuantisedMarginals marginals = ReadProbabilities(path, grid, reader, true);
  marginals.labels = marginals.kept;
  return marginals;
}

QuantisedMarginals ReadTopMarginals(const std::filesystem::path& path, const PageGrid& grid,
                                    NpyReader* reader, const std::filesystem::path& labels_path,
                                    std::size_t labels) {
  QuantisedMarginals marginals = ReadProbabilities(path, grid, reader, false);
  marginals.labels = labels;
  NpyReader label_reader(labels_path);
  if (label_reader.shape() != reader->shape()) {
    throw FileError(fmt::format("\"{}\" has shape {}, expected {} as \"{}\" has",
                                labels_path.string(), ShapeText(label_reader.shape()),
                                ShapeText(reader->shape()), path.string()));
  }
  std::vector<std::int64_t> values(label_reader.count());
  label_reader.ReadTo(std::span(values));
  std::vector<std::uint16_t> all;
  all.reserve(values.size());
  const std::size_t limit = labels > 0 ? labels : kMaxReportLabels;
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (values[k] < 0 || values[k] >= static_cast<std::int64_t>(limit)) {
      throw FileError(fmt::format("\"{}\" holds the label {} at index {}, expected 0 to {}",
                                  labels_path.string(), values[k], k, limit - 1));
    }
    marginals.labels = std::max(marginals.labels, static_cast<std::size_t>(values[k]) + 1);
    all.push_back(static_cast<std::uint16_t>(values[k]));
  }
  const std::size_t kept = marginals.kept;
  for (std::size_t k = 0; k < grid.shown_pixels(); ++k) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(grid.SourceOf(k) * kept);
    marginals.label.insert(marginals.label.end(), begin, begin + static_cast<std::ptrdiff_t>(kept));
  }
  return KeepMostProbable(marginals, marginals.kept);
}

std::optional<PackedMarginals> PackMarginals(const QuantisedMarginals& marginals,
                                             std::size_t max_bytes) {
  if (auto packed = PackAsTheyAre(marginals, max_bytes)) return packed;
  // The size grows with k, so the largest k that fits is found by bisection.
  std::optional<PackedMarginals> best;
  std::size_t low = 1;
  std::size_t high = marginals.kept - 1;
  while (low <= high) {
    const std::size_t k = low + (high - low) / 2;
    if (auto packed = PackAsTheyAre(KeepMostProbable(marginals, k), max_bytes)) {
      best = std::move(packed);
      low = k + 1;
    } else {
      high = k - 1;
    }
  }
  return best;
}

}  // namespace submarine::apps
