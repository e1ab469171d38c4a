#include "submarine/io/image/png.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <bit>
#include <csetjmp>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/io/file/atomic_file.h"

namespace submarine {
namespace {

using internal::WriteFileAtomically;

constexpr std::int64_t kMaxPngSide = 1'000'000;  // libpng's own default limit

// libpng is C: exceptions must not pass through it, and it exits by longjmp.
struct PngSink {
  std::string encoded;
  std::string error;
};

void AppendBytes(png_structp png, png_bytep bytes, std::size_t count) {
  auto* sink = static_cast<PngSink*>(png_get_io_ptr(png));
  bool failed = false;
  try {
    sink->encoded.append(reinterpret_cast<const char*>(bytes), count);
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  if (failed) png_error(png, "out of memory");
}

void NothingToFlush(png_structp) {}

void KeepMessageAndLeave(png_structp png, png_const_charp message) {
  static_cast<PngSink*>(png_get_error_ptr(png))->error = message;
  png_longjmp(png, 1);
}

void IgnoreWarning(png_structp, png_const_charp) {}

// The picture to encode; 16-bit samples are in native byte order.
struct Raster {
  int width;
  int height;
  int channels;
  int bits;  // 8 or 16
  std::span<const std::uint8_t> bytes;
  std::span<const png_color> palette = {};  // if the bytes are indices
};

// Holds nothing with a destructor, which longjmp would skip. If false, sink.error has the reason.
bool Encode(PngSink& sink, const Raster& raster) {
  png_infop info = nullptr;
  png_structp png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, &sink, KeepMessageAndLeave, IgnoreWarning);
  if (png == nullptr) return false;
  info = png_create_info_struct(png);
  if (info == nullptr || setjmp(png_jmpbuf(png)) != 0) {
    png_destroy_write_struct(&png, &info);
    return false;
  }
  png_set_write_fn(png, &sink, AppendBytes, NothingToFlush);
  // Half the time of zlib's default, for files that are a few percent larger.
  constexpr int kCompressionLevel = 4;
  png_set_compression_level(png, kCompressionLevel);
  png_set_IHDR(png, info, static_cast<png_uint_32>(raster.width),
               static_cast<png_uint_32>(raster.height), raster.bits,
               !raster.palette.empty() ? PNG_COLOR_TYPE_PALETTE
               : raster.channels == 1  ? PNG_COLOR_TYPE_GRAY
                                       : PNG_COLOR_TYPE_RGB,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!raster.palette.empty())
    png_set_PLTE(png, info, raster.palette.data(), static_cast<int>(raster.palette.size()));
  png_write_info(png, info);
  if (raster.bits == 16 && std::endian::native == std::endian::little) png_set_swap(png);
  for (int y = 0; y < raster.height; ++y) {
    png_write_row(png, raster.bytes.data() + raster.bytes.size() /
                                                 static_cast<std::size_t>(raster.height) *
                                                 static_cast<std::size_t>(y));
  }
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return true;
}

std::string EncodeRaster(const Raster& raster) {
  const auto& [width, height, channels, bits, bytes, palette] = raster;
  if (width < 1 || height < 1 || width > kMaxPngSide || height > kMaxPngSide) {
    throw InvalidInput(
        fmt::format("a picture of {} x {} pixels cannot be written as PNG", width, height));
  }
  if (channels != 1 && channels != 3) {
    throw InvalidInput(fmt::format("a picture has 1 or 3 channels, not {}", channels));
  }
  const std::int64_t expected = static_cast<std::int64_t>(width) * height * channels;
  const std::size_t given = bytes.size() / static_cast<std::size_t>(bits / 8);
  if (static_cast<std::int64_t>(given) != expected) {
    throw InvalidInput(
        fmt::format("a picture of {} x {} pixels with {} channels needs {} samples, not {}", width,
                    height, channels, expected, given));
  }
  PngSink sink;
  if (!Encode(sink, raster)) {
    throw InvalidInput(fmt::format("a picture cannot be encoded as PNG: {}",
                                   sink.error.empty() ? "out of memory" : sink.error));
  }
  return std::move(sink.encoded);
}

void WriteRaster(const std::filesystem::path& path, const Raster& raster) {
  WriteFileAtomically(path, EncodeRaster(raster));
}

}  // namespace

void WritePng(const std::filesystem::path& path, int width, int height, int channels,
              std::span<const std::uint8_t> samples) {
  WriteRaster(path, {width, height, channels, 8, samples});
}

std::string EncodePng(int width, int height, int channels, std::span<const std::uint8_t> samples) {
  return EncodeRaster({width, height, channels, 8, samples});
}

void WritePng16(const std::filesystem::path& path, int width, int height,
                std::span<const std::uint16_t> samples) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(samples.data());
  WriteRaster(path, {width, height, 1, 16, {bytes, samples.size_bytes()}});
}

void WriteIndexedPng(const std::filesystem::path& path, int width, int height,
                     std::span<const std::uint8_t> indices,
                     std::span<const std::array<std::uint8_t, 3>> palette) {
  if (palette.empty() || palette.size() > 256) {
    throw InvalidInput(
        fmt::format("a palette of a PNG has 1 to 256 colours, not {}", palette.size()));
  }
  const std::uint8_t largest =
      indices.empty() ? 0 : *std::max_element(indices.begin(), indices.end());
  if (largest >= palette.size()) {
    throw InvalidInput(
        fmt::format("there is an index {} into a palette of {} colours", largest, palette.size()));
  }
  std::vector<png_color> colours;
  for (const auto& [r, g, b] : palette) colours.push_back({r, g, b});
  WriteRaster(path, {width, height, 1, 8, indices, colours});
}

}  // namespace submarine
