#include "submarine/io/image/image.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>
#include <tiffio.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

// clang-format off: jpeglib.h needs FILE declared before it
#include <jpeglib.h>
// clang-format on

#include "submarine/base/error.h"
#include "submarine/io/file/io_test_util.h"
#include "submarine/io/image/png.h"

namespace submarine::internal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Samples = std::vector<std::uint16_t>;

// Values of all sizes below 2^bits.
Samples Pattern(std::size_t count, int bits) {
  Samples samples(count);
  for (std::size_t k = 0; k < count; ++k) {
    samples[k] = static_cast<std::uint16_t>((k * 40503 + 17) & ((1u << bits) - 1));
  }
  return samples;
}

std::vector<std::uint8_t> Bytes(const Samples& samples) { return {samples.begin(), samples.end()}; }

void ExpectImage(const Image& image, int width, int height, int channels, int max_value,
                 const Samples& samples) {
  EXPECT_EQ(image.width, width);
  EXPECT_EQ(image.height, height);
  EXPECT_EQ(image.channels, channels);
  EXPECT_EQ(image.max_value, max_value);
  EXPECT_EQ(image.samples, samples);
}

// ---- PNG ----

// Writes through libpng's low level, for what our own writer does not do.
void WriteRawPng(const std::filesystem::path& path, int width, int height, int bits,
                 int colour_type, std::vector<std::uint8_t> rows, bool interlaced = false) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, file);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), bits,
               colour_type, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  const png_color palette[] = {{1, 2, 3}, {40, 50, 60}, {250, 240, 230}, {7, 7, 7}};
  if (colour_type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, bits == 1 ? 2 : 4);
  png_write_info(png, info);
  std::vector<png_bytep> pointers;
  for (int y = 0; y < height; ++y) {
    pointers.push_back(rows.data() + rows.size() / static_cast<std::size_t>(height) *
                                         static_cast<std::size_t>(y));
  }
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  std::fclose(file);
}

TEST(ReadImage, PngOfOurOwnWriters) {
  const TempDir dir;
  for (const int channels : {1, 3}) {
    const Samples samples = Pattern(static_cast<std::size_t>(7 * 5 * channels), 8);
    WritePng(dir / "a", 7, 5, channels, Bytes(samples));
    ExpectImage(ReadImage(dir / "a"), 7, 5, channels, 255, samples);
  }
  const Samples samples = Pattern(35, 16);
  WritePng16(dir / "a", 7, 5, samples);
  ExpectImage(ReadImage(dir / "a"), 7, 5, 1, 65535, samples);
}

TEST(ReadImage, PngColourTypesAreExpanded) {
  const TempDir dir;
  WriteRawPng(dir / "p", 4, 1, 2, PNG_COLOR_TYPE_PALETTE, {0b00011011});
  ExpectImage(ReadImage(dir / "p"), 4, 1, 3, 255, {1, 2, 3, 40, 50, 60, 250, 240, 230, 7, 7, 7});
  WriteRawPng(dir / "g", 4, 1, 2, PNG_COLOR_TYPE_GRAY, {0b00011011});
  ExpectImage(ReadImage(dir / "g"), 4, 1, 1, 255, {0, 85, 170, 255});
  WriteRawPng(dir / "ga", 2, 1, 8, PNG_COLOR_TYPE_GRAY_ALPHA, {9, 0, 8, 255});
  ExpectImage(ReadImage(dir / "ga"), 2, 1, 1, 255, {9, 8});
  WriteRawPng(dir / "rgba", 1, 2, 8, PNG_COLOR_TYPE_RGB_ALPHA, {1, 2, 3, 0, 4, 5, 6, 128});
  ExpectImage(ReadImage(dir / "rgba"), 1, 2, 3, 255, {1, 2, 3, 4, 5, 6});
  WriteRawPng(dir / "rgb16", 1, 1, 16, PNG_COLOR_TYPE_RGB, {1, 2, 3, 4, 5, 6});
  ExpectImage(ReadImage(dir / "rgb16"), 1, 1, 3, 65535, {0x102, 0x304, 0x506});
  const Samples samples = Pattern(11 * 9, 8);
  WriteRawPng(dir / "i", 11, 9, 8, PNG_COLOR_TYPE_GRAY, Bytes(samples), true);
  ExpectImage(ReadImage(dir / "i"), 11, 9, 1, 255, samples);
}

