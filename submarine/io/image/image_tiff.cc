#include <fmt/format.h>
#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "submarine/io/image/image_decoders.h"

namespace submarine::internal {
namespace {

// The source that libtiff reads from, and its errors.
struct TiffSource {
  std::string_view bytes;
  std::uint64_t position = 0;
  char error[200] = {};  // the first error message
};

tmsize_t ReadBytes(thandle_t handle, void* destination, tmsize_t count) {
  auto* source = static_cast<TiffSource*>(handle);
  const std::uint64_t size = source->bytes.size();
  const std::uint64_t left = size - std::min(source->position, size);
  const std::uint64_t n = std::min(static_cast<std::uint64_t>(std::max<tmsize_t>(count, 0)), left);
  if (n > 0) std::memcpy(destination, source->bytes.data() + source->position, n);
  source->position += n;
  return static_cast<tmsize_t>(n);
}

tmsize_t WriteNothing(thandle_t, void*, tmsize_t) { return 0; }

toff_t Seek(thandle_t handle, toff_t offset, int whence) {
  auto* source = static_cast<TiffSource*>(handle);
  const std::uint64_t base = whence == SEEK_CUR   ? source->position
                             : whence == SEEK_END ? source->bytes.size()
                                                  : 0;
  source->position = base + offset;  // offsets are unsigned; negative ones wrap around
  return source->position;
}

int CloseNothing(thandle_t) { return 0; }

toff_t Size(thandle_t handle) { return static_cast<TiffSource*>(handle)->bytes.size(); }

int KeepError(TIFF*, void* source, const char*, const char* format, va_list arguments) {
  char* error = static_cast<TiffSource*>(source)->error;
  if (error[0] == '\0') std::vsnprintf(error, sizeof TiffSource::error, format, arguments);
  return 1;  // handled: nothing is printed
}

int IgnoreWarning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

struct TiffCloser {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
using TiffHandle = std::unique_ptr<TIFF, TiffCloser>;

TiffHandle Open(TiffSource& source, std::uint64_t max_allocation) {
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             TIFFOpenOptionsFree);
  if (options == nullptr) throw std::bad_alloc();
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), KeepError, &source);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), IgnoreWarning, nullptr);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), static_cast<tmsize_t>(max_allocation));
  // "m": no memory mapping, the bytes are in memory already.
  return TiffHandle(TIFFClientOpenExt("picture", "rm", &source, ReadBytes, WriteNothing, Seek,
                                      CloseNothing, Size, nullptr, nullptr, options.get()));
}

// The tags that say how samples are stored.
struct Layout {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint16_t bits = 1;
  std::uint16_t samples_per_pixel = 1;
  std::uint16_t photometric = 0;
  std::uint16_t planar = PLANARCONFIG_CONTIG;
  bool tiled = false;

  std::size_t bytes_per_sample() const { return bits / 8u; }
  bool separate() const { return planar == PLANARCONFIG_SEPARATE && samples_per_pixel > 1; }
  // The number of samples stored together, and of separate planes.
  std::size_t interleaved() const { return separate() ? 1 : samples_per_pixel; }
  std::size_t planes() const { return separate() ? samples_per_pixel : 1; }
  std::size_t colours() const { return photometric == PHOTOMETRIC_RGB ? 3 : 1; }  // used ones
};

