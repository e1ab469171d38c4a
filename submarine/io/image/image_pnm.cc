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

// The value that the largest sample is stretched to.
std::int64_t Target(const EncodedImage& file, std::int64_t maximum, const Image& image) {
  return file.raw ? maximum : image.max_value;
}

void ReadText(const EncodedImage& file, TextScanner& scanner, std::int64_t maximum, Image& image) {
  scanner.ExpectRoomFor(static_cast<std::int64_t>(image.samples.size()), "samples");
  for (std::uint16_t& sample : image.samples) {
    sample =
        Stretched(scanner.Integer("a sample", 0, maximum), maximum, Target(file, maximum, image));
  }
  scanner.ExpectEnd("the last sample");
}

void ReadBinary(const EncodedImage& file, std::string_view raster, std::int64_t maximum,
                Image& image) {
  const std::size_t bytes_per_sample = maximum > 255 ? 2 : 1;
  const std::size_t expected = image.samples.size() * bytes_per_sample;
  while (raster.size() > expected && IsSpace(raster.back())) raster.remove_suffix(1);
  if (raster.size() != expected) {
    file.Fail(fmt::format("is {}: {} bytes of samples were expected, but {} follow its header",
                          raster.size() < expected ? "truncated" : "too long", expected,
                          raster.size()));
  }
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(raster[k]); };
  for (std::size_t k = 0; k < image.samples.size(); ++k) {
    const int value = bytes_per_sample == 1 ? byte(k) : 256 * byte(2 * k) + byte(2 * k + 1);
    if (value > maximum) {
      file.Fail(fmt::format("has the sample {} at index {}, but its header announces at most {}",
                            value, k, maximum));
    }
    image.samples[k] = Stretched(value, maximum, Target(file, maximum, image));
  }
}

}  // namespace

Image DecodePnm(const EncodedImage& file) {
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
  image.samples.resize(samples);
  if (text) {
    ReadText(file, scanner, maximum, image);
  } else {
    ReadBinary(file, file.bytes.substr(header_bytes), maximum, image);
  }
  return image;
}

}  // namespace submarine::internal
