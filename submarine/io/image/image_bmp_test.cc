// Windows bitmaps, and pictures whose pixels are labels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/io/file/io_test_util.h"
#include "submarine/io/image/image.h"
#include "submarine/io/image/png.h"

namespace submarine::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using Samples = std::vector<std::uint16_t>;

std::string Little(std::uint32_t value, int bytes) {
  std::string text;
  for (int k = 0; k < bytes; ++k, value >>= 8) text += static_cast<char>(value & 0xff);
  return text;
}

struct BmpOptions {
  int width = 3;
  int height = 2;  // negative: top-down
  int bits = 24;
  std::uint32_t compression = 0;
  std::uint32_t colours = 0;
  std::string masks = {};
  std::string palette = {};
};

// `rows` are those of the file, in its order and with its padding.
std::string Bmp(const BmpOptions& options, const std::string& rows) {
  const std::string info = Little(40, 4) + Little(static_cast<std::uint32_t>(options.width), 4) +
                           Little(static_cast<std::uint32_t>(options.height), 4) + Little(1, 2) +
                           Little(static_cast<std::uint32_t>(options.bits), 2) +
                           Little(options.compression, 4) + Little(0, 12) +
                           Little(options.colours, 4) + Little(0, 4);
  const std::string between = options.masks + options.palette;
  const auto offset = static_cast<std::uint32_t>(14 + info.size() + between.size());
  return "BM" + Little(offset + static_cast<std::uint32_t>(rows.size()), 4) + Little(0, 4) +
         Little(offset, 4) + info + between + rows;
}

// Blue, green, red; rows are padded to four bytes.
const std::string kBottom("\x01\x02\x03\x04\x05\x06\x07\x08\x09\0\0\0", 12);
const std::string kTop("\x11\x12\x13\x14\x15\x16\x17\x18\x19\0\0\0", 12);
const Samples kTopFirst = {0x13, 0x12, 0x11, 0x16, 0x15, 0x14, 0x19, 0x18, 0x17,
                           3,    2,    1,    6,    5,    4,    9,    8,    7};

TEST(ReadBmp, RowsInEitherOrder) {
  const TempDir dir;
  const Image up = ReadImage(dir.WriteText("a", Bmp({}, kBottom + kTop)));
  EXPECT_EQ(up.width, 3);
  EXPECT_EQ(up.height, 2);
  EXPECT_EQ(up.channels, 3);
  EXPECT_EQ(up.max_value, 255);
  EXPECT_THAT(up.samples, ElementsAreArray(kTopFirst));
  const Image down = ReadImage(dir.WriteText("a", Bmp({.height = -2}, kTop + kBottom)));
  EXPECT_THAT(down.samples, ElementsAreArray(kTopFirst));
}

TEST(ReadBmp, ThirtyTwoBitsWithAndWithoutMasks) {
  const TempDir dir;
  const std::string row("\x01\x02\x03\x00\x04\x05\x06\xff", 8);
  EXPECT_THAT(
      ReadImage(dir.WriteText("a", Bmp({.width = 2, .height = 1, .bits = 32}, row))).samples,
      ElementsAre(3, 2, 1, 6, 5, 4));
  const BmpOptions masked{.width = 2,
                          .height = 1,
                          .bits = 32,
                          .compression = 3,
                          .masks = Little(0xff0000, 4) + Little(0xff00, 4) + Little(0xff, 4)};
  EXPECT_THAT(ReadImage(dir.WriteText("a", Bmp(masked, row))).samples,
              ElementsAre(3, 2, 1, 6, 5, 4));
  BmpOptions odd = masked;
  odd.masks = Little(0xff, 4) + Little(0xff00, 4) + Little(0xff0000, 4);
  EXPECT_THAT(MessageOf<FileError>([&] { ReadImage(dir.WriteText("a", Bmp(odd, row))); }),
              HasSubstr("unusual colour masks"));
}

TEST(ReadBmp, PaletteOfColoursAndOfLabels) {
  const TempDir dir;
  const BmpOptions options{.height = 1,
                           .bits = 8,
                           .colours = 2,
                           .palette = std::string("\x01\x02\x03\0\x0a\x14\x1e\0", 8)};
  const auto file = dir.WriteText("a", Bmp(options, std::string("\1\0\1\0", 4)));
  EXPECT_THAT(ReadImage(file).samples, ElementsAre(30, 20, 10, 3, 2, 1, 30, 20, 10));
  EXPECT_THAT(ReadLabelImage(file).samples, ElementsAre(1, 0, 1));
  const auto beyond = dir.WriteText("b", Bmp(options, std::string("\1\0\2\0", 4)));
  EXPECT_THAT(MessageOf<FileError>([&] { ReadImage(beyond); }),
              HasSubstr("pixel x = 2, y = 0 has colour 2 of a palette of 2"));
}