// ---- PGM and PPM ----

TEST(ReadImage, PnmOfEveryKind) {
  const TempDir dir;
  using namespace std::string_literals;
  const auto read = [&](const std::string& text) { return ReadImage(dir.WriteText("a", text)); };
  ExpectImage(read("P2\n# made by hand\n3 2\n255\n0 1 2\n253 254 255"), 3, 2, 1, 255,
              {0, 1, 2, 253, 254, 255});
  ExpectImage(read("P3 1 2 65535 1 2 3 65533 65534 65535\n"), 1, 2, 3, 65535,
              {1, 2, 3, 65533, 65534, 65535});
  ExpectImage(read("P5\n2 1 # wide\n255\n\x07\n"), 2, 1, 1, 255, {7, 10});
  ExpectImage(read("P5\n2 1\n255\n\x07\xff\n"), 2, 1, 1, 255, {7, 255});
  ExpectImage(read("P5 2 1 65535\n\x01\x02\xff\xfe"), 2, 1, 1, 65535, {0x102, 0xfffe});
  ExpectImage(read("P6 1 1 255\n\x00\x80\xff"s), 1, 1, 3, 255, {0, 128, 255});
  ExpectImage(read("P6 1 1 1000\n\x00\x00\x01\xf4\x03\xe8"s), 1, 1, 3, 65535, {0, 32768, 65535});
  ExpectImage(read("P2 3 1 15 0 5 15"), 3, 1, 1, 255, {0, 85, 255});
}

TEST(ReadImage, BadPnmIsRefused) {
  const TempDir dir;
  const struct {
    const char* text;
    const char* reason;
  } cases[] = {
      {"P5\n", "expected the width, but the file ends"},
      {"P5\n2 x", "expected the height, a whole number"},
      {"P5 0 1 255 ", "the width is 0"},
      {"P5 -1 1 255 ", "the width is -1"},
      {"P5 100000 100000 255 abc", "100000 x 100000"},
      {"P5 8000 8000 255 abc", "more than a file"},
      {"P5 2 2 255 abc", "truncated"},
      {"P5 2 2 255 abcde", "too long"},
      {"P5 2 2 255", "truncated"},
      {"P5 2 1 65535 abc", "truncated: 4 bytes"},
      {"P5 2 1 0 ab", "largest sample is 0"},
      {"P5 2 1 65536 ab", "largest sample is 65536"},
      {"P5 2 1 64 \x40\x41", "sample 65 at index 1"},
      {"P2 2 1 255 1    ", "the file ends"},
      {"P2 2 1 255 1 2 3", "where the file should end"},
      {"P2 2 1 255 1 256", "a sample is 256"},
      {"P2 2 1 255 1 -1", "a sample is -1"},
      {"P2 9 9 255 1 2", "truncated"},
  };
  for (const auto& bad : cases) {
    const auto path = dir.WriteText("bad.ppm", bad.text);
    EXPECT_THAT(MessageOf<FileError>([&] { ReadImage(path); }),
                AllOf(HasSubstr("bad.ppm"), HasSubstr(bad.reason)))
        << bad.text;
  }
}

// ---- JPEG ----

struct JpegKind {
  J_COLOR_SPACE colours = JCS_RGB;
  int components = 3;
  bool progressive = false;
};

void WriteJpeg(const std::filesystem::path& path, int width, int height, JpegKind kind,
               std::vector<std::uint8_t> samples) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  jpeg_stdio_dest(&info, file);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = kind.components;
  info.in_color_space = kind.colours;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  if (kind.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  for (int y = 0; y < height; ++y) {
    JSAMPROW row = samples.data() + static_cast<std::ptrdiff_t>(y) * width * kind.components;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::fclose(file);
}

// Smooth, so that little is lost.
std::vector<std::uint8_t> Ramp(int width, int height, int channels) {
  std::vector<std::uint8_t> samples;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        samples.push_back(static_cast<std::uint8_t>(40 + 2 * x + 3 * y + 30 * c));
      }
    }
  }
  return samples;
}

