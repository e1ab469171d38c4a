#include "submarine/io/segmentation/segmentation_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submarine/base/error.h"
#include "submarine/io/file/io_test_util.h"

namespace submarine::internal {
namespace {

using ::testing::HasSubstr;

TEST(SegmentationParametersFile, ComesBackAsItWasWritten) {
  const TempDir dir;
  SegmentationParameters parameters;
  parameters.position_sigma = 1.0 / 3.0;
  parameters.position_weight = 0.0;
  parameters.bilateral_sigma = 47.25;
  parameters.colour_sigma = 5.1;
  parameters.bilateral_weight = 1e-3;
  parameters.updates = 0;
  parameters.normalisation = KernelNormalisation::kNone;
  parameters.softmax_temperature = 1.7;
  WriteSegmentationParameters(dir / "a.json", parameters, R"({"score": 0.5})");
  EXPECT_EQ(ReadSegmentationParameters(dir / "a.json"), parameters);
  EXPECT_THAT(dir.Text("a.json"), HasSubstr("\"score\": 0.5"));
  WriteSegmentationParameters(dir / "b.json", {});
  EXPECT_EQ(ReadSegmentationParameters(dir / "b.json"), SegmentationParameters{});
}

TEST(SegmentationParametersFile, LeavesDefaultsToWhatIsNotThere) {
  const TempDir dir;
  const auto path = dir.WriteText("a.json", R"({"submarine": "segmentation", "colour_sigma": 5})");
  SegmentationParameters expected;
  expected.colour_sigma = 5.0;
  EXPECT_EQ(ReadSegmentationParameters(path), expected);
}

TEST(SegmentationParametersFile, ReadsWhatOlderFilesCallUpdates) {
  const TempDir dir;
  const auto path = dir.WriteText("a.json", R"({"submarine": "segmentation", "iterations": 7})");
  EXPECT_EQ(ReadSegmentationParameters(path).updates, 7);
}

TEST(SegmentationParametersFile, RefusesWhatItIsNot) {
  const TempDir dir;
  const auto message = [&](std::string_view text) {
    const auto path = dir.WriteText("a.json", text);
    return MessageOf<FileError>([&] { ReadSegmentationParameters(path); });
  };
  EXPECT_THAT(message(R"({"submarine": "dense"})"), HasSubstr("must be \"segmentation\""));
  EXPECT_THAT(message(R"({"colour_sigma": 3})"), HasSubstr("submarine"));
  EXPECT_THAT(message(R"({"submarine": "segmentation", "color_sigma": 3})"),
              HasSubstr("color_sigma"));
  EXPECT_THAT(message(R"({"submarine": "segmentation", "colour_sigma": 0})"),
              HasSubstr("colour_sigma is 0, expected a finite number > 0"));
  EXPECT_THAT(message(R"({"submarine": "segmentation", "colour_sigma": "wide"})"),
              HasSubstr("colour_sigma"));
  EXPECT_THAT(message(R"({"submarine": "segmentation", "updates": 2.5})"), HasSubstr("updates"));
  EXPECT_THAT(message(R"({"submarine": "segmentation", "normalisation": "before"})"),
              HasSubstr("must be \"none\" or \"symmetric\""));
  EXPECT_THAT(message("[]"), HasSubstr("object"));
}

TEST(SegmentationParametersFile, WritesNothingThatCannotBeRead) {
  const TempDir dir;
  SegmentationParameters parameters;
  parameters.bilateral_weight = -1.0;
  MessageOf<InvalidInput>([&] { WriteSegmentationParameters(dir / "a.json", parameters); });
  EXPECT_THAT(MessageOf<InvalidInput>(
                  [&] { WriteSegmentationParameters(dir / "a.json", {}, "{\"score\":"); }),
              HasSubstr("not JSON"));
  EXPECT_EQ(dir.NumFiles(), 0);
}

}  // namespace
}  // namespace submarine::internal
