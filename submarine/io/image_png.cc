#include <png.h>

#include <algorithm>
#include <bit>
#include <csetjmp>
#include <cstring>
#include <vector>

#include "submarine/io/image_decoders.h"

namespace submarine {
namespace {

// libpng leaves by longjmp. Every method that may be left so holds nothing with a destructor and
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

  // Any kind of colour and depth to grey or RGB of 8 or 16 bits in our byte order.
  bool Convert() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_expand(png_);
    png_set_strip_alpha(png_);
    if (std::endian::native == std::endian::little) png_set_swap(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  bool ReadRows(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

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

}  // namespace

Image DecodePng(const EncodedImage& file) {
  PngDecoder decoder(file.bytes);
  if (!decoder.ReadHeader()) file.FailToDecode("PNG", decoder.error());
  // Conversion multiplies palettes and low depths, but by little enough to leave them out here.
  file.CheckSize(decoder.width(), decoder.height(), 1);
  if (!decoder.Convert()) file.FailToDecode("PNG", decoder.error());
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
  const auto height = static_cast<std::size_t>(image.height);
  std::vector<png_byte> raster(decoder.row_bytes() * height);
  std::vector<png_bytep> rows(height);
  for (std::size_t y = 0; y < height; ++y) rows[y] = raster.data() + y * decoder.row_bytes();
  if (!decoder.ReadRows(rows.data())) file.FailToDecode("PNG", decoder.error());
  image.samples.resize(row_samples * height);
  if (bytes_per_sample == 2) {
    std::memcpy(image.samples.data(), raster.data(), raster.size());
  } else {
    std::copy(raster.begin(), raster.end(), image.samples.begin());
  }
  return image;
}

}  // namespace submarine