TEST(ReadImage, JpegGreyAndColourBaselineAndProgressive) {
  const TempDir dir;
  for (const bool progressive : {false, true}) {
    for (const int channels : {1, 3}) {
      const auto samples = Ramp(23, 17, channels);
      WriteJpeg(dir / "a", 23, 17, {channels == 1 ? JCS_GRAYSCALE : JCS_RGB, channels, progressive},
                samples);
      const Image image = ReadImage(dir / "a");
      EXPECT_EQ(image.width, 23);
      EXPECT_EQ(image.height, 17);
      EXPECT_EQ(image.channels, channels);
      EXPECT_EQ(image.max_value, 255);
      ASSERT_EQ(image.samples.size(), samples.size());
      for (std::size_t k = 0; k < samples.size(); ++k) {
        ASSERT_NEAR(image.samples[k], samples[k], 4) << k;
      }
    }
  }
}

TEST(ReadImage, JpegOfFourInksIsRefused) {
  const TempDir dir;
  WriteJpeg(dir / "cmyk.jpg", 8, 8, {JCS_CMYK, 4, false}, Ramp(8, 8, 4));
  EXPECT_THAT(MessageOf<FileError>([&] { ReadImage(dir / "cmyk.jpg"); }),
              AllOf(HasSubstr("cmyk.jpg"), HasSubstr("4 components"), HasSubstr("grey or RGB")));
}

// A progressive file whose second scan comes a thousand times.
TEST(ReadImage, JpegOfTooManyScansIsRefused) {
  const TempDir dir;
  WriteJpeg(dir / "a.jpg", 16, 16, {JCS_GRAYSCALE, 1, true}, Ramp(16, 16, 1));
  const std::string whole = dir.Text("a.jpg");
  std::vector<std::size_t> scans;  // where each begins, with the Huffman table that it needs
  for (std::size_t at = whole.find("\xff\xda"); at != std::string::npos;
       at = whole.find("\xff\xda", at + 1)) {
    scans.push_back(whole.rfind("\xff\xc4", at));
  }
  ASSERT_GE(scans.size(), 3u);
  std::string repeated = whole.substr(0, scans[1]);
  for (int k = 0; k < 1000; ++k) repeated += whole.substr(scans[1], scans[2] - scans[1]);
  repeated += whole.substr(scans[2]);
  EXPECT_THAT(MessageOf<FileError>([&] { ReadImage(dir.WriteText("many.jpg", repeated)); }),
              HasSubstr("more than 500 scans"));
}

// ---- TIFF ----

struct TiffKind {
  int channels = 1;
  int bits = 8;
  int compression = COMPRESSION_NONE;
  bool tiled = false;
  bool separate = false;
  int photometric = -1;  // of the number of channels
  const char* mode = "w";
};

// Samples of one channel of a part of a picture, or of all channels interleaved, as bytes.
std::vector<std::uint8_t> Part(const Samples& samples, int width, int height, const TiffKind& kind,
                               int x0, int y0, int columns, int rows, int plane) {
  std::vector<std::uint8_t> bytes;
  for (int y = y0; y < y0 + rows; ++y) {
    for (int x = x0; x < x0 + columns; ++x) {
      for (int c = 0; c < kind.channels; ++c) {
        if (kind.separate && c != plane) continue;
        const bool inside = x < width && y < height;
        const std::uint16_t v =
            inside ? samples[static_cast<std::size_t>((y * width + x) * kind.channels + c)] : 0;
        bytes.push_back(static_cast<std::uint8_t>(v & 0xff));
        if (kind.bits == 16) bytes.push_back(static_cast<std::uint8_t>(v >> 8));
      }
    }
  }
  return bytes;
}

