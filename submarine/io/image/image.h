// Reads pictures: PNG, JPEG, TIFF, BMP, and PGM and PPM, recognised by their first bytes, not by
// the file name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

namespace submarine {

struct Image {
  int width = 0;
  int height = 0;
  int channels = 1;                    // 1 (grey) or 3 (RGB)
  int max_value = 255;                 // the value of white: 255 or 65535
  std::vector<std::uint16_t> samples;  // row-major, channels innermost
};

struct ImageSize {
  int width = 0;
  int height = 0;
};

// 8192 x 8192. Processing takes a hundred bytes per pixel and more, and a small file can claim any
// size.
inline constexpr std::int64_t kMaxImagePixels = std::int64_t{1} << 26;

// What the header of a picture says.
struct ImageHeader {
  ImageSize size;
  int channels = 1;  // of the Image that it becomes
  // Held at once while it is decoded: the file, what its decoder needs and what it has decoded.
  std::uint64_t decoding_bytes = 0;
};

// What a reader of pictures may ask for. What the functions throw ends the reading.
struct ImageReading {
  std::optional<ImageSize> expected = {};               // any other size is refused
  std::function<void(const ImageHeader&)> before = {};  // is called before any pixel is decoded,
  std::function<void()> meanwhile = {};                 // and again and again while they are
};

// Transparency is dropped, palettes become RGB, other depths up to 8 bits (up to 16) are stretched
// to 0..255 (0..65535). Of a TIFF with several pages the first is read. Throws FileError for a
// missing file, an unknown format, truncated or damaged data, colours other than grey, palette and
// RGB, more pixels than kMaxImagePixels or than a file of this length can hold, or a size other
// than the expected one. Sizes are refused before any pixel is decoded.
Image ReadImage(const std::filesystem::path& path, const ImageReading& reading = {});

// The same picture in strips of `rows` rows from the top, the last of which may have fewer, so that
// pictures that will be shrunk need not fit into memory. Interlaced PNG and TIFF are decoded as a
// whole, progressive JPEG is held as coefficients.
ImageHeader ReadImageStrips(const std::filesystem::path& path, int rows,
                            const ImageReading& reading,
                            const std::function<void(const Image& strip)>& take);

// The number stored for every pixel of a label map: the palette index of a PNG or BMP that has a
// palette, or the grey sample as stored, so that the result has one channel. Reads PNG, BMP and
// PGM. Throws FileError like ReadImage, and for pictures with colours.
Image ReadLabelImage(const std::filesystem::path& path, const ImageReading& reading = {});

// The samples scaled to 0 to 255 from any depth, for features of kernels.
std::vector<float> ColourValues(const Image& image);

}  // namespace submarine
