#include "submarine/fit/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/error_test_util.h"

namespace submarine::internal {
namespace {

using ::testing::ElementsAre;
using testing::ExpectInvalid;

// Left and right halves of different colours; the softmax leans to the truth but is wrong in spots.
LabelledPicture Halves(const std::string& name, int width, int height, int period) {
  LabelledPicture picture;
  picture.name = name;
  picture.width = width;
  picture.height = height;
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

FitOptions Quick() {
  FitOptions settings;
  settings.evaluations = 9;
  settings.folds = 3;
  settings.score = FitScore::kLikelihood;
  return settings;
}

class Memory : public FitMemory {
 public:
  std::optional<PictureScores> Find(std::size_t picture, const std::string& key) override {
    const auto found = kept_.find({picture, key});
    return found == kept_.end() ? std::nullopt : std::optional(found->second);
  }
  void Keep(std::size_t picture, const std::string& key, const PictureScores& scores) override {
    EXPECT_TRUE(kept_.emplace(std::pair(picture, key), scores).second) << "computed twice";
  }

 private:
  std::map<std::pair<std::size_t, std::string>, PictureScores> kept_;
};

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

TEST(FitParameters, IsBetterThanItsStartWhereItLooked) {
  const FitResult result = FitParameters(Pictures(), Quick(), nullptr, GoOn);
  ASSERT_EQ(result.folds.size(), 3u);
  ASSERT_EQ(result.held_out.size(), 3u);
  EXPECT_EQ(result.all.best_so_far.size(), 9u);
  EXPECT_GT(result.all.value, result.all.best_so_far.front());
  EXPECT_EQ(result.all.best_so_far.back(), result.all.value);
  // Each picture is in one fold, and no fold is empty.
  std::vector<int> folds;
  for (const HeldOut& held_out : result.held_out) folds.push_back(held_out.fold);
  EXPECT_THAT(folds, ::testing::UnorderedElementsAre(0, 1, 2));
}

TEST(FitParameters, EndsAtTheSamePlaceWhereverItWasInterrupted) {
  const FitResult whole = FitParameters(Pictures(), Quick(), nullptr, GoOn);
  Memory memory;
  int interrupts = 0;
  for (int allowed = 3;; allowed += 5) {
    int calls = 0;
    try {
      const FitResult result = FitParameters(
          Pictures(), Quick(), &memory, [&](const std::string&) { return ++calls <= allowed; });
      EXPECT_EQ(result.all.parameters, whole.all.parameters);
      EXPECT_EQ(result.all.value, whole.all.value);
      for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_EQ(result.folds[k].parameters, whole.folds[k].parameters);
        EXPECT_EQ(result.held_out[k].fitted.counts, whole.held_out[k].fitted.counts);
        EXPECT_EQ(result.held_out[k].fitted.probabilities.negative_log_likelihood,
                  whole.held_out[k].fitted.probabilities.negative_log_likelihood);
      }
      break;
    } catch (const Interrupted&) {
      ++interrupts;
    }
  }
  EXPECT_GT(interrupts, 3);
}

// Scores of sets are of the pixels of all pictures together, whatever the size of each.
TEST(FitParameters, SumsPicturesBeforeItScoresThem) {
  const PictureScores large{{{90, 10}, {90, 10}, {90, 10}}, {100, 0.0, 0.1}};
  const PictureScores small{{{0, 10}, {10, 0}, {0, 0}}, {10, 0.0, 2.1}};
  const std::array both = {large, small};
  EXPECT_DOUBLE_EQ(ValueOf(both, FitScore::kAccuracy), 100.0 / 110.0);
  EXPECT_DOUBLE_EQ(ValueOf(both, FitScore::kMeanIou), 0.5 * (90.0 / 100.0 + 10.0 / 20.0));
  EXPECT_DOUBLE_EQ(ValueOf(both, FitScore::kLikelihood), -(10.0 + 21.0) / 110.0);
}

// The truth is noise in single pixels, and the classifier knows it: smoothing can only hurt.
TEST(FitParameters, LeavesAClassifierAloneThatIsRight) {
  std::vector<LabelledPicture> pictures = Pictures();
  for (LabelledPicture& picture : pictures) {
    for (std::size_t a = 0; a < picture.truth.size(); ++a) {
      const auto row = picture.softmax.row(a);
      picture.truth[a] = static_cast<int>((a * a / 3 + a / 7) % 3);
      std::fill(row.begin(), row.end(), 0.3F);
      row[static_cast<std::size_t>(picture.truth[a])] = 0.4F;
    }
  }
  FitOptions options = Quick();
  options.score = FitScore::kMeanIou;
  const FitResult alone = FitParameters(pictures, options, nullptr, GoOn);
  EXPECT_EQ(alone.advice, FitAdvice::kLeaveAlone);
  EXPECT_EQ(alone.Advised().position_weight, 0.0);
  EXPECT_EQ(alone.Advised().bilateral_weight, 0.0);
  EXPECT_EQ(alone.fitted.mean_iou.before, 1.0);
  EXPECT_EQ(alone.fitted.better, 0);

  const FitResult helped = FitParameters(Pictures(), options, nullptr, GoOn);
  EXPECT_NE(helped.advice, FitAdvice::kLeaveAlone);
  EXPECT_EQ(helped.Advised(), helped.all.parameters);
  EXPECT_EQ(helped.defaults.better, 3);
  EXPECT_TRUE(helped.defaults.mean_iou.helps());
}

TEST(FitParameters, RefusesWhatCannotBeSplit) {
  std::vector<LabelledPicture> pictures = Pictures();
  FitOptions settings = Quick();
  settings.folds = 4;
  ExpectInvalid([&] { CheckFit(pictures, settings); }, "the number of folds is 4, expected 2 to 3");
  settings.folds = 1;
  ExpectInvalid([&] { CheckFit(pictures, settings); }, "the number of folds is 1");
  settings.folds = 2;
  pictures[1].softmax = Matrix<float>(400, 2, 0.5F);
  ExpectInvalid([&] { CheckFit(pictures, settings); },
                "the softmax of b has 2 labels, that of a has 3");
  pictures.resize(1);
  ExpectInvalid([&] { CheckFit(pictures, settings); }, "expected at least 2");
}

}  // namespace
}  // namespace submarine::internal