Layout ReadLayout(TIFF* tiff, const EncodedImage& file) {
  Layout layout;
  std::uint16_t format = SAMPLEFORMAT_UINT;
  std::uint16_t compression = COMPRESSION_NONE;
  if (TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &layout.width) != 1 ||
      TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &layout.height) != 1 ||
      TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &layout.photometric) != 1) {
    file.FailToDecode("TIFF", "it lacks its width, height or kind of colour");
  }
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &layout.bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &layout.samples_per_pixel);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &layout.planar);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &format);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
  layout.tiled = TIFFIsTiled(tiff) != 0;

  const std::array known = {PHOTOMETRIC_MINISBLACK, PHOTOMETRIC_MINISWHITE, PHOTOMETRIC_RGB,
                            PHOTOMETRIC_PALETTE};
  if (std::find(known.begin(), known.end(), layout.photometric) == known.end() ||
      layout.samples_per_pixel < layout.colours()) {
    file.Fail(
        fmt::format("is a TIFF picture with {} samples of photometric interpretation {}, but "
                    "grey, palette or RGB was expected",
                    layout.samples_per_pixel, layout.photometric));
  }
  const bool palette = layout.photometric == PHOTOMETRIC_PALETTE;
  if (format != SAMPLEFORMAT_UINT || (layout.bits != 8 && (layout.bits != 16 || palette))) {
    file.Fail(
        fmt::format("is a TIFF picture of {} bits in sample format {}, but 8{} bits of "
                    "unsigned integers (format 1) were expected",
                    layout.bits, format, palette ? "" : " or 16"));
  }
  const std::array decoders = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_DEFLATE,
                               COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS};
  if (std::find(decoders.begin(), decoders.end(), compression) == decoders.end()) {
    file.Fail(
        fmt::format("is a TIFF picture of compression {}, but none, LZW, deflate or PackBits "
                    "was expected",
                    compression));
  }
  if (layout.planar != PLANARCONFIG_CONTIG && layout.planar != PLANARCONFIG_SEPARATE) {
    file.FailToDecode("TIFF", fmt::format("its planar configuration is {}", layout.planar));
  }
  return layout;
}

// A stored rectangle of the picture; strips are tiles as wide as the picture.
struct Block {
  std::size_t x, y, columns, rows;  // the part inside the picture
  std::size_t stored_columns;       // including the padding of tiles
};

// Copies the colour samples of `plane`, dropping others (alpha).
void CopyBlock(const Layout& layout, const Block& block, std::size_t plane,
               const std::vector<std::uint8_t>& bytes, Image& image) {
  const std::size_t colours = layout.colours();
  const std::size_t used = layout.separate() ? 1 : colours;
  const std::size_t step = layout.interleaved();
  for (std::size_t y = 0; y < block.rows; ++y) {
    std::uint16_t* to = image.samples.data() + ((block.y + y) * layout.width + block.x) * colours +
                        (layout.separate() ? plane : 0);
    const std::size_t row = y * block.stored_columns * step;
    for (std::size_t x = 0; x < block.columns; ++x) {
      for (std::size_t c = 0; c < used; ++c) {
        const std::size_t k = row + x * step + c;
        if (layout.bits == 8) {
          to[x * colours + c] = bytes[k];
        } else {
          std::memcpy(&to[x * colours + c], &bytes[2 * k], 2);  // already in native byte order
        }
      }
    }
  }
}

class BlockReader {
 public:
  BlockReader(TIFF* tiff, const TiffSource& source, const EncodedImage& file, const Layout& layout)
      : tiff_(tiff), source_(source), file_(file), layout_(layout) {}

  // Puts the size of tiles or rows into the members; throws FileError for what cannot be.
  void Measure() {
    columns_ = layout_.width;
    rows_ = 1;  // strips are read by rows, since a single one may hold the whole picture
    if (layout_.tiled) {
      TIFFGetField(tiff_, TIFFTAG_TILEWIDTH, &columns_);
      TIFFGetField(tiff_, TIFFTAG_TILELENGTH, &rows_);
    }
    if (columns_ == 0 || rows_ == 0) file_.FailToDecode("TIFF", "its tiles are empty");
    CheckWork(across() * down() * layout_.planes());
    if (!layout_.tiled && TIFFScanlineSize64(tiff_) != block_bytes()) {
      file_.FailToDecode("TIFF", "its rows do not have the length that its tags say");
    }
  }
  std::size_t block_bytes() const {
    return columns_ * std::size_t{rows_} * layout_.interleaved() * layout_.bytes_per_sample();
  }

  void ReadAll(Image& image, ImageStrips& strips) {
    bytes_.resize(block_bytes());
    std::uint32_t index = 0;
    for (std::size_t plane = 0; plane < layout_.planes(); ++plane) {
      for (std::uint64_t by = 0; by < down(); ++by) {
        for (std::uint64_t bx = 0; bx < across(); ++bx, ++index) {
          if (plane >= layout_.colours()) continue;
          ReadOne(index, bx * columns_, by * rows_, plane, image);
          strips.Decoded(bytes_.size());
        }
      }
    }
  }