void WriteTiff(const std::filesystem::path& path, int width, int height, const TiffKind& kind,
               const Samples& samples) {
  TIFF* tiff = TIFFOpen(path.c_str(), kind.mode);
  ASSERT_NE(tiff, nullptr);
  const int photometric = kind.photometric >= 0 ? kind.photometric
                          : kind.channels >= 3  ? PHOTOMETRIC_RGB
                                                : PHOTOMETRIC_MINISBLACK;
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, width);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, height);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, kind.bits);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, kind.channels);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, photometric);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, kind.compression);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG,
               kind.separate ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
  if (photometric == PHOTOMETRIC_PALETTE) {
    std::vector<std::uint16_t> map[3];
    for (std::uint16_t c = 0; c < 3; ++c) {
      for (std::uint16_t k = 0; k < 256; ++k) {
        map[c].push_back(static_cast<std::uint16_t>(((k + c) & 255) * 257));
      }
    }
    TIFFSetField(tiff, TIFFTAG_COLORMAP, map[0].data(), map[1].data(), map[2].data());
  }
  const int block_width = kind.tiled ? 16 : width;
  const int block_height = kind.tiled ? 16 : 3;
  if (kind.tiled) {
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, block_width);
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, block_height);
  } else {
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, block_height);
  }
  std::uint32_t index = 0;
  for (int plane = 0; plane < (kind.separate ? kind.channels : 1); ++plane) {
    for (int y = 0; y < height; y += block_height) {
      for (int x = 0; x < width; x += block_width, ++index) {
        const int rows = kind.tiled ? block_height : std::min(block_height, height - y);
        auto bytes = Part(samples, width, height, kind, x, y, block_width, rows, plane);
        const auto size = static_cast<tmsize_t>(bytes.size());
        if (kind.tiled) {
          EXPECT_EQ(TIFFWriteEncodedTile(tiff, index, bytes.data(), size), size);
        } else {
          EXPECT_EQ(TIFFWriteEncodedStrip(tiff, index, bytes.data(), size), size);
        }
      }
    }
  }
  TIFFClose(tiff);
}

TEST(ReadImage, TiffInEveryLayout) {
  const TempDir dir;
  for (const int channels : {1, 3}) {
    for (const int bits : {8, 16}) {
      for (const int compression :
           {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS}) {
        for (const bool tiled : {false, true}) {
          for (const bool separate : {false, true}) {
            for (const char* mode : {"w", "wb", "w8"}) {  // "wb": big-endian, "w8": BigTIFF
              const Samples samples = Pattern(static_cast<std::size_t>(37 * 20 * channels), bits);
              WriteTiff(dir / "a", 37, 20, {channels, bits, compression, tiled, separate, -1, mode},
                        samples);
              ExpectImage(ReadImage(dir / "a"), 37, 20, channels, bits == 8 ? 255 : 65535, samples);
            }
          }
        }
      }
    }
  }
}

TEST(ReadImage, TiffAlphaPaletteAndWhiteIsZero) {
  const TempDir dir;
  for (const bool separate : {false, true}) {
    const Samples rgba = Pattern(5 * 4 * 4, 8);
    Samples rgb;
    for (std::size_t k = 0; k < rgba.size(); ++k) {
      if (k % 4 != 3) rgb.push_back(rgba[k]);
    }
    WriteTiff(dir / "a", 5, 4, {.channels = 4, .separate = separate}, rgba);
    ExpectImage(ReadImage(dir / "a"), 5, 4, 3, 255, rgb);
  }
  WriteTiff(dir / "p", 3, 1, {.photometric = PHOTOMETRIC_PALETTE}, {0, 7, 255});
  ExpectImage(ReadImage(dir / "p"), 3, 1, 3, 255, {0, 1, 2, 7, 8, 9, 255, 0, 1});
  WriteTiff(dir / "w", 3, 1, {.bits = 16, .photometric = PHOTOMETRIC_MINISWHITE}, {0, 7, 65535});
  ExpectImage(ReadImage(dir / "w"), 3, 1, 1, 65535, {65535, 65528, 0});
}

TEST(ReadImage, TiffOfOtherKindsIsRefused) {
  const TempDir dir;
  const auto message = [&] { return MessageOf<FileError>([&] { ReadImage(dir / "a.tif"); }); };
  WriteTiff(dir / "a.tif", 4, 4, {.channels = 3, .photometric = PHOTOMETRIC_CIELAB},
            Pattern(48, 8));
  EXPECT_THAT(message(), AllOf(HasSubstr("a.tif"), HasSubstr("photometric interpretation 8")));
  WriteTiff(dir / "a.tif", 4, 4, {.channels = 4, .photometric = PHOTOMETRIC_SEPARATED},
            Pattern(64, 8));
  EXPECT_THAT(message(), HasSubstr("grey, palette or RGB was expected"));
  WriteTiff(dir / "a.tif", 16, 16, {.compression = COMPRESSION_JPEG, .tiled = true},
            Pattern(256, 8));
  EXPECT_THAT(message(), HasSubstr("compression 7"));
}

