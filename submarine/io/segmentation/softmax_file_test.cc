#include "submarine/io/segmentation/softmax_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submarine/base/error.h"
#include "submarine/io/file/io_test_util.h"
#include "submarine/io/file/npy.h"
#include "submarine/segmentation/evaluation.h"

namespace submarine::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ReadSoftmax, IsTheSameFromEitherLayout) {
  const TempDir dir;
  const std::vector<float> last = {0.25F, 0.75F, 0.5F, 0.5F, 1.0F, 0.0F};
  const std::vector<float> first = {0.25F, 0.5F, 1.0F, 0.75F, 0.5F, 0.0F};
  WriteNpy<float>(dir / "last.npy", last, NpyShape{1, 3, 2});
  WriteNpy<float>(dir / "first.npy", first, NpyShape{2, 1, 3});
  const LoadedSoftmax by_pixel = ReadSoftmax(dir / "last.npy", {3, 1});
  const LoadedSoftmax by_label = ReadSoftmax(dir / "first.npy", {3, 1});
  EXPECT_EQ(by_pixel.layout, SoftmaxLayout::kLabelsLast);
  EXPECT_EQ(by_label.layout, SoftmaxLayout::kLabelsFirst);
  EXPECT_EQ(by_pixel.rows, by_label.rows);
  EXPECT_EQ(by_label.rows(0, 1), 0.75F);
}

TEST(ReadSoftmax, NamesTheFileThatIsNone) {
  const TempDir dir;
  const std::vector<float> costs = {2.0F, 0.5F, 0.5F, 0.5F};
  WriteNpy<float>(dir / "costs.npy", costs, NpyShape{1, 2, 2});
  EXPECT_THAT(MessageOf<InvalidInput>([&] {
                ReadSoftmax(dir / "costs.npy", {2, 1});
              }),
              HasSubstr("costs.npy is 2 at pixel (0, 0), label 0"));
  EXPECT_THAT(MessageOf<InvalidInput>([&] {
                ReadSoftmax(dir / "costs.npy", {5, 1});
              }),
              HasSubstr("costs.npy has shape (1, 2, 2), expected (1, 5, labels)"));
}

TEST(LabelsFromImage, KeepsUnknownApart) {
  Image image{3, 1, 1, 255, {0, 255, 2}};
  EXPECT_THAT(LabelsFromImage(image, 3, 255, "t.png"), ElementsAre(0, kUnknownLabel, 2));
  EXPECT_THAT(MessageOf<InvalidInput>([&] { LabelsFromImage(image, 2, 255, "t.png"); }),
              HasSubstr("t.png has the label 2 at pixel (2, 0), expected 0 to 1, or 255"));
  image.samples = {255, 255, 255};
  EXPECT_THAT(MessageOf<InvalidInput>([&] { LabelsFromImage(image, 3, 255, "t.png"); }),
              HasSubstr("no pixel with a known label"));
}

}  // namespace
}  // namespace submarine::internal
