#include "submarine/stereo/matching_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "submarine/base/error.h"

namespace submarine::internal {
namespace {

using ::testing::HasSubstr;

struct RandomPair {
  int width;
  int height;
  int channels;
  std::vector<float> left;
  std::vector<float> right;

  RandomPair(int w, int h, int c, std::uint64_t seed) : width(w), height(h), channels(c) {
    std::mt19937_64 random(seed);
    for (std::vector<float>* view : {&left, &right}) {
      view->resize(static_cast<std::size_t>(w * h * c));
      for (float& sample : *view) sample = static_cast<float>(random() % 256);
    }
  }
  StereoView Left() const { return {width, height, channels, left}; }
  StereoView Right() const { return {width, height, channels, right}; }
};

float At(const StereoView& view, int x, int y, int c) {
  x = std::clamp(x, 0, view.width - 1);
  y = std::clamp(y, 0, view.height - 1);
  return view.samples[static_cast<std::size_t>((y * view.width + x) * view.channels + c)];
}

// The definition of one comparison whose match is inside, truncated.
double SlowComparison(const RandomPair& pair, int x, int y, int k, const MatchingOptions& options) {
  const StereoView l = pair.Left();
  const StereoView r = pair.Right();
  double cost = 0.0;
  if (options.kind == MatchingKind::kAbsoluteDifference) {
    for (int c = 0; c < pair.channels; ++c) cost += std::abs(At(l, x, y, c) - At(r, x - k, y, c));
  } else if (options.kind == MatchingKind::kCensus) {
    const auto darker = [&](const StereoView& view, int cx, int cy, int dx, int dy) {
      double centre = 0.0;
      double neighbour = 0.0;
      for (int c = 0; c < pair.channels; ++c) {
        centre += At(view, cx, cy, c);
        neighbour += At(view, cx + dx, cy + dy, c);
      }
      return neighbour < centre;
    };
    for (int dy = -3; dy <= 3; ++dy) {
      for (int dx = -4; dx <= 4; ++dx)
        cost += darker(l, x, y, dx, dy) != darker(r, x - k, y, dx, dy) ? 1.0 : 0.0;
    }
  } else {
    const auto nearest = [&](const StereoView& a, int ax, const StereoView& b, int bx, int c) {
      // |a(ax) - b| over b's values within half a pixel of bx, sampled finely.
      double least = std::numeric_limits<double>::infinity();
      for (int step = -50; step <= 50; ++step) {
        const double t = std::abs(step) / 100.0;
        const int neighbour = bx + (step < 0 ? -1 : 1);
        if (neighbour < 0 || neighbour >= b.width) continue;
        const double value = (1.0 - t) * At(b, bx, y, c) + t * At(b, neighbour, y, c);
        least = std::min(least, std::abs(At(a, ax, y, c) - value));
      }
      return least;
    };
    for (int c = 0; c < pair.channels; ++c)
      cost += std::min(nearest(l, x, r, x - k, c), nearest(r, x - k, l, x, c));
  }
  return std::min(cost, options.truncate);
}

double SlowCost(const RandomPair& pair, int x, int y, int k, const MatchingOptions& options) {
  if (x - k < 0) {
    const double outside = options.kind == MatchingKind::kCensus ? 62.0 : 255.0 * pair.channels;
    return options.factor * std::min(outside, options.truncate);
  }
  double sum = 0.0;
  int count = 0;
  for (int py = y - options.radius; py <= y + options.radius; ++py) {
    for (int px = x - options.radius; px <= x + options.radius; ++px) {
      if (py < 0 || py >= pair.height || px < k || px >= pair.width) continue;
      sum += SlowComparison(pair, px, py, k, options);
      ++count;
    }
  }
  return options.factor * sum / count;
}

class MatchingCostTest : public ::testing::TestWithParam<const char*> {};

TEST_P(MatchingCostTest, AgreesWithTheDefinition) {
  std::uint64_t seed = 1;
  for (const int channels : {1, 3}) {
    for (const double truncate : {std::numeric_limits<double>::infinity(), 40.0}) {
      const RandomPair pair(17, 11, channels, seed++);
      MatchingOptions options = ParseMatchingKind(GetParam());
      options.truncate = truncate;
      options.factor = 0.25;
      const int disparities = 9;
      const Matrix<float> costs = MatchingCosts(pair.Left(), pair.Right(), disparities, options);
      ASSERT_EQ(costs.rows(), 17U * 11U);
      ASSERT_EQ(costs.cols(), 9U);
      // Fine sampling of Birchfield and Tomasi's interval misses its zero by half a step at most.
      const double tolerance =
          options.kind == MatchingKind::kBirchfieldTomasi ? 0.25 * 2.56 * channels / 2.0 : 1e-3;
      for (int y = 0; y < 11; ++y) {
        for (int x = 0; x < 17; ++x) {
          for (int k = 0; k < disparities; ++k) {
            ASSERT_NEAR(costs(static_cast<std::size_t>(y * 17 + x), static_cast<std::size_t>(k)),
                        SlowCost(pair, x, y, k, options), tolerance)
                << GetParam() << " at " << x << ", " << y << ", disparity " << k;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, MatchingCostTest,
                         ::testing::Values("ad", "sad:1", "sad:3", "census", "census:2", "bt",
                                           "bt:1"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, ':');
                           return name;
                         });

TEST(MatchingCost, FindsAShiftedView) {
  RandomPair pair(40, 20, 3, 7);
  const int shift = 5;
  for (int y = 0; y < 20; ++y) {
    for (int x = 0; x + shift < 40; ++x) {
      for (int c = 0; c < 3; ++c)
        pair.right[static_cast<std::size_t>((y * 40 + x) * 3 + c)] =
            pair.left[static_cast<std::size_t>((y * 40 + x + shift) * 3 + c)];
    }
  }
  for (const char* kind : {"ad", "sad:1", "census", "bt"}) {
    const Matrix<float> costs =
        MatchingCosts(pair.Left(), pair.Right(), 10, ParseMatchingKind(kind));
    int right = 0;
    for (int y = 4; y < 16; ++y) {
      for (int x = 14; x < 36; ++x) {
        const auto row = costs.row(static_cast<std::size_t>(y * 40 + x));
        // Intervals of noise overlap now and then, so that other disparities may cost nothing, too.
        right += *std::min_element(row.begin(), row.end()) == row[shift] && row[shift] == 0.0F;
      }
    }
    EXPECT_EQ(right, 12 * 22) << kind;
  }
}

TEST(MatchingCost, BirchfieldTomasiForgivesSampling) {
  // A ramp seen half a pixel further: no sample is equal, but each lies between two of the other view.
  std::vector<float> left;
  std::vector<float> right;
  for (int x = 0; x < 12; ++x) {
    left.push_back(static_cast<float>(10 * x));
    right.push_back(static_cast<float>(10 * x + 5));
  }
  const StereoView l{12, 1, 1, left};
  const StereoView r{12, 1, 1, right};
  const Matrix<float> ad = MatchingCosts(l, r, 2, ParseMatchingKind("ad"));
  const Matrix<float> bt = MatchingCosts(l, r, 2, ParseMatchingKind("bt"));
  EXPECT_FLOAT_EQ(ad(6, 0), 5.0F);
  EXPECT_FLOAT_EQ(bt(6, 0), 0.0F);
  EXPECT_FLOAT_EQ(bt(6, 1), 0.0F);
}

TEST(MatchingCost, NamesRoundTrip) {
  EXPECT_EQ(ToString(ParseMatchingKind("sad:0")), "ad");
  for (const char* kind : {"ad", "sad:12", "census", "census:3", "bt", "bt:1"})
    EXPECT_EQ(ToString(ParseMatchingKind(kind)), kind);
  for (const char* kind :
       {"", "sad", "sad:", "sad:-1", "sad:101", "sad:2x", "ad:2", "census:", "AD", "ssd"})
    EXPECT_THROW(ParseMatchingKind(kind), InvalidInput) << kind;
}

void ExpectRefused(const StereoView& left, const StereoView& right, int disparities,
                   const MatchingOptions& options, const char* words) {
  try {
    MatchingCosts(left, right, disparities, options);
    ADD_FAILURE() << "accepted, expected: " << words;
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), HasSubstr(words));
  }
}

TEST(MatchingCost, RefusesBadInput) {
  const RandomPair pair(8, 4, 1, 1);
  const RandomPair wide(9, 4, 1, 1);
  const RandomPair colour(8, 4, 3, 1);
  const MatchingOptions options;
  ExpectRefused(pair.Left(), wide.Right(), 4, options, "9 x 4");
  ExpectRefused(pair.Left(), colour.Right(), 4, options, "expected two views alike");
  ExpectRefused(pair.Left(), pair.Right(), 0, options, "0 disparities");
  ExpectRefused(pair.Left(), pair.Right(), 1, options, "at least 2");
  ExpectRefused(pair.Left(), pair.Right(), 9, options, "only 8 columns");
  ExpectRefused(pair.Left(), pair.Right(), 4, {.truncate = 0.0}, "truncated at 0");
  ExpectRefused(pair.Left(), pair.Right(), 4, {.truncate = NAN}, "truncated at nan");
  ExpectRefused(pair.Left(), pair.Right(), 4, {.factor = 0.0}, "multiplied by 0");
  ExpectRefused(pair.Left(), pair.Right(), 4, {.radius = -1}, "radius -1");
  RandomPair nan = pair;
  nan.right[5] = NAN;
  ExpectRefused(nan.Left(), nan.Right(), 4, options, "not finite");
  ExpectRefused({8, 4, 1, std::span(pair.left).first(31)}, pair.Right(), 4, options, "31 samples");
}

}  // namespace
}  // namespace submarine::internal