// ---- All kinds ----

// A picture of every kind, as bytes.
std::vector<std::string> Encoded(const TempDir& dir) {
  const Samples samples = Pattern(24 * 18 * 3, 8);
  std::vector<std::string> files;
  const auto keep = [&] { files.push_back(dir.Text("whole")); };
  WritePng(dir / "whole", 24, 18, 3, Bytes(samples));
  keep();
  for (const bool progressive : {false, true}) {
    WriteJpeg(dir / "whole", 24, 18, {JCS_RGB, 3, progressive}, Ramp(24, 18, 3));
    keep();
  }
  for (const bool tiled : {false, true}) {
    WriteTiff(dir / "whole", 24, 18,
              {.channels = 3,
               .compression = tiled ? COMPRESSION_ADOBE_DEFLATE : COMPRESSION_LZW,
               .tiled = tiled},
              samples);
    keep();
  }
  files.push_back("P6\n24 18\n255\n" +
                  std::string(samples.begin(), samples.end()));  // narrowed to bytes
  files.push_back("P2 3 2 255 1 22 3 0 5 255");
  return files;
}

TEST(ReadImage, WhatIsNoPictureIsRefusedInOneSentence) {
  const TempDir dir;
  const auto message = [&](std::string_view text) {
    return MessageOf<FileError>([&] { ReadImage(dir.WriteText("a.png", text)); });
  };
  EXPECT_THAT(message(""), AllOf(HasSubstr("a.png\" is empty"), HasSubstr("was expected")));
  EXPECT_THAT(message("just some text"),
              AllOf(HasSubstr("a.png\" begins with \"just som\""), HasSubstr("PNG, JPEG, TIFF")));
  EXPECT_THAT(message("P4 8 1 x"), HasSubstr("was expected"));
  EXPECT_THAT(message("P5"), HasSubstr("was expected"));
  EXPECT_THAT(message("\x89PNG\r\n\x1a\n"), HasSubstr("truncated PNG"));
  EXPECT_THAT(message("\xff\xd8\xff"), HasSubstr("truncated JPEG"));
  EXPECT_THAT(message(std::string("II*\0", 4)), HasSubstr("truncated TIFF"));
  EXPECT_THAT(MessageOf<FileError>([&] { ReadImage(dir / "none.png"); }),
              HasSubstr("No such file"));
  EXPECT_THAT(MessageOf<FileError>([&] { ReadImage(dir.path()); }), HasSubstr("directory"));
}

// The size stands at a fixed place in PNG and behind a marker in JPEG.
TEST(ReadImage, AbsurdSizesAreRefusedBeforeAnythingIsAllocated) {
  const TempDir dir;
  WriteJpeg(dir / "a.jpg", 16, 16, {}, Ramp(16, 16, 3));
  std::string jpeg = dir.Text("a.jpg");
  const std::size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\xf0\x00\xf0\x00", 4);
  EXPECT_THAT(MessageOf<FileError>([&] { ReadImage(dir.WriteText("big.jpg", jpeg)); }),
              HasSubstr("61440 x 61440"));
  jpeg.replace(frame + 5, 4, "\x20\x00\x20\x00", 4);
  EXPECT_THAT(MessageOf<FileError>([&] { ReadImage(dir.WriteText("big.jpg", jpeg)); }),
              HasSubstr("more than a file of"));

  // A header of PNG with a checksum that is right: only the size gives it away.
  std::string png("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x80\0\0\0\x80\0\x10\x02\0\0\0", 29);
  const std::string_view chunk = std::string_view(png).substr(12);
  std::uint32_t crc = 0xffffffffu;
  for (const char c : chunk) {
    crc ^= static_cast<unsigned char>(c);
    for (int k = 0; k < 8; ++k) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
  }
  for (int k = 3; k >= 0; --k) png += static_cast<char>((~crc >> (8 * k)) & 0xff);
  png += std::string("\0\0\0\0IDAT\x35\xaf\x06\x1e", 12);
  EXPECT_THAT(MessageOf<FileError>([&] { ReadImage(dir.WriteText("big.png", png)); }),
              HasSubstr("32768 x 32768"));
}

