#include "apps/report/page_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "apps/report/page_grid.h"
#include "submarine/base/error.h"
#include "submarine/io/file/input_file.h"
#include "submarine/io/image/image.h"
#include "submarine/io/image/png.h"

namespace submarine::apps {
namespace {

using internal::ReadWholeFile;

constexpr std::uint64_t kMaxPictureBytes = std::uint64_t{1} << 30;
constexpr double kLabelShare = 0.6;  // opacity of the labels in an overlay

// Channels innermost, from 0 to 255.
struct Pixels {
  std::int64_t width = 0;
  std::int64_t height = 0;
  int channels = 1;
  std::vector<std::uint8_t> samples;

  PngFile Png() const {
    return {EncodePng(static_cast<int>(width), static_cast<int>(height), channels, samples), width,
            height};
  }
};

std::uint8_t Mean(const Image& image, const PageGrid& grid, std::int64_t x, std::int64_t y, int c) {
  std::int64_t sum = 0;
  std::int64_t count = 0;
  for (std::int64_t v = y * grid.step; v < std::min((y + 1) * grid.step, grid.height); ++v) {
    for (std::int64_t u = x * grid.step; u < std::min((x + 1) * grid.step, grid.width); ++u) {
      sum += image.samples[static_cast<std::size_t>((v * grid.width + u) * image.channels + c)];
      ++count;
    }
  }
  return static_cast<std::uint8_t>(sum * 255 / (count * image.max_value));
}

// Appends the rows of a strip or a whole picture.
void AppendShrunk(const Image& image, std::int64_t step, Shrinking shrinking, Pixels* small) {
  const PageGrid grid{image.width, image.height, 1, step};
  small->width = grid.shown_width();
  small->height += grid.shown_height();
  small->channels = image.channels;
  for (std::int64_t y = 0; y < grid.shown_height(); ++y) {
    for (std::int64_t x = 0; x < small->width; ++x) {
      const std::int64_t middle =
          grid.Middle(y, grid.height) * grid.width + grid.Middle(x, grid.width);
      for (int c = 0; c < image.channels; ++c) {
        const std::uint16_t sample =
            image.samples[static_cast<std::size_t>(middle * image.channels + c)];
        small->samples.push_back(shrinking == Shrinking::kMean
                                     ? Mean(image, grid, x, y, c)
                                     : static_cast<std::uint8_t>(sample * 255 / image.max_value));
      }
    }
  }
}

Pixels Shrunk(const Image& image, std::int64_t step) {
  Pixels small;
  AppendShrunk(image, step, Shrinking::kMean, &small);
  return small;
}

}  // namespace

PngFile ReadPngFile(const std::filesystem::path& path) {
  PngFile png{ReadWholeFile(path, kMaxPictureBytes)};
  const std::string_view begin = std::string_view(png.bytes).substr(0, 24);
  if (begin.size() < 24 || !begin.starts_with("\x89PNG\r\n\x1a\n") ||
      begin.substr(12, 4) != "IHDR") {
    throw FileError(fmt::format("\"{}\" is not a PNG file, expected one", path.string()));
  }
  const auto integer = [&](std::size_t at) {
    std::int64_t value = 0;
    for (const char c : begin.substr(at, 4)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  };
  png.width = integer(16);
  png.height = integer(20);
  return png;
}

PngFile ReadShrunkPng(const std::filesystem::path& path, std::int64_t step, Shrinking shrinking) {
  Pixels small;
  ReadImageStrips(path, static_cast<int>(step), {},
                  [&](const Image& strip) { AppendShrunk(strip, step, shrinking, &small); });
  return small.Png();
}

PngFile OverlayThumbnail(const std::filesystem::path& picture, const std::filesystem::path& labels,
                         std::int64_t side) {
  const Image below = ReadImage(picture);
  const Image above = ReadImage(labels, {.expected = ImageSize{below.width, below.height}});
  const std::int64_t longest = std::max(below.width, below.height);
  const std::int64_t step = std::max<std::int64_t>(1, (longest + side - 1) / side);
  const Pixels small_below = Shrunk(below, step);
  const Pixels small_above = Shrunk(above, step);
  Pixels overlay{small_below.width, small_below.height, 3, {}};
  const std::size_t pixels = small_below.samples.size() / static_cast<std::size_t>(below.channels);
  for (std::size_t a = 0; a < pixels; ++a) {
    for (std::size_t c = 0; c < 3; ++c) {
      const auto at = [&](const Pixels& of) {
        const auto channels = static_cast<std::size_t>(of.channels);
        return static_cast<double>(of.samples[a * channels + (channels == 1 ? 0 : c)]);
      };
      overlay.samples.push_back(static_cast<std::uint8_t>(kLabelShare * at(small_above) +
                                                          (1.0 - kLabelShare) * at(small_below)));
    }
  }
  return overlay.Png();
}

}  // namespace submarine::apps
