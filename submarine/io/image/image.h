// Pictures as input: PNG, JPEG, TIFF, BMP, and PGM and PPM, recognised by their first bytes whatever the
// file is called.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace submarine {

struct Image {
  int width = 0;
  int height = 0;
  int channels = 1;                    // 1 (grey) or 3 (RGB)
  int max_value = 255;                 // what white is: 255 or 65535
  std::vector<std::uint16_t> samples;  // row-major, channels innermost
};

struct ImageSize {
  int width = 0;
  int height = 0;
};

// 8192 x 8192. What is made of a pixel takes a hundred bytes and more, and a small file can claim any
// size.
inline constexpr std::int64_t kMaxImagePixels = std::int64_t{1} << 26;

// Transparency is dropped, palettes become RGB, other depths up to 8 bits (up to 16) are stretched
// to 0..255 (0..65535). Of a TIFF with several pages the first is read. Throws FileError: no such
// file, no such format, truncated or damaged, a kind of colour other than grey, palette and RGB,
// more pixels than kMaxImagePixels or than so short a file can hold, or another size than `expected`.
// Sizes are refused before any pixel is decoded.
Image ReadImage(const std::filesystem::path& path, std::optional<ImageSize> expected = {});

// The number that every pixel of a map of labels has: the index into the palette of a PNG or BMP that has one,
// or the grey sample as it is stored, so that the result has one channel. PNG, BMP and PGM. Throws FileError like
// ReadImage, and for pictures with colours.
Image ReadLabelImage(const std::filesystem::path& path, std::optional<ImageSize> expected = {});

// The samples on the scale from 0 to 255 whatever their depth, for features of kernels.
std::vector<float> ColourValues(const Image& image);

}  // namespace submarine