// A picture of little content in few bytes is not taken for one that claims too much.
TEST(ReadImage, BlankPngOfEveryDepthIsRead) {
  const TempDir dir;
  constexpr int kSide = 1000;
  const struct {
    int bits;
    int colour_type;
    std::size_t bits_per_pixel;
  } kinds[] = {{1, PNG_COLOR_TYPE_GRAY, 1},    {2, PNG_COLOR_TYPE_GRAY, 2},
               {4, PNG_COLOR_TYPE_GRAY, 4},    {8, PNG_COLOR_TYPE_GRAY, 8},
               {16, PNG_COLOR_TYPE_GRAY, 16},  {1, PNG_COLOR_TYPE_PALETTE, 1},
               {2, PNG_COLOR_TYPE_PALETTE, 2}, {4, PNG_COLOR_TYPE_PALETTE, 4},
               {8, PNG_COLOR_TYPE_PALETTE, 8}, {8, PNG_COLOR_TYPE_GRAY_ALPHA, 16},
               {8, PNG_COLOR_TYPE_RGB, 24},    {16, PNG_COLOR_TYPE_RGB_ALPHA, 64}};
  for (const auto& kind : kinds) {
    for (const bool interlaced : {false, true}) {
      const std::size_t row_bytes = (kSide * kind.bits_per_pixel + 7) / 8;
      WriteRawPng(dir / "a", kSide, kSide, kind.bits, kind.colour_type,
                  std::vector<std::uint8_t>(row_bytes * kSide, 0), interlaced);
      const Image image = ReadImage(dir / "a");
      const bool palette = kind.colour_type == PNG_COLOR_TYPE_PALETTE;
      ASSERT_EQ(image.samples.size(), std::size_t{kSide} * kSide * image.channels);
      for (std::size_t k = 0; k < image.samples.size(); ++k) {
        ASSERT_EQ(image.samples[k], palette ? k % 3 + 1 : 0u) << kind.bits << " bits, sample " << k;
      }
    }
  }
}