 private:
  std::uint64_t across() const { return (std::uint64_t{layout_.width} + columns_ - 1) / columns_; }
  std::uint64_t down() const { return (std::uint64_t{layout_.height} + rows_ - 1) / rows_; }
  // Tiles may be far larger than the picture they cover.
  void CheckWork(std::uint64_t blocks) const {
    std::uint64_t total = layout_.interleaved() * layout_.bytes_per_sample();
    for (const std::uint64_t factor : {std::uint64_t{columns_}, std::uint64_t{rows_}, blocks}) {
      if (__builtin_mul_overflow(total, factor, &total)) {
        total = std::numeric_limits<std::uint64_t>::max();
      }
    }
    file_.CheckDecodedBytes(total);
  }
  void ReadOne(std::uint32_t index, std::size_t x, std::size_t y, std::size_t plane, Image& image) {
    const Block block = {x, y, std::min<std::size_t>(columns_, layout_.width - x),
                         std::min<std::size_t>(rows_, layout_.height - y), columns_};
    const auto size = static_cast<tmsize_t>(bytes_.size());
    const bool good = layout_.tiled
                          ? TIFFReadEncodedTile(tiff_, index, bytes_.data(), size) == size
                          : TIFFReadScanline(tiff_, bytes_.data(), static_cast<std::uint32_t>(y),
                                             static_cast<std::uint16_t>(plane)) == 1;
    if (!good) file_.FailToDecode("TIFF", source_.error);
    CopyBlock(layout_, block, plane, bytes_, image);
  }

  TIFF* tiff_;
  const TiffSource& source_;
  const EncodedImage& file_;
  const Layout& layout_;
  std::uint32_t columns_ = 0;
  std::uint32_t rows_ = 0;
  std::vector<std::uint8_t> bytes_;
};

// Colour maps hold 16 bits; writers of 8-bit colours multiply them by 256 or 257, and in both cases
// the upper byte is the colour.
void ExpandPalette(TIFF* tiff, const EncodedImage& file, Image& image) {
  std::uint16_t* map[3] = {};
  if (TIFFGetField(tiff, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]) != 1) {
    file.FailToDecode("TIFF", "it lacks its palette");
  }
  const std::size_t pixels = image.samples.size();
  image.samples.resize(3 * pixels);
  for (std::size_t k = pixels; k-- > 0;) {  // backwards: colours are written behind their index
    const std::uint16_t index = image.samples[k];
    for (std::size_t c = 0; c < 3; ++c) {
      image.samples[3 * k + c] = static_cast<std::uint16_t>(map[c][index] >> 8);
    }
  }
}

}  // namespace

void DecodeTiff(const EncodedImage& file, ImageStrips& strips) {
  TiffSource source{file.bytes};
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
  constexpr std::uint64_t kMost = std::uint64_t{4} << 30;
  const TiffHandle tiff = Open(source, std::clamp(file.max_decoded_bytes(), kLeast, kMost));
  if (tiff == nullptr) file.FailToDecode("TIFF", source.error);
  const Layout layout = ReadLayout(tiff.get(), file);
  file.CheckSize(layout.width, layout.height, std::size_t{layout.samples_per_pixel} * layout.bits);
  Image image;
  image.width = static_cast<int>(layout.width);
  image.height = static_cast<int>(layout.height);
  const bool palette = layout.photometric == PHOTOMETRIC_PALETTE;
  image.channels = palette ? 3 : static_cast<int>(layout.colours());
  image.max_value = layout.bits == 8 ? 255 : 65535;
  const std::size_t pixels = std::size_t{layout.width} * layout.height;
  BlockReader reader(tiff.get(), source, file, layout);
  reader.Measure();
  // libtiff copies compressed strips, of which there may be one.
  strips.Begin(image, {.picture = true, .bytes = file.bytes.size() + reader.block_bytes()});
  if (palette) image.samples.reserve(3 * pixels);
  image.samples.resize(pixels * layout.colours());
  reader.ReadAll(image, strips);
  if (palette) ExpandPalette(tiff.get(), file, image);
  if (layout.photometric == PHOTOMETRIC_MINISWHITE) {
    for (std::uint16_t& sample : image.samples) {
      sample = static_cast<std::uint16_t>(image.max_value - sample);
    }
  }
  strips.PutAll(std::move(image));
}

}  // namespace submarine::internal
