#include "submarine/io/image/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/io/file/input_file.h"
#include "submarine/io/file/text_scanner.h"
#include "submarine/io/image/image_decoders.h"

namespace submarine {
namespace {

using internal::DecodeBmp;
using internal::DecodeJpeg;
using internal::DecodePng;
using internal::DecodePnm;
using internal::DecodeTiff;
using internal::EncodedImage;
using internal::ImageStrips;
using internal::Quoted;
using internal::ReadWholeFile;

constexpr std::uint64_t kMaxImageFileBytes = std::uint64_t{1} << 30;

// kMaxImagePixels of 16 bytes, twice the size of 16-bit RGB with transparency.
constexpr std::uint64_t kMaxDecodedBytes = std::uint64_t{1} << 30;

constexpr std::string_view kExpected = "a PNG, JPEG, TIFF, BMP, PGM or PPM picture was expected";

bool IsTiff(std::string_view bytes) {
  using namespace std::string_view_literals;
  // '*' marks plain TIFF, '+' BigTIFF.
  return bytes.starts_with("II*\0"sv) || bytes.starts_with("MM\0*"sv) ||
         bytes.starts_with("II+\0"sv) || bytes.starts_with("MM\0+"sv);
}

bool IsPnm(std::string_view bytes) {
  return bytes.size() >= 3 && bytes[0] == 'P' &&
         std::string_view("2356").find(bytes[1]) != std::string_view::npos &&
         std::string_view(" \t\r\n\v\f").find(bytes[2]) != std::string_view::npos;
}

using Decoder = void (*)(const EncodedImage&, ImageStrips&);

// Null if the bytes do not start a known picture format.
Decoder DecoderOf(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return DecodePng;
  if (bytes.starts_with("\xff\xd8\xff")) return DecodeJpeg;
  if (IsTiff(bytes)) return DecodeTiff;
  if (bytes.starts_with("BM")) return DecodeBmp;
  return IsPnm(bytes) ? DecodePnm : nullptr;
}

}  // namespace

void EncodedImage::Fail(std::string_view problem) const {
  throw FileError(fmt::format("\"{}\" {}", path.string(), problem));
}

void EncodedImage::FailToDecode(std::string_view format, std::string_view reason) const {
  constexpr std::size_t kLongest = 160;
  std::string printable;
  for (const char c : reason.substr(0, kLongest)) printable += c >= ' ' && c <= '~' ? c : '?';
  Fail(fmt::format("is a damaged or truncated {} picture: {}", format,
                   printable.empty() ? "its decoder gives no reason" : printable));
}

void EncodedImage::CheckSize(std::int64_t width, std::int64_t height,
                             std::size_t bits_per_pixel) const {
  if (width < 1 || height < 1 || width > kMaxImagePixels || height > kMaxImagePixels ||
      width * height > kMaxImagePixels) {
    Fail(fmt::format("claims a size of {} x {} pixels, but 1 to {} pixels were expected", width,
                     height, kMaxImagePixels));
  }
  const std::optional<ImageSize>& expected = reading.expected;
  if (expected && (width != expected->width || height != expected->height)) {
    Fail(fmt::format("has {} x {} pixels, but {} x {} were expected", width, height,
                     expected->width, expected->height));
  }
  const std::uint64_t row_bytes = (static_cast<std::uint64_t>(width) * bits_per_pixel + 7) / 8;
  CheckDecodedBytes(static_cast<std::uint64_t>(height) * row_bytes);
}

void EncodedImage::CheckDecodedBytes(std::uint64_t decoded) const {
  if (decoded > kMaxDecodedBytes) {
    Fail(fmt::format("claims {} bytes of pixels, but at most {} are allowed", decoded,
                     kMaxDecodedBytes));
  }
  if (decoded > max_decoded_bytes()) {
    Fail(fmt::format("claims {} bytes of pixels, more than a file of {} bytes can hold", decoded,
                     bytes.size()));
  }
}

std::uint64_t EncodedImage::max_decoded_bytes() const {
  // In LZW one code of 12 bits stands for at most 2^12 bytes; deflate and JPEG stay below 1100
  // bytes per byte.
  constexpr std::uint64_t kMaxExpansion = 4096;
  return kMaxExpansion * bytes.size();
}

namespace internal {

void ImageStrips::Begin(const Image& header, const Held& held) {
  header_.size = {header.width, header.height};
  header_.channels = header.channels;
  const std::size_t row_bytes = row_samples() * sizeof(std::uint16_t);
  // A strip of the whole picture takes the place of what the decoder holds.
  const std::size_t rows = std::min(height(), most_rows_);
  const std::size_t rows_held = held.picture ? height() + (rows < height() ? rows : 0) : rows;
  header_.decoding_bytes = file_.bytes.size() + held.bytes + row_bytes * rows_held;
  if (file_.reading.before) file_.reading.before(header_);
  strip_ = header;
  if (!held.picture) StartStrip();
}

void ImageStrips::StartStrip() {
  const std::size_t rows = std::min(height() - row_, most_rows_);
  strip_.height = static_cast<int>(rows);
  strip_.samples.resize(rows * row_samples());
  strip_row_ = 0;
}

std::uint16_t* ImageStrips::NextRow() { return strip_.samples.data() + strip_row_ * row_samples(); }

void ImageStrips::EndRow() {
  ++strip_row_;
  ++row_;
  Decoded(row_samples());
  if (strip_row_ < static_cast<std::size_t>(strip_.height)) return;
  take_(strip_);
  if (row_ < height()) StartStrip();
}

void ImageStrips::PutAll(Image image) {
  if (most_rows_ >= height()) return take_(image);
  StartStrip();
  for (std::size_t y = 0; y < height(); ++y) {
    const auto row = image.samples.begin() + static_cast<std::ptrdiff_t>(y * row_samples());
    std::copy_n(row, row_samples(), NextRow());
    EndRow();
  }
}

void ImageStrips::Decoded(std::size_t samples) {
  constexpr std::size_t kBetweenCalls = std::size_t{1} << 18;  // about a millisecond
  unseen_ += samples;
  if (unseen_ < kBetweenCalls || !file_.reading.meanwhile) return;
  unseen_ = 0;
  file_.reading.meanwhile();
}

}  // namespace internal

namespace {

ImageHeader ReadBy(const std::filesystem::path& path, int rows, const ImageReading& reading,
                   bool raw, const ImageStrips::Take& take) {
  Decoder decode = nullptr;
  const auto recognise = [&](std::string_view beginning) {
    const EncodedImage file{path, beginning};
    if (beginning.empty()) file.Fail(fmt::format("is empty, but {}", kExpected));
    decode = DecoderOf(beginning);
    if (decode != nullptr) return;
    file.Fail(fmt::format("begins with {}, but {}", Quoted(beginning.substr(0, 8)), kExpected));
  };
  const std::string contents = ReadWholeFile(path, kMaxImageFileBytes, recognise);
  // JPEG does not preserve the numbers that were written, and TIFF has too many ways to store them.
  if (raw && (decode == DecodeJpeg || decode == DecodeTiff)) {
    EncodedImage{path, contents}.Fail(
        "is a JPEG or TIFF picture, but labels are read from PNG, BMP and PGM only");
  }
  const EncodedImage file{path, contents, reading, raw};
  ImageStrips strips(file, rows, take);
  decode(file, strips);
  return strips.header();
}

Image ReadWhole(const std::filesystem::path& path, const ImageReading& reading, bool raw) {
  Image image;
  ReadBy(path, std::numeric_limits<int>::max(), reading, raw,
         [&](Image& strip) { image = std::move(strip); });
  return image;
}

}  // namespace

Image ReadImage(const std::filesystem::path& path, const ImageReading& reading) {
  return ReadWhole(path, reading, false);
}

ImageHeader ReadImageStrips(const std::filesystem::path& path, int rows,
                            const ImageReading& reading,
                            const std::function<void(const Image& strip)>& take) {
  return ReadBy(path, rows, reading, false, take);
}

Image ReadLabelImage(const std::filesystem::path& path, const ImageReading& reading) {
  Image image = ReadWhole(path, reading, true);
  if (image.channels == 1) return image;
  const std::size_t pixels = image.samples.size() / 3;
  for (std::size_t a = 0; a < pixels; ++a) {
    const std::uint16_t* rgb = image.samples.data() + 3 * a;
    if (rgb[0] != rgb[1] || rgb[0] != rgb[2]) {
      const auto width = static_cast<std::size_t>(image.width);
      EncodedImage{path, {}}.Fail(
          fmt::format("has the colour ({}, {}, {}) at pixel x = {}, y = {}, expected one label per "
                      "pixel: a grey picture, or one with a palette",
                      rgb[0], rgb[1], rgb[2], a % width, a / width));
    }
    image.samples[a] = rgb[0];
  }
  image.channels = 1;
  image.samples.resize(pixels);
  return image;
}

std::vector<float> ColourValues(const Image& image) {
  std::vector<float> values(image.samples.size());
  const double scale = 255.0 / image.max_value;
  std::transform(image.samples.begin(), image.samples.end(), values.begin(),
                 [scale](std::uint16_t v) { return static_cast<float>(v * scale); });
  return values;
}

}  // namespace submarine
