// Windows bitmaps: uncompressed, 8 bits with a palette, 24 and 32 bits, bottom-up and top-down. All
// numbers are little-endian.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "submarine/io/image/image_decoders.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kFileHeaderBytes = 14;
constexpr std::uint64_t kCoreHeaderBytes = 12;  // OS/2: sizes of 16 bits, palettes of 3 bytes
constexpr std::uint64_t kInfoHeaderBytes = 40;
constexpr std::uint64_t kUncompressed = 0;
constexpr std::uint64_t kBitFields =
    3;  // uncompressed as well, with masks that say where the colours are

using Colour = std::array<std::uint8_t, 3>;

class Bmp {
 public:
  explicit Bmp(const EncodedImage& file) : file_(file) { ReadHeader(); }

  void Decode(ImageStrips& strips) const {
    const bool indices = bits_ == 8 && file_.raw;
    const std::vector<Colour> palette = bits_ == 8 ? ReadPalette() : std::vector<Colour>();
    Image image;
    image.width = static_cast<int>(width_);
    image.height = static_cast<int>(height_);
    image.channels = indices ? 1 : 3;
    strips.Begin(image, {});
    for (std::int64_t y = 0; y < height_; ++y) {
      const std::int64_t row = top_down_ ? y : height_ - 1 - y;
      std::uint16_t* to = strips.NextRow();
      const std::uint64_t begin = pixels_ + static_cast<std::uint64_t>(row) * row_bytes_;
      for (std::int64_t x = 0; x < width_; ++x) {
        const std::uint64_t at = begin + static_cast<std::uint64_t>(x) * bits_ / 8;
        if (indices) {
          *to++ = Byte(at);
          continue;
        }
        const Colour colour = bits_ == 8 ? InPalette(palette, Byte(at), x, y) : BlueFirst(at);
        to = std::copy(colour.begin(), colour.end(), to);
      }
      strips.EndRow();
    }
  }

 private:
  std::uint8_t Byte(std::uint64_t at) const {
    return static_cast<std::uint8_t>(file_.bytes[static_cast<std::size_t>(at)]);
  }
  std::uint64_t Number(std::uint64_t at, int bytes) const {
    std::uint64_t value = 0;
    for (int k = bytes - 1; k >= 0; --k)
      value = value << 8 | Byte(at + static_cast<std::uint64_t>(k));
    return value;
  }
  std::int64_t Signed(std::uint64_t at) const {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(Number(at, 4)));
  }
  Colour BlueFirst(std::uint64_t at) const { return {Byte(at + 2), Byte(at + 1), Byte(at)}; }

  void RequireBytes(std::uint64_t end, const char* what) const {
    if (end > file_.bytes.size()) {
      file_.FailToDecode("BMP", fmt::format("{} ends at byte {}, but the file has {}", what, end,
                                            file_.bytes.size()));
    }
  }

  void ReadHeader() {
    RequireBytes(kFileHeaderBytes + 4, "the header");
    pixels_ = Number(10, 4);
    header_bytes_ = Number(14, 4);
    if (header_bytes_ != kCoreHeaderBytes && header_bytes_ < kInfoHeaderBytes) {
      file_.Fail(fmt::format(
          "is a BMP picture with a header of {} bytes, expected 12, or 40 or more", header_bytes_));
    }
    RequireBytes(kFileHeaderBytes + header_bytes_, "the header");
    const bool core = header_bytes_ == kCoreHeaderBytes;
    width_ = core ? static_cast<std::int64_t>(Number(18, 2)) : Signed(18);
    height_ = core ? static_cast<std::int64_t>(Number(20, 2)) : Signed(22);
    bits_ = Number(core ? 24 : 28, 2);
    top_down_ = height_ < 0;
    if (top_down_) height_ = -height_;
    CheckKind(core ? kUncompressed : Number(30, 4));
    file_.CheckSize(width_, height_, bits_);
    row_bytes_ = (static_cast<std::uint64_t>(width_) * bits_ + 31) / 32 * 4;
    RequireBytes(pixels_ + row_bytes_ * static_cast<std::uint64_t>(height_), "the last row");
    if (pixels_ < kFileHeaderBytes + header_bytes_)
      file_.FailToDecode("BMP", "its pixels begin inside its header");
  }

  void CheckKind(std::uint64_t compression) const {
    if (bits_ != 8 && bits_ != 24 && bits_ != 32) {
      file_.Fail(fmt::format("is a BMP picture of {} bits per pixel, expected 8, 24 or 32", bits_));
    }
    const bool fields = compression == kBitFields && bits_ == 32;
    if (compression != kUncompressed && !fields) {
      file_.Fail(fmt::format("is a BMP picture with compression {}, expected an uncompressed one",
                             compression));
    }
    if (!fields) return;
    // The masks follow the first 40 bytes, either as part of a longer header or after it.
    const std::uint64_t masks = kFileHeaderBytes + kInfoHeaderBytes;
    RequireBytes(masks + 12, "the colour masks");
    if (Number(masks, 4) != 0xff0000 || Number(masks + 4, 4) != 0xff00 ||
        Number(masks + 8, 4) != 0xff) {
      file_.Fail(
          "is a BMP picture with unusual colour masks, expected 8 bits each of blue, green, "
          "red and an unused or alpha channel");
    }
  }

  // The palette lies between the header and the pixels; at most as many entries as the header
  // announces.
  std::vector<Colour> ReadPalette() const {
    const bool core = header_bytes_ == kCoreHeaderBytes;
    const std::uint64_t begin = kFileHeaderBytes + header_bytes_;
    const std::uint64_t entry_bytes = core ? 3 : 4;
    std::uint64_t count = core ? 0 : Number(46, 4);
    if (count == 0) count = 256;
    count = std::min({count, std::uint64_t{256}, (pixels_ - begin) / entry_bytes});
    std::vector<Colour> palette;
    for (std::uint64_t k = 0; k < count; ++k) palette.push_back(BlueFirst(begin + k * entry_bytes));
    return palette;
  }

  Colour InPalette(const std::vector<Colour>& palette, std::uint8_t index, std::int64_t x,
                   std::int64_t y) const {
    if (index >= palette.size()) {
      file_.FailToDecode("BMP", fmt::format("pixel x = {}, y = {} has colour {} of a palette of {}",
                                            x, y, index, palette.size()));
    }
    return palette[index];
  }

  const EncodedImage& file_;
  std::uint64_t pixels_ = 0;  // offset of the pixels
  std::uint64_t header_bytes_ = 0;
  std::int64_t width_ = 0;
  std::int64_t height_ = 0;
  std::uint64_t bits_ = 0;
  std::uint64_t row_bytes_ = 0;  // padded to four
  bool top_down_ = false;
};

}  // namespace

void DecodeBmp(const EncodedImage& file, ImageStrips& strips) { Bmp(file).Decode(strips); }

}  // namespace submarine::internal
