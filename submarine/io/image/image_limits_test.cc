// Small files that claim or hold far more than a picture needs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tiffio.h>

#include <string>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/io/file/io_test_util.h"
#include "submarine/io/image/image.h"
#include "submarine/io/image/png.h"

namespace submarine::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A chunk of PNG: length, kind, data, checksum.
std::string PngChunk(const std::string& kind, const std::string& data) {
  const auto number = [](std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
    return bytes;
  };
  const std::string body = kind + data;
  std::uint32_t crc = 0xffffffffu;
  for (const char c : body) {
    crc ^= static_cast<unsigned char>(c);
    for (int k = 0; k < 8; ++k) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
  }
  return number(static_cast<std::uint32_t>(data.size())) + body + number(~crc);
}

// The zlib stream of `count` zeros, of which deflate makes about a thousandth.
std::string DeflatedZeros(std::size_t count) {
  const TempDir dir;
  WritePng(dir / "a", static_cast<int>(count), 1, 1, std::vector<std::uint8_t>(count, 0));
  const std::string png = dir.Text("a");
  std::string zlib;
  for (std::size_t at = 8; at + 12 <= png.size();) {
    std::size_t length = 0;
    for (std::size_t k = 0; k < 4; ++k)
      length = length << 8 | static_cast<unsigned char>(png[at + k]);
    if (png.substr(at + 4, 4) == "IDAT") zlib += png.substr(at + 8, length);
    at += 12 + length;
  }
  return zlib;
}

// What small files can make of memory and time.
TEST(ReadImage, PictureBombsAreRefusedWithTheNumber) {
  const TempDir dir;
  const std::string magic = "\x89PNG\r\n\x1a\n";
  const auto refusal = [&](const std::string& bytes) {
    return MessageOf<FileError>([&] { ReadImage(dir.WriteText("bomb", bytes)); });
  };
  // 16000 x 16000 RGB of 16 bits would be 1.5 GB.
  const std::string huge("\0\0\x3e\x80\0\0\x3e\x80\x10\x02\0\0\0", 13);
  EXPECT_THAT(refusal(magic + PngChunk("IHDR", huge) + PngChunk("IDAT", std::string(2 << 20, 0))),
              AllOf(HasSubstr("16000 x 16000"), HasSubstr("67108864 pixels")));
  // A thousand times as much data as the pixels take.
  const std::string small("\0\0\0\x04\0\0\0\x04\x08\0\0\0\0", 13);
  const std::string surplus = DeflatedZeros(900'000);
  const std::string png = magic + PngChunk("IHDR", small) + PngChunk("IDAT", surplus);
  EXPECT_THAT(refusal(png + PngChunk("IDAT", std::string(100'000, 0)) + PngChunk("IEND", "")),
              AllOf(HasSubstr("bomb"), HasSubstr("4 x 4"),
                    HasSubstr(fmt::format("{}", surplus.size() + 100'000))));
  // Extra samples of TIFF take memory, too.
  TIFF* tiff = TIFFOpen((dir / "many.tif").c_str(), "w");
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 8000);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 8000);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 16);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 40);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
  TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 8000);
  std::vector<std::uint8_t> row(8000 * 80, 1);
  TIFFWriteScanline(tiff, row.data(), 0, 0);
  TIFFClose(tiff);
  const std::string padded = dir.Text("many.tif") + std::string(4 << 20, 0);
  EXPECT_THAT(refusal(padded), AllOf(HasSubstr("5120000000 bytes"), HasSubstr("1073741824")));
}

TEST(ReadImage, EndlessSourcesAreRefusedByTheirBeginning) {
  EXPECT_THAT(MessageOf<FileError>([&] { ReadImage("/dev/zero"); }),
              AllOf(HasSubstr("/dev/zero"), HasSubstr("begins with")));
}

TEST(ReadImage, AnotherSizeThanExpectedIsRefusedBeforeDecoding) {
  const TempDir dir;
  WritePng(dir / "a.png", 7, 5, 1, std::vector<std::uint8_t>(35, 9));
  EXPECT_EQ(ReadImage(dir / "a.png", {.expected = ImageSize{7, 5}}).samples.size(), 35u);
  dir.WriteText("cut.png", dir.Text("a.png").substr(0, 60));  // nothing of the pixels is looked at
  EXPECT_THAT(MessageOf<FileError>([&] {
                ReadImage(dir / "cut.png", {.expected = ImageSize{5, 7}});
              }),
              AllOf(HasSubstr("cut.png\" has 7 x 5"), HasSubstr("5 x 7 were expected")));
}

}  // namespace
}  // namespace submarine::internal
