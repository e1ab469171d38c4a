#include "apps/cli/reading_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "apps/cli/terminal.h"
#include "submarine/base/error.h"
#include "submarine/base/numbers.h"

namespace submarine::apps {
namespace {

constexpr int kMostShrink = 64;

}  // namespace

double LeastBytesPerPixel(std::size_t num_labels) {
  constexpr double kUnariesAndMarginals = 2.0 * sizeof(float);
  constexpr double kFeatures = 7.0 * sizeof(float);  // of a position and a bilateral kernel
  return kUnariesAndMarginals * static_cast<double>(num_labels) + kFeatures;
}

ReadingLimits::ReadingLimits(const SolveOptions& solve, const internal::Stopwatch& clock,
                             double pixel_bytes, std::optional<int> shrink)
    : clock_(clock),
      seconds_(solve.limits.time_limit_seconds),
      max_bytes_(static_cast<double>(solve.limits.max_bytes > 0 ? solve.limits.max_bytes
                                                                : DefaultMemory())),
      pixel_bytes_(pixel_bytes),
      shrink_(shrink) {}

ImageReading ReadingLimits::For(const std::string& picture) const {
  ImageReading reading;
  reading.before = [this, picture](const ImageHeader& header) { RequireMemory(picture, header); };
  reading.meanwhile = [this, picture] {
    if (Interrupted())
      throw submarine::Interrupted(fmt::format("interrupted while decoding {}", picture));
    if (clock_.Seconds() > seconds_) {
      throw TooLarge(fmt::format(
          "the time limit of {:g} s passed while {} was decoded; a smaller picture or a larger "
          "--time-limit would do",
          seconds_, picture));
    }
  };
  return reading;
}

std::function<void(const Volume& begun, double bytes)> ReadingLimits::ForVolume() const {
  return [this](const Volume& begun, double bytes) {
    if (Interrupted())
      throw submarine::Interrupted(fmt::format("interrupted before {} was read", begun.name));
    if (clock_.Seconds() > seconds_)
      throw TooLarge(
          fmt::format("the time limit of {:g} s passed before {} was read", seconds_, begun.name));
    const double least = std::max(bytes, pixel_bytes_ * static_cast<double>(begun.voxels()));
    if (least <= max_bytes_) return;
    throw TooLarge(fmt::format(
        "{} has {} x {} x {} voxels, which take at least {} of memory, more than the limit of {}; "
        "--max-memory {:.2g} might do",
        begun.name, begun.extent[0], begun.extent[1], begun.extent[2], BytesText(least),
        BytesText(max_bytes_), 1.05 * least / 1e9));
  };
}

void ReadingLimits::RequireMemory(const std::string& picture, const ImageHeader& header) const {
  const int width = header.size.width;
  const int height = header.size.height;
  const auto decoding = static_cast<double>(header.decoding_bytes);
  const auto needed = [&](int by) {
    const std::int64_t pixels = std::int64_t{width / by} * (height / by);
    return std::max(decoding, pixel_bytes_ * static_cast<double>(pixels));
  };
  const double least = needed(shrink_.value_or(1));
  if (least <= max_bytes_) return;
  int enough = shrink_.value_or(kMostShrink);
  while (enough < kMostShrink && needed(enough) > max_bytes_) ++enough;
  std::string smaller;
  if (shrink_ && needed(enough) <= max_bytes_) {
    smaller = fmt::format("--shrink {}", enough);
  } else {
    const double scale = std::sqrt(max_bytes_ / least);
    smaller = fmt::format("a picture of {:.0f} x {:.0f}", std::floor(scale * width),
                          std::floor(scale * height));
  }
  throw TooLarge(fmt::format(
      "{} has {} x {} pixels, which take at least {} of memory, more than the limit of {}; {} or "
      "--max-memory {:.2g} might do",
      picture, width, height, BytesText(least), BytesText(max_bytes_), smaller,
      1.05 * least / 1e9));
}

}  // namespace submarine::apps
