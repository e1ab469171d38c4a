#include "submarine/segmentation/superpixels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"

namespace submarine {
namespace {

constexpr int kWidth = 90;
constexpr int kHeight = 70;

// A disc on a ground of another colour, with noise.
std::vector<float> Disc(int channels) {
  std::mt19937 rng(5);
  std::normal_distribution<float> noise(0.0F, 6.0F);
  std::vector<float> samples;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const bool inside = (x - 40) * (x - 40) + (y - 35) * (y - 35) < 24 * 24;
      for (int c = 0; c < channels; ++c)
        samples.push_back(std::clamp((inside ? 180.0F : 70.0F) + noise(rng), 0.0F, 255.0F));
    }
  }
  return samples;
}

bool IsConnected(const std::vector<int>& regions, int region) {
  std::vector<std::size_t> members;
  for (std::size_t a = 0; a < regions.size(); ++a) {
    if (regions[a] == region) members.push_back(a);
  }
  std::set<std::size_t> left(members.begin(), members.end());
  std::vector<std::size_t> open = {members.front()};
  left.erase(members.front());
  while (!open.empty()) {
    const std::size_t a = open.back();
    open.pop_back();
    const std::size_t x = a % kWidth;
    for (const std::size_t b :
         {x > 0 ? a - 1 : a, x + 1 < kWidth ? a + 1 : a, a - kWidth, a + kWidth}) {
      if (left.erase(b) > 0) open.push_back(b);
    }
  }
  return left.empty();
}

TEST(Superpixels, AreConnectedRegionsThatFollowEdges) {
  for (const int channels : {1, 3}) {
    const std::vector<float> samples = Disc(channels);
    const std::vector<int> regions =
        Superpixels({kWidth, kHeight, channels, samples}, {.size = 10.0});
    const int count = 1 + *std::max_element(regions.begin(), regions.end());
    EXPECT_GT(count, 40);
    EXPECT_LT(count, 90);
    std::vector<double> inside(static_cast<std::size_t>(count));
    std::vector<double> size(static_cast<std::size_t>(count));
    for (std::size_t a = 0; a < regions.size(); ++a) {
      const auto r = static_cast<std::size_t>(regions[a]);
      size[r] += 1.0;
      inside[r] += samples[a * static_cast<std::size_t>(channels)] > 125.0F ? 1.0 : 0.0;
    }
    double mixed = 0.0;
    for (std::size_t r = 0; r < size.size(); ++r) {
      EXPECT_GT(size[r], 0.0);
      EXPECT_TRUE(IsConnected(regions, static_cast<int>(r)));
      mixed += std::min(inside[r], size[r] - inside[r]);
    }
    EXPECT_LT(mixed, 0.01 * kWidth * kHeight);  // of a grid of squares it is several percent
  }
}

TEST(Superpixels, AreTheSameForAnyNumberOfThreads) {
  const std::vector<float> samples = Disc(3);
  const PictureView picture{kWidth, kHeight, 3, samples};
  const std::vector<int> all = Superpixels(picture, {.size = 7.5, .compactness = 20.0});
  const internal::ThreadLimit one(1);
  EXPECT_EQ(Superpixels(picture, {.size = 7.5, .compactness = 20.0}), all);
}

TEST(Superpixels, RefusesWhatIsNoPicture) {
  const std::vector<float> samples(12, 1.0F);
  EXPECT_THROW(Superpixels({4, 3, 3, samples}, {}), InvalidInput);
  EXPECT_THROW(Superpixels({4, 3, 1, samples}, {.size = 1.0}), InvalidInput);
  EXPECT_THROW(Superpixels({4, 3, 1, samples}, {.size = 5.0}), InvalidInput);
  EXPECT_THROW(Superpixels({4, 3, 1, samples}, {.size = 2.0, .compactness = 0.0}), InvalidInput);
  const std::vector<float> nan(12, std::nanf(""));
  EXPECT_THROW(Superpixels({4, 3, 1, nan}, {.size = 2.0}), InvalidInput);
}

TEST(RegionCliques, CostByTheSizeOfTheRegion) {
  const std::vector<int> regions = {7, 7, 3, 7, 7, 9, 9};
  const std::vector<Clique> cliques = RegionCliques(regions, {.gamma = 0.5, .share = 0.25});
  ASSERT_EQ(cliques.size(), 2U);  // one pixel alone never costs anything
  EXPECT_EQ(cliques[0].members, (std::vector<int>{0, 1, 3, 4}));
  EXPECT_EQ(cliques[0].gamma, 2.0);
  EXPECT_EQ(cliques[0].truncation, 1.0);
  EXPECT_EQ(cliques[1].members, (std::vector<int>{5, 6}));
  EXPECT_TRUE(RegionCliques(regions, {.gamma = 0.0}).empty());
  EXPECT_THROW(RegionCliques(regions, {.gamma = -1.0}), InvalidInput);
  EXPECT_THROW(RegionCliques(regions, {.share = 0.6}), InvalidInput);
  EXPECT_THROW(RegionCliques(regions, {.share = std::nan("")}), InvalidInput);
}

TEST(ParseSuperpixels, TakesScalesAndFiles) {
  SuperpixelSpec spec = ParseSuperpixels("SLIC,0.5,0.2");
  ASSERT_TRUE(spec.slic.has_value());
  EXPECT_EQ(spec.slic->size, 20.0);
  EXPECT_EQ(spec.terms, (RegionTerms{0.5, 0.2}));
  spec = ParseSuperpixels("SLIC:12.5,0.5,0.2");
  EXPECT_EQ(spec.slic->size, 12.5);
  EXPECT_EQ(spec.slic->compactness, 10.0);
  spec = ParseSuperpixels("SLIC:12,30,0.5,0.2");
  EXPECT_EQ(spec.slic->compactness, 30.0);
  spec = ParseSuperpixels("a,b.png,1,0.5");
  EXPECT_FALSE(spec.slic.has_value());
  EXPECT_EQ(spec.file, "a,b.png");
  for (const char* wrong :
       {"", "SLIC", "SLIC,1", "SLIC:,1,0.1", "SLIC,10,1,0.1", "SLIC:1,2,3,4,0.1", "SLICK,1,0.1",
        "SLIC,x,0.1", "SLIC,1,0.1x", "SLIC,1,0.7", "a.png,-1,0.1", ",1,0.1"}) {
    EXPECT_THROW(ParseSuperpixels(wrong), InvalidInput) << wrong;
  }
}

}  // namespace
}  // namespace submarine
