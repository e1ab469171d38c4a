#include "apps/report/report_marginals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
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
  const std::size_t pixels = all.pixels();
  QuantisedMarginals top{all.labels, k, std::vector<std::uint8_t>(pixels * k),
                         std::vector<std::uint16_t>(pixels * k)};
  ParallelFor(pixels, kRowGrain, [&](std::size_t begin, std::size_t end) {
    // Of equal probabilities the first has the largest key.
    constexpr std::uint32_t kLast = kMaxReportLabels - 1;
    std::vector<std::uint32_t> keys(all.kept);
    for (std::size_t a = begin; a < end; ++a) {
      const std::uint8_t* q = all.q.data() + a * all.kept;
      for (std::size_t i = 0; i < all.kept; ++i)
        keys[i] = std::uint32_t{q[i]} << 16 | (kLast - static_cast<std::uint32_t>(i));
      std::partial_sort(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(k), keys.end(),
                        std::greater<>());
      for (std::size_t rank = 0; rank < k; ++rank) {
        const std::size_t entry = kLast - (keys[rank] & kLast);
        top.q[a * k + rank] = q[entry];
        top.label[a * k + rank] =
            all.label.empty() ? static_cast<std::uint16_t>(entry) : all.label[a * all.kept + entry];
      }
    }
  });
  return top;
}

// A few stretches of pixels, long enough to compress as well as all of them, or all.
QuantisedMarginals Sample(const QuantisedMarginals& all) {
  constexpr std::size_t kStretches = 8;
  constexpr std::size_t kBytesOfStretch = std::size_t{1} << 17;
  const std::size_t length = kBytesOfStretch / all.kept + 1;
  const std::size_t pixels = all.pixels();
  if (pixels <= 2 * kStretches * length) return all;
  QuantisedMarginals sample{all.labels, all.kept, {}, {}};
  const auto append = [&](const auto& values, std::size_t first, auto* to) {
    if (values.empty()) return;
    const auto from = values.begin() + static_cast<std::ptrdiff_t>(first * all.kept);
    to->insert(to->end(), from, from + static_cast<std::ptrdiff_t>(length * all.kept));
  };
  for (std::size_t k = 0; k < kStretches; ++k) {
    const std::size_t first = k * (pixels - length) / (kStretches - 1);
    append(all.q, first, &sample.q);
    append(all.label, first, &sample.label);
  }
  return sample;
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

PackedMarginals Pack(const QuantisedMarginals& all, std::size_t kept) {
  if (kept < all.kept) return Pack(KeepMostProbable(all, kept), kept);
  PackedMarginals packed{
      kept, Base64(Deflate({reinterpret_cast<const char*>(all.q.data()), all.q.size()})), {}, 0};
  if (!all.label.empty()) {
    packed.label_bytes = all.labels <= 256 ? 1 : 2;
    packed.label = Base64(Deflate(LabelBytes(all, packed.label_bytes)));
  }
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
  // Compressing all pixels takes long, so the number of labels is chosen on a sample of them.
  const QuantisedMarginals sample = Sample(marginals);
  double scale = static_cast<double>(marginals.pixels()) / static_cast<double>(sample.pixels());
  const auto estimate = [&](std::size_t kept) {
    return scale * static_cast<double>(Pack(sample, kept).bytes());
  };
  const auto limit = static_cast<double>(max_bytes);
  for (std::size_t most = marginals.kept; most > 0;) {
    std::size_t kept = most;
    if (estimate(most) > limit) {
      // The size grows with their number, so the largest that fits is found by bisection.
      std::size_t too_many = most;
      kept = 0;
      while (kept + 1 < too_many) {
        const std::size_t middle = kept + (too_many - kept) / 2;
        (estimate(middle) > limit ? too_many : kept) = middle;
      }
    }
    if (kept == 0) return std::nullopt;
    PackedMarginals packed = Pack(marginals, kept);
    if (packed.bytes() <= max_bytes) return packed;
    scale *= static_cast<double>(packed.bytes()) / estimate(kept);
    most = kept - 1;
  }
  return std::nullopt;
}

}  // namespace submarine::apps
