#include "submarine/io/image/png.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <cstring>
#include <string>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/io/file/io_test_util.h"
#include "submarine/io/image/image.h"

namespace submarine::internal {
namespace {

using ::testing::HasSubstr;

// Decodes with libpng's simplified API, none of which the writer uses.
std::vector<std::uint8_t> Decode(const std::filesystem::path& path, int format, int& width,
                                 int& height) {
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(png_image_begin_read_from_file(&image, path.c_str()));
  EXPECT_EQ(image.format, static_cast<png_uint_32>(format));
  std::vector<std::uint8_t> samples(PNG_IMAGE_SIZE(image));
  EXPECT_TRUE(png_image_finish_read(&image, nullptr, samples.data(), 0, nullptr));
  width = static_cast<int>(image.width);
  height = static_cast<int>(image.height);
  return samples;
}

TEST(Png, RoundTripsGreyAndColour) {
  const TempDir dir;
  for (const int channels : {1, 3}) {
    std::vector<std::uint8_t> samples(static_cast<std::size_t>(7 * 5 * channels));
    for (std::size_t k = 0; k < samples.size(); ++k) samples[k] = static_cast<std::uint8_t>(k * 37);
    WritePng(dir / "a.png", 7, 5, channels, samples);
    int width = 0, height = 0;
    EXPECT_EQ(
        Decode(dir / "a.png", channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB, width, height),
        samples);
    EXPECT_EQ(width, 7);
    EXPECT_EQ(height, 5);
  }
}

TEST(Png, SixteenBitsComeBackExactly) {
  const TempDir dir;
  const std::vector<std::uint16_t> samples = {0, 1, 255, 256, 0x1234, 65535};
  WritePng16(dir / "a.png", 3, 2, samples);
  const std::string file = dir.Text("a.png");
  ASSERT_GT(file.size(), 26u);
  EXPECT_EQ(file[24], 16);  // bit depth and colour type of the header
  EXPECT_EQ(file[25], PNG_COLOR_TYPE_GRAY);
  const Image image = ReadImage(dir / "a.png");
  EXPECT_EQ(image.width, 3);
  EXPECT_EQ(image.height, 2);
  EXPECT_EQ(image.samples, samples);
  EXPECT_THAT(MessageOf<InvalidInput>([&] { WritePng16(dir / "b.png", 4, 2, samples); }),
              HasSubstr("needs 8 samples, not 6"));
  EXPECT_THROW(WritePng16(dir / "b.png", 0, 2, {}), InvalidInput);
}

TEST(Png, RefusesSizesThatDisagree) {
  const TempDir dir;
  const std::vector<std::uint8_t> samples(12);
  EXPECT_THAT(MessageOf<InvalidInput>([&] { WritePng(dir / "a.png", 3, 5, 1, samples); }),
              HasSubstr("15 samples"));
  EXPECT_THROW(WritePng(dir / "a.png", 3, 2, 2, samples), InvalidInput);
  EXPECT_THROW(WritePng(dir / "a.png", 0, 2, 1, {}), InvalidInput);
  EXPECT_THROW(WritePng(dir / "a.png", -3, -4, 1, samples), InvalidInput);
  EXPECT_THROW(WritePng(dir / "a.png", 2'000'000, 2'000'000, 3, samples), InvalidInput);
  EXPECT_EQ(dir.NumFiles(), 0);
}

TEST(Png, UnwritableDestinationsAreNamed) {
  const TempDir dir;
  const std::vector<std::uint8_t> samples(12);
  EXPECT_THAT(MessageOf<FileError>([&] { WritePng(dir / "no/a.png", 4, 3, 1, samples); }),
              HasSubstr("no/a.png"));
  EXPECT_THAT(MessageOf<FileError>([&] { WritePng("/dev/full", 4, 3, 1, samples); }),
              HasSubstr("No space left"));
}

}  // namespace
}  // namespace submarine::internal
