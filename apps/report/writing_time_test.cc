#include "apps/report/writing_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <limits>
#include <random>

#include "apps/report/picture_page.h"
#include "submarine/io/file/io_test_util.h"

namespace submarine::apps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kForever = std::numeric_limits<double>::infinity();

TEST(WritingTime, PageIsReservedForWhereItIsASmallPart) {
  const WritingTime time(1'500'000, 21);
  EXPECT_GT(time.page_seconds(), 0.5);
  EXPECT_EQ(time.Reserve(true, kForever), time.file_seconds() + time.page_seconds());
  EXPECT_EQ(time.Reserve(true, 10.0 * time.page_seconds()),
            time.file_seconds() + time.page_seconds());
  EXPECT_EQ(time.Reserve(true, time.page_seconds()), time.file_seconds());
  EXPECT_EQ(time.Reserve(false, kForever), time.file_seconds());
}

TEST(WritingTime, PageIsLeftOutWithANote) {
  const WritingTime time(1'500'000, 21);
  const ReportOptions wanted{.max_megabytes = 3.0};
  std::vector<std::string> notes;
  const auto page = time.PageInTime(wanted, 1.0, 1.1 + time.page_seconds(), &notes);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->max_megabytes, 3.0);
  EXPECT_FALSE(time.PageInTime({}, 1.0, 0.0, &notes));
  EXPECT_THAT(notes, ElementsAre());
  EXPECT_FALSE(time.PageInTime(wanted, 1.0, 0.9 + time.page_seconds(), &notes));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("report.html")));
}

// By time of processors, since other processes may run: roughly, as machines differ.
TEST(WritingTime, IsAboutWhatWritingTakes) {
  constexpr int kWidth = 500, kHeight = 400;
  constexpr std::size_t kLabels = 20;
  constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;
  std::mt19937 random(1);
  Matrix<float> marginals(kPixels, kLabels);
  for (std::size_t a = 0; a < kPixels; ++a) {
    float sum = 0.0F;
    for (float& p : marginals.row(a)) sum += p = static_cast<float>(1 + random() % 1000);
    for (float& p : marginals.row(a)) p /= sum;
  }
  std::vector<float> picture(3 * kPixels);
  for (float& sample : picture) sample = static_cast<float>(random() % 256);
  const internal::TempDir dir;
  Bundle bundle(dir / "out");
  const auto seconds = [begin = std::clock()] {
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  PicturePage page(&bundle, kWidth, kHeight, "Noise");
  page.AddPicture("picture", "picture", 3, picture);
  page.AddMarginals(marginals, 0, "label", std::vector<std::string>(kLabels, "a"));
  const double files = seconds();
  FinishBundle({}, "noise", page.json(), &bundle);
  const double all = seconds();
  const WritingTime time(kPixels, kLabels);
  constexpr double kRoughly = 8.0;
  EXPECT_LT(time.file_seconds(), kRoughly * files);
  EXPECT_GT(time.file_seconds(), files / kRoughly);
  EXPECT_LT(time.page_seconds(), kRoughly * (all - files));
  EXPECT_GT(time.page_seconds(), (all - files) / kRoughly);
}

}  // namespace
}  // namespace submarine::apps
