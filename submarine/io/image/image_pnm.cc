#include <fmt/format.h>

#include <limits>

#include "submarine/io/file/text_scanner.h"
#include "submarine/io/image/image_decoders.h"

namespace submarine::internal {
namespace {

// Stretches 0..from to 0..to, rounded to the nearest.
std::uint16_t Stretched(std::int64_t value, std::int64_t from, std::int64_t to) {
  return static_cast<std::uint16_t>((2 * value * to + from) / (2 * from));
}

struct PnmLayout {
  std::size_t rows;
  std::size_t row_samples;
  std::int64_t maximum;  // the largest sample of the file,
  std::int64_t target;   // and what it is stretched to

  std::size_t samples() const { return rows * row_samples; }
};

void ReadText(TextScanner& scanner, const PnmLayout& layout, ImageStrips& strips) {
  scanner.ExpectRoomFor(static_cast<std::int64_t>(layout.samples()), "samples");
  for (std::size_t y = 0; y < layout.rows; ++y) {
    std::uint16_t* row = strips.NextRow();
    for (std::size_t k = 0; k < layout.row_samples; ++k) {
      row[k] =
          Stretched(scanner.Integer("a sample", 0, layout.maximum), layout.maximum, layout.target);
    }
    if (y + 1 == layout.rows) scanner.ExpectEnd("the last sample");
    strips.EndRow();
  }
}

void ReadBinary(const EncodedImage& file, std::string_view raster, const PnmLayout& layout,
                ImageStrips& strips) {
  const std::size_t bytes_per_sample = layout.maximum > 255 ? 2 : 1;
  const std::size_t expected = layout.samples() * bytes_per_sample;
  while (raster.size() > expected && IsSpace(raster.back())) raster.remove_suffix(1);
  if (raster.size() != expected) {
    file.Fail(fmt::format("is {}: {} bytes of samples were expected, but {} follow its header",
                          raster.size() < expected ? "truncated" : "too long", expected,
                          raster.size()));
  }
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(raster[k]); };
  for (std::size_t y = 0, k = 0; y < layout.rows; ++y) {
    std::uint16_t* row = strips.NextRow();
    for (std::size_t x = 0; x < layout.row_samples; ++x, ++k) {
      const int value = bytes_per_sample == 1 ? byte(k) : 256 * byte(2 * k) + byte(2 * k + 1);
      if (value > layout.maximum) {
        file.Fail(fmt::format("has the sample {} at index {}, but its header announces at most {}",
                              value, k, layout.maximum));
      }
      row[x] = Stretched(value, layout.maximum, layout.target);
    }
    strips.EndRow();
  }
}

}  // namespace

void DecodePnm(const EncodedImage& file, ImageStrips& strips) {
  TextScanner scanner(file.path, file.bytes, '#');
  const char kind = scanner.Token("the kind of picture")[1];
  const bool text = kind == '2' || kind == '3';
  const std::int64_t width = scanner.Integer("the width", 1, kMaxImagePixels);
  const std::int64_t height = scanner.Integer("the height", 1, kMaxImagePixels);
  const std::int64_t maximum = scanner.Integer("the largest sample", 1, 65535);
  Image image;
  image.channels = kind == '2' || kind == '5' ? 1 : 3;
  image.max_value = maximum > 255 ? 65535 : 255;
  file.CheckSize(width, height, 8 * static_cast<std::size_t>(image.channels));
  // A sample takes at least one byte, as a digit or in binary.
  const auto samples = static_cast<std::uint64_t>(width * height * image.channels);
  const std::size_t header_bytes = scanner.position() + 1;  // with one white space
  const std::size_t left = file.bytes.size() > header_bytes ? file.bytes.size() - header_bytes : 0;
  if (samples > left) {
    file.Fail(fmt::format("is truncated: its header announces {} samples, but {} bytes follow it",
                          samples, left));
  }
  image.width = static_cast<int>(width);
  image.height = static_cast<int>(height);
  strips.Begin(image, {});
  const PnmLayout layout{static_cast<std::size_t>(height),
                         static_cast<std::size_t>(width * image.channels), maximum,
                         file.raw ? maximum : image.max_value};
  if (text) {
    ReadText(scanner, layout, strips);
  } else {
    ReadBinary(file, file.bytes.substr(header_bytes), layout, strips);
  }
}

}  // namespace submarine::internal