TEST(ReadImage, EveryTruncationIsRefusedSilently) {
  const TempDir dir;
  ::testing::internal::CaptureStderr();
  for (const std::string& whole : Encoded(dir)) {
    const std::size_t step = std::max<std::size_t>(1, whole.size() / 150);
    // Text may lose its last digits unnoticed, and JPEG its end marker.
    for (std::size_t size = 0; size + 3 < whole.size(); size += step) {
      const auto path = dir.WriteText("cut", std::string_view(whole).substr(0, size));
      EXPECT_THAT(MessageOf<FileError>([&] { ReadImage(path); }), HasSubstr("cut"))
          << whole.substr(0, 4) << " " << size;
    }
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(ReadImage, DamagedFilesNeverDoMoreThanThrow) {
  const TempDir dir;
  std::mt19937_64 random(5);
  int accepted = 0, refused = 0;
  ::testing::internal::CaptureStderr();
  for (const std::string& whole : Encoded(dir)) {
    for (int round = 0; round < 300; ++round) {
      std::string bytes = whole;
      // Headers matter most: every other round damages the first bytes only.
      const std::size_t range =
          round % 2 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 200);
      for (std::uint64_t k = 0; k <= random() % 4; ++k) {
        bytes[random() % range] = static_cast<char>(random() % 3 == 0 ? 255 : random() % 256);
      }
      try {
        const Image image = ReadImage(dir.WriteText("damaged", bytes));
        EXPECT_EQ(image.samples.size(), static_cast<std::size_t>(image.width) *
                                            static_cast<std::size_t>(image.height) *
                                            static_cast<std::size_t>(image.channels));
        EXPECT_LE(*std::max_element(image.samples.begin(), image.samples.end()), image.max_value);
        ++accepted;
      } catch (const FileError& error) {
        EXPECT_THAT(error.what(), HasSubstr("damaged"));
        ++refused;
      }
    }
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_GT(accepted, 50);
  EXPECT_GT(refused, 500);
}

// Large enough for control to be passed on while it is decoded.
std::vector<std::filesystem::path> LargePictures(const TempDir& dir) {
  constexpr int kWidth = 700, kHeight = 500;
  const Samples samples = Pattern(std::size_t{3} * kWidth * kHeight, 8);
  const auto bytes = Bytes(samples);
  WritePng(dir / "plain.png", kWidth, kHeight, 3, bytes);
  WriteRawPng(dir / "interlaced.png", kWidth, kHeight, 8, PNG_COLOR_TYPE_RGB, bytes, true);
  WriteJpeg(dir / "plain.jpg", kWidth, kHeight, {}, bytes);
  WriteJpeg(dir / "progressive.jpg", kWidth, kHeight, {.progressive = true}, bytes);
  WriteTiff(dir / "strips.tif", kWidth, kHeight, {.channels = 3}, samples);
  WriteTiff(dir / "tiles.tif", kWidth, kHeight, {.channels = 3, .tiled = true}, samples);
  const std::string header = fmt::format("{} {}\n255\n", kWidth, kHeight);
  dir.WriteText("binary.ppm", "P6 " + header + std::string(bytes.begin(), bytes.end()));
  dir.WriteText("text.ppm", fmt::format("P3 {}{}\n", header, fmt::join(bytes, " ")));
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
    paths.push_back(entry.path());
  return paths;
}

TEST(ReadImage, StripsAreThePicture) {
  const TempDir dir;
  std::vector<std::filesystem::path> paths = LargePictures(dir);
  for (const std::string& bytes : Encoded(dir))
    paths.push_back(dir.WriteText(fmt::format("small{}", paths.size()), bytes));
  for (const auto& path : paths) {
    const Image whole = ReadImage(path);
    for (const int rows : {1, 7, 1000}) {
      Samples samples;
      int height = 0;
      const ImageHeader header = ReadImageStrips(path, rows, {}, [&](const Image& strip) {
        EXPECT_EQ(height % rows, 0);
        EXPECT_LE(strip.height, rows);
        EXPECT_EQ(strip.width, whole.width);
        EXPECT_EQ(strip.channels, whole.channels);
        EXPECT_EQ(strip.max_value, whole.max_value);
        height += strip.height;
        samples.insert(samples.end(), strip.samples.begin(), strip.samples.end());
      });
      EXPECT_EQ(header.size.width, whole.width);
      EXPECT_EQ(header.size.height, height);
      EXPECT_EQ(header.channels, whole.channels);
      EXPECT_EQ(samples, whole.samples) << path << " " << rows;
    }
  }
}

TEST(ReadImage, WhatReadersThrowEndsTheReading) {
  const TempDir dir;
  struct Enough {};
  for (const auto& path : LargePictures(dir)) {
    const auto refuse = [](const ImageHeader& header) {
      EXPECT_EQ(header.size.width, 700);
      EXPECT_EQ(header.size.height, 500);
      throw Enough();
    };
    int calls = 0;
    const auto stop = [&] {
      if (++calls == 2) throw Enough();
    };
    EXPECT_THROW(ReadImage(path, {.before = refuse}), Enough) << path;
    EXPECT_THROW(ReadImage(path, {.meanwhile = stop}), Enough) << path;
    EXPECT_THROW(
        ReadImageStrips(path, 3, {.meanwhile = [] { throw Enough(); }}, [](const Image&) {}),
        Enough)
        << path;
  }
}

TEST(ReadImage, StripsTakeLessThanThePictureWhereTheFormatAllows) {
  const TempDir dir;
  constexpr std::uint64_t kSamples = sizeof(std::uint16_t) * 3 * 700 * 500;
  const auto held = [](const std::filesystem::path& path, int rows) {
    return ReadImageStrips(path, rows, {}, [](const Image&) {}).decoding_bytes -
           std::filesystem::file_size(path);
  };
  for (const auto& path : LargePictures(dir)) {
    EXPECT_GE(held(path, 500), kSamples) << path;
    const std::string name = path.filename().string();
    const bool whole =
        name == "interlaced.png" || name == "progressive.jpg" || path.extension() == ".tif";
    EXPECT_EQ(held(path, 10) >= kSamples, whole) << path;
    EXPECT_GE(held(path, 10), kSamples / 50) << path;
  }
}

TEST(ColourValues, AreOnTheScaleOf8Bits) {
  EXPECT_THAT(ColourValues({2, 1, 1, 255, {0, 200}}), ElementsAre(0.0F, 200.0F));
  EXPECT_THAT(ColourValues({3, 1, 1, 65535, {0, 257, 65535}}), ElementsAre(0.0F, 1.0F, 255.0F));
}

}  // namespace
}  // namespace submarine::internal