TEST(ReadBmp, WhatItCannotReadIsNamed) {
  const TempDir dir;
  const auto message = [&](const std::string& bytes) {
    return MessageOf<FileError>([&] { ReadImage(dir.WriteText("a", bytes)); });
  };
  EXPECT_THAT(message("BM"), HasSubstr("truncated BMP"));
  EXPECT_THAT(message(Bmp({.bits = 16}, kBottom + kTop)), HasSubstr("16 bits per pixel"));
  EXPECT_THAT(message(Bmp({.bits = 8, .compression = 1}, "")), HasSubstr("compression 1"));
  EXPECT_THAT(message(Bmp({}, kBottom)), HasSubstr("the last row ends at byte 78"));
  EXPECT_THAT(message(Bmp({.width = -3}, kBottom + kTop)), HasSubstr("-3 x 2"));
  EXPECT_THAT(message(Bmp({.width = 60000, .height = 60000}, kBottom)), HasSubstr("60000 x 60000"));
  EXPECT_THAT(message(Bmp({.height = std::numeric_limits<int>::min()}, kBottom)),
              HasSubstr("3 x 2147483648"));
}

// Whatever a byte says, it is read or refused; run with --sanitize, no byte outside the file is touched.
TEST(ReadBmp, DamagedFilesAreReadOrRefused) {
  const TempDir dir;
  const std::vector<std::string> whole = {
      Bmp({}, kBottom + kTop),
      Bmp({.height = -1, .bits = 8, .colours = 3, .palette = std::string(12, '\x40')},
          std::string("\1\0\2\0", 4)),
      Bmp({.width = 1,
           .height = 1,
           .bits = 32,
           .compression = 3,
           .masks = Little(0xff0000, 4) + Little(0xff00, 4) + Little(0xff, 4)},
          "abcd")};
  std::mt19937 random(7);
  for (const std::string& bmp : whole) {
    for (std::size_t length = 2; length < bmp.size(); ++length)
      EXPECT_THROW(ReadImage(dir.WriteText("a", bmp.substr(0, length))), FileError) << length;
    for (int round = 0; round < 300; ++round) {
      std::string damaged = bmp;
      for (int k = 0; k < 3; ++k)
        damaged[2 + random() % (damaged.size() - 2)] = static_cast<char>(random());
      const auto file = dir.WriteText("a", damaged);
      try {
        const Image image = ReadImage(file);
        EXPECT_EQ(image.samples.size(), std::size_t{3} * static_cast<std::size_t>(image.width) *
                                            static_cast<std::size_t>(image.height));
      } catch (const FileError&) {
      }
    }
  }
}

TEST(ReadLabelImage, IndicesAndGreyAsStored) {
  const TempDir dir;
  const std::vector<std::array<std::uint8_t, 3>> palette = {{0, 0, 0}, {128, 0, 0}, {0, 128, 0}};
  WriteIndexedPng(dir / "a.png", 3, 1, std::vector<std::uint8_t>{2, 0, 1}, palette);
  EXPECT_THAT(ReadLabelImage(dir / "a.png").samples, ElementsAre(2, 0, 1));
  EXPECT_THAT(ReadImage(dir / "a.png").samples, ElementsAre(0, 128, 0, 0, 0, 0, 128, 0, 0));
  WritePng(dir / "b.png", 3, 1, 1, std::vector<std::uint8_t>{7, 255, 1});
  EXPECT_THAT(ReadLabelImage(dir / "b.png").samples, ElementsAre(7, 255, 1));
  // Grey of few values is not stretched, and colours may be grey.
  EXPECT_THAT(ReadLabelImage(dir.WriteText("c", "P2 3 1 20 0 7 20")).samples,
              ElementsAre(0, 7, 20));
  WritePng(dir / "d.png", 2, 1, 3, std::vector<std::uint8_t>{4, 4, 4, 9, 9, 9});
  const Image grey = ReadLabelImage(dir / "d.png");
  EXPECT_EQ(grey.channels, 1);
  EXPECT_THAT(grey.samples, ElementsAre(4, 9));
}

TEST(ReadLabelImage, ColoursAreRefused) {
  const TempDir dir;
  WritePng(dir / "a.png", 2, 1, 3, std::vector<std::uint8_t>{4, 4, 4, 9, 9, 8});
  EXPECT_THAT(MessageOf<FileError>([&] { ReadLabelImage(dir / "a.png"); }),
              HasSubstr("the colour (9, 9, 8) at pixel x = 1, y = 0"));
}

TEST(IndexedPng, RefusesWhatIsNotInThePalette) {
  const TempDir dir;
  const std::vector<std::array<std::uint8_t, 3>> palette(2);
  EXPECT_THROW(WriteIndexedPng(dir / "a", 1, 1, std::vector<std::uint8_t>{2}, palette),
               InvalidInput);
  EXPECT_THROW(WriteIndexedPng(dir / "a", 1, 1, std::vector<std::uint8_t>{0}, {}), InvalidInput);
}

}  // namespace
}  // namespace submarine::internal
