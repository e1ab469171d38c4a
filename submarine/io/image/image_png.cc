#include <fmt/format.h>
#include <png.h>

#include <bit>
#include <csetjmp>
#include <cstring>
#include <utility>

#include "submarine/io/image/image_decoders.h"

namespace submarine::internal {
namespace {

constexpr int kInterlacePasses = 7;  // of Adam7, the only kind

// libpng exits by longjmp. Every method that it may exit from holds nothing with a destructor and
// returns false; error() says why, and the caller throws.
class PngDecoder {
 public:
  explicit PngDecoder(std::string_view bytes) : bytes_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, KeepMessageAndLeave, IgnoreWarning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  bool ReadHeader() {
    if (info_ == nullptr || setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, CopyBytes);
    png_read_info(png_, info_);
    return true;
  }

  // Converts any kind of colour and depth to grey or RGB of 8 or 16 bits in native byte order;
  // `raw` keeps numbers as stored.
  bool Convert(bool raw) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    if (raw) {
      png_set_packing(png_);
    } else {
      png_set_expand(png_);
    }
    png_set_strip_alpha(png_);
    if (std::endian::native == std::endian::little) png_set_swap(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  // Of an interlaced picture, every row is read once per pass and keeps what earlier ones brought.
  bool ReadRow(png_bytep row) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_row(png_, row, nullptr);
    return true;
  }
  bool Finish() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_end(png_, nullptr);
    return true;
  }

  bool interlaced() const { return png_get_interlace_type(png_, info_) != PNG_INTERLACE_NONE; }
  std::int64_t width() const { return png_get_image_width(png_, info_); }
  std::int64_t height() const { return png_get_image_height(png_, info_); }
  int channels() const { return png_get_channels(png_, info_); }
  int bit_depth() const { return png_get_bit_depth(png_, info_); }
  std::size_t row_bytes() const { return png_get_rowbytes(png_, info_); }
  const char* error() const { return error_[0] != '\0' ? error_ : "out of memory"; }

 private:
  static void CopyBytes(png_structp png, png_bytep destination, std::size_t count) {
    auto* self = static_cast<PngDecoder*>(png_get_io_ptr(png));
    if (count > self->bytes_.size() - self->position_) png_error(png, "the file ends too early");
    std::memcpy(destination, self->bytes_.data() + self->position_, count);
    self->position_ += count;
  }
  static void KeepMessageAndLeave(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngDecoder*>(png_get_error_ptr(png));
    std::strncpy(self->error_, message, sizeof self->error_ - 1);
    png_longjmp(png, 1);
  }
  static void IgnoreWarning(png_structp, png_const_charp) {}

  std::string_view bytes_;
  std::size_t position_ = 0;
  char error_[200] = {};
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

// libpng would decompress any data after the last pixel, up to a thousand bytes for each byte of
// the file, and drop it. Compression never adds more to the pixels than is allowed for here.
void CheckCompressedBytes(const EncodedImage& file, const PngDecoder& decoder) {
  std::uint64_t compressed = 0;
  constexpr std::size_t kSignature = 8, kAroundData = 12;  // length, kind and checksum of a chunk
  for (std::uint64_t at = kSignature; at + kAroundData <= file.bytes.size();) {
    std::uint64_t length = 0;
    for (const char c : file.bytes.substr(at, 4)) length = length << 8 | static_cast<png_byte>(c);
    if (file.bytes.substr(at + 4, 4) == "IDAT") compressed += length;
    at += length + kAroundData;
  }
  const auto height = static_cast<std::uint64_t>(decoder.height());
  const std::uint64_t raw = height * decoder.row_bytes();
  const std::uint64_t most = raw + raw / 8 + (decoder.interlaced() ? 32 : 16) * height + 1024;
  if (compressed > most) {
    file.Fail(
        fmt::format("has {} bytes of compressed pixels, more than the {} that {} x {} pixels "
                    "can take",
                    compressed, most, decoder.width(), decoder.height()));
  }
}

}  // namespace

void DecodePng(const EncodedImage& file, ImageStrips& strips) {
  PngDecoder decoder(file.bytes);
  if (!decoder.ReadHeader()) file.FailToDecode("PNG", decoder.error());
  file.CheckSize(
      decoder.width(), decoder.height(),
      static_cast<std::size_t>(decoder.channels()) * static_cast<std::size_t>(decoder.bit_depth()));
  CheckCompressedBytes(file, decoder);
  if (!decoder.Convert(file.raw)) file.FailToDecode("PNG", decoder.error());
  const std::size_t bytes_per_sample = decoder.bit_depth() == 16 ? 2 : 1;
  Image image;
  image.width = static_cast<int>(decoder.width());
  image.height = static_cast<int>(decoder.height());
  image.channels = decoder.channels();
  image.max_value = bytes_per_sample == 2 ? 65535 : 255;
  const std::size_t row_samples = static_cast<std::size_t>(image.width) * image.channels;
  if ((image.channels != 1 && image.channels != 3) ||
      decoder.row_bytes() != row_samples * bytes_per_sample) {
    file.Fail(
        "is a PNG picture of an unknown kind of colour, but grey, palette or RGB was "
        "expected");
  }
  const bool interlaced = decoder.interlaced();
  strips.Begin(image, {.picture = interlaced});
  const auto height = static_cast<std::size_t>(image.height);
  if (interlaced) image.samples.resize(row_samples * height);
  const auto row_of_picture = [&](std::size_t y) {
    return interlaced ? image.samples.data() + y * row_samples : strips.NextRow();
  };
  // Bytes are decoded into the second half of a row's memory and spread from there: sample k ends
  // at byte 2k + 1, at or before byte k of that half.
  const auto raster = [&](std::uint16_t* row) {
    return reinterpret_cast<png_bytep>(row) + (bytes_per_sample == 1 ? row_samples : 0);
  };
  const auto spread = [&](std::uint16_t* row) {
    if (bytes_per_sample == 2) return;
    const png_bytep bytes = raster(row);
    for (std::size_t k = 0; k < row_samples; ++k) row[k] = bytes[k];
  };
  const int passes = interlaced ? kInterlacePasses : 1;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t y = 0; y < height; ++y) {
      std::uint16_t* row = row_of_picture(y);
      if (!decoder.ReadRow(raster(row))) file.FailToDecode("PNG", decoder.error());
      if (pass + 1 == passes) spread(row);
      if (interlaced) {
        strips.Decoded(row_samples);
      } else {
        strips.EndRow();
      }
    }
  }
  if (!decoder.Finish()) file.FailToDecode("PNG", decoder.error());
  if (interlaced) strips.PutAll(std::move(image));
}

}  // namespace submarine::internal
