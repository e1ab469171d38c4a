#include "apps/fit/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "apps/fit/content_hash.h"
#include "submarine/base/error.h"
#include "submarine/base/error_test_util.h"
#include "submarine/io/file/io_test_util.h"
#include "submarine/segmentation/evaluation.h"

namespace submarine::apps {
namespace {

using internal::kUnknownLabel;
using internal::TempDir;
using internal::testing::ExpectInvalid;
using ::testing::ElementsAre;

// Left and right halves of different colours; the softmax leans to the truth but is wrong in spots.
LabelledPicture Halves(const std::string& name, int width, int height, int period) {
  LabelledPicture picture;
  picture.name = name;
  picture.width = width;
  picture.height = height;
  picture.contents = ContentHash(std::span<const int>(std::array{width, height, period}));
  const auto pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  picture.softmax = Matrix<float>(pixels, 3, 0.1F);
  for (std::size_t a = 0; a < pixels; ++a) {
    const int x = static_cast<int>(a) % width;
    const int truth = x < width / 2 ? 0 : 1;
    for (int c = 0; c < 3; ++c)
      picture.samples.push_back(static_cast<float>(60 + 120 * truth + (7 * x + c) % 11));
    picture.truth.push_back(truth);
    const int said = static_cast<int>(a) % period == 0 ? 2 : truth;
    picture.softmax(a, static_cast<std::size_t>(said)) = 0.8F;
  }
  return picture;
}

std::vector<LabelledPicture> Pictures() {
  return {Halves("a", 24, 18, 5), Halves("b", 20, 20, 7), Halves("c", 30, 16, 4)};
}

FitSettings Quick() {
  FitSettings settings;
  settings.evaluations = 9;
  settings.folds = 3;
  settings.score = FitScore::kLikelihood;
  return settings;
}

bool GoOn(const std::string&) { return true; }

TEST(Shrunk, AveragesAndVotes) {
  LabelledPicture picture;
  picture.width = 5;  // one column is left over
  picture.height = 2;
  picture.channels = 1;
  picture.samples = {0, 10, 1, 1, 99, 20, 30, 1, 1, 99};
  picture.truth = {0, 1, kUnknownLabel, kUnknownLabel, 0, 1, 0, kUnknownLabel, 1, 0};
  picture.softmax = Matrix<float>(10, 2, 0.5F);
  picture.softmax(0, 0) = 1.0F;
  picture.softmax(0, 1) = 0.0F;
  const LabelledPicture small = Shrunk(picture, 2);
  EXPECT_EQ(small.width, 2);
  EXPECT_EQ(small.height, 1);
  EXPECT_THAT(small.samples, ElementsAre(15.0F, 1.0F));
  EXPECT_THAT(small.truth, ElementsAre(0, 1));
  EXPECT_FLOAT_EQ(small.softmax(0, 0), 0.625F);
  EXPECT_FLOAT_EQ(small.softmax(0, 1), 0.375F);
  picture.truth[8] = kUnknownLabel;
  EXPECT_THAT(Shrunk(picture, 2).truth, ElementsAre(0, kUnknownLabel));
}

TEST(ShrinkFactor, IsTheLeastThatIsEnough) {
  EXPECT_EQ(ShrinkFactor(100, 100, 10000), 1);
  EXPECT_EQ(ShrinkFactor(100, 100, 9999), 2);
  EXPECT_EQ(ShrinkFactor(500, 375, 40000), 3);
  EXPECT_EQ(ShrinkFactor(1000000, 2, 100), 2);  // a row must be left
}

TEST(FitParameters, IsBetterThanTheDefaultsWhereItLooked) {
  const TempDir dir;
  RunStore store(dir.path(), "fit");
  const FitResult result = FitParameters(Pictures(), Quick(), &store, GoOn);
  ASSERT_EQ(result.folds.size(), 3u);
  ASSERT_EQ(result.held_out.size(), 3u);
  EXPECT_GT(result.all.value, result.all.default_value);
  EXPECT_EQ(result.all.best_so_far.size(), 9u);
  EXPECT_EQ(result.all.best_so_far.front(), result.all.default_value);
  EXPECT_EQ(result.all.best_so_far.back(), result.all.value);
  // Each picture is in one fold, and no fold is empty.
  std::vector<int> folds;
  for (const HeldOut& held_out : result.held_out) folds.push_back(held_out.fold);
  EXPECT_THAT(folds, ::testing::UnorderedElementsAre(0, 1, 2));
}

TEST(FitParameters, EndsAtTheSamePlaceWhereverItWasInterrupted) {
  const TempDir whole_dir;
  RunStore whole_store(whole_dir.path(), "fit");
  const FitResult whole = FitParameters(Pictures(), Quick(), &whole_store, GoOn);
  const TempDir dir;
  int interrupts = 0;
  for (int allowed = 3;; allowed += 5) {
    RunStore store(dir.path(), "fit");
    int calls = 0;
    try {
      const FitResult result = FitParameters(
          Pictures(), Quick(), &store, [&](const std::string&) { return ++calls <= allowed; });
      EXPECT_EQ(result.all.parameters, whole.all.parameters);
      EXPECT_EQ(result.all.value, whole.all.value);
      for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_EQ(result.folds[k].parameters, whole.folds[k].parameters);
        EXPECT_EQ(result.held_out[k].fitted.accuracy, whole.held_out[k].fitted.accuracy);
        EXPECT_EQ(result.held_out[k].fitted.negative_log_likelihood,
                  whole.held_out[k].fitted.negative_log_likelihood);
      }
      break;
    } catch (const Interrupted&) {
      ++interrupts;
    }
  }
  EXPECT_GT(interrupts, 3);
}

TEST(FitParameters, RemembersNothingAboutOtherData) {
  const TempDir dir;
  RunStore store(dir.path(), "fit");
  FitSettings settings = Quick();
  settings.evaluations = 1;
  const FitResult first = FitParameters(Pictures(), settings, &store, GoOn);
  settings.score = FitScore::kAccuracy;
  EXPECT_NE(FitParameters(Pictures(), settings, &store, GoOn).all.value, first.all.value);
}

TEST(FitParameters, RefusesWhatCannotBeSplit) {
  std::vector<LabelledPicture> pictures = Pictures();
  FitSettings settings = Quick();
  settings.folds = 4;
  ExpectInvalid([&] { CheckFit(pictures, settings); }, "--folds is 4, expected 2 to 3");
  settings.folds = 1;
  ExpectInvalid([&] { CheckFit(pictures, settings); }, "--folds is 1");
  settings.folds = 2;
  pictures[1].softmax = Matrix<float>(400, 2, 0.5F);
  ExpectInvalid([&] { CheckFit(pictures, settings); },
                "the softmax of b has 2 labels, that of a has 3");
  pictures.resize(1);
  ExpectInvalid([&] { CheckFit(pictures, settings); }, "expected at least 2");
}

}  // namespace
}  // namespace submarine::apps
