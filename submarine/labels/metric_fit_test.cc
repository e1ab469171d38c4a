#include "submarine/labels/metric_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "submarine/base/error.h"
#include "submarine/labels/label_tree.h"
#include "submarine/labels/random_tree.h"

namespace submarine::internal {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

double LargestDifference(const Matrix<double>& a, const Matrix<double>& b) {
  double largest = 0.0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    largest = std::max(largest, std::abs(a.data()[k] - b.data()[k]));
  }
  return largest;
}

// What FitMetrics promises of every result, checked from the definition of the cut metric.
void ExpectValid(const LabelSpace& space, const std::vector<Matrix<double>>& distances) {
  ASSERT_EQ(space.metrics.size(), distances.size());
  std::vector<double> used(space.cuts->num_cuts(), 0.0);
  for (std::size_t m = 0; m < distances.size(); ++m) {
    const LabelMetric& metric = space.metrics[m];
    EXPECT_EQ(metric.distance, distances[m]);
    ASSERT_EQ(metric.length.size(), used.size());
    for (std::size_t c = 0; c < used.size(); ++c) {
      EXPECT_GE(metric.length[c], 0.0);
      used[c] += metric.length[c];
    }
    const Matrix<double> fitted = CutDistance(*space.cuts, metric.length);
    double distortion = 1.0;
    for (std::size_t k = 0; k < fitted.size(); ++k) {
      const double d = distances[m].data()[k];
      EXPECT_LE(fitted.data()[k], d);
      if (d > 0) distortion = std::max(distortion, d / fitted.data()[k]);
    }
    EXPECT_TRUE(std::isfinite(metric.distortion));
    if (distortion <= 1.0 + 1e-8) {
      EXPECT_EQ(metric.distortion, 1.0);
    } else {
      EXPECT_DOUBLE_EQ(metric.distortion, distortion);
    }
  }
  for (int c = space.num_labels(); c < space.cuts->num_cuts(); ++c) EXPECT_GT(used[c], 0.0) << c;
}

LabelSpace Fit(const std::vector<Matrix<double>>& distances, const MetricFitOptions& options = {}) {
  LabelSpace space = FitMetrics(distances, options);
  ExpectValid(space, distances);
  return space;
}

Matrix<double> RandomSumOfCuts(int labels, int cuts, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  Matrix<double> d(labels, labels);
  for (int c = 0; c < cuts; ++c) {
    const std::uint64_t set = random();
    const double length = uniform(random);
    for (int i = 0; i < labels; ++i) {
      for (int j = 0; j < labels; ++j) {
        if (((set >> i) ^ (set >> j)) & 1) d(i, j) += length;
      }
    }
  }
  return d;
}

// Entries in [1, 2]: always a metric.
Matrix<double> RandomMetric(int labels, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(1.0, 2.0);
  Matrix<double> d(labels, labels);
  for (int i = 0; i < labels; ++i) {
    for (int j = 0; j < i; ++j) d(i, j) = d(j, i) = uniform(random);
  }
  return d;
}

Matrix<double> TruncatedLinear(int labels, int truncation, double scale) {
  Matrix<double> d(labels, labels);
  for (int i = 0; i < labels; ++i) {
    for (int j = 0; j < labels; ++j) d(i, j) = scale * std::min(std::abs(i - j), truncation);
  }
  return d;
}

std::string RefusalOf(const std::vector<Matrix<double>>& distances) {
  try {
    FitMetrics(distances);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(MetricFitTest, PottsIsRecognised) {
  const LabelSpace space = Fit({TruncatedLinear(5, 1, 1.0), TruncatedLinear(5, 1, 0.3)});
  EXPECT_EQ(space.metrics[0].name, "potts");
  EXPECT_EQ(space.metrics[0].length, PottsLabels(5).metrics[0].length);
  EXPECT_EQ(space.metrics[1].name, "0.3*potts");
  EXPECT_TRUE(space.cuts->leaves_only());
  EXPECT_TRUE(space.exact());
}

TEST(MetricFitTest, LinearAndTruncatedLinearAreRecognised) {
  for (int truncation : {1, 2, 3, 7}) {
    for (double scale : {1.0, 0.1, 1e6 / 3, 1e-300, 1e300}) {
      const LabelSpace space = Fit({TruncatedLinear(8, truncation, scale)});
      EXPECT_TRUE(space.exact()) << truncation << " " << scale;
      EXPECT_NE(space.metrics[0].name, "fitted");
    }
  }
  EXPECT_EQ(Fit({TruncatedLinear(8, 7, 1.0)}).metrics[0].name, "linear");
  EXPECT_EQ(Fit({TruncatedLinear(8, 3, 2.0)}).metrics[0].name, "2*truncated:3");
}

TEST(MetricFitTest, NearlyKnownIsSnappedFromBelow) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> noise(-2e-10, 2e-10);
  for (int truncation : {1, 2, 5}) {
    Matrix<double> d = TruncatedLinear(6, truncation, 0.7);
    for (int i = 0; i < 6; ++i) {
      for (int j = 0; j < i; ++j) d(i, j) = d(j, i) = d(i, j) + noise(random);
    }
    ASSERT_TRUE(RecogniseMetric(d));
    EXPECT_TRUE(Fit({d}).exact());
  }
  Matrix<double> off = TruncatedLinear(6, 2, 0.7);
  off(0, 3) = off(3, 0) = 1.4 + 1e-6;
  EXPECT_FALSE(RecogniseMetric(off));
}

TEST(MetricFitTest, RecogniseMetricReadsScaleAndTruncation) {
  const auto known = RecogniseMetric(TruncatedLinear(9, 4, 0.25));
  ASSERT_TRUE(known);
  EXPECT_EQ(known->truncation, 4);
  EXPECT_EQ(known->scale, 0.25);
  EXPECT_FALSE(RecogniseMetric(Matrix<double>(4, 4)));
  std::mt19937_64 random(1);
  EXPECT_FALSE(RecogniseMetric(RandomMetric(4, random)));
}

TEST(MetricFitTest, KnownMetricsOfManyLabels) {
  const LabelSpace space = Fit({TruncatedLinear(300, 1, 2.0), TruncatedLinear(300, 20, 0.1)});
  EXPECT_TRUE(space.exact());
}

TEST(MetricFitTest, SumsOfCutsAreRecovered) {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    const int labels = 3 + trial % 6;
    const Matrix<double> d = RandomSumOfCuts(labels, 1 + trial % 17, random);
    const LabelSpace space = Fit({d});
    EXPECT_LT(LargestDifference(CutDistance(*space.cuts, space.metrics[0].length), d), 1e-7);
    EXPECT_TRUE(space.exact()) << trial;
  }
}

TEST(MetricFitTest, SumsOfCutsAreRecoveredBeyondEnumeration) {
  std::mt19937_64 random(11);
  for (int cuts : {4, 10, 400}) {
    EXPECT_TRUE(Fit({RandomSumOfCuts(16, cuts, random)}).exact()) << cuts;
  }
}

TEST(MetricFitTest, TreesAreRecovered) {
  const LabelSpace tree = LabelTree::Regular({3, 2, 3}, {4.0, 1.5, 0.3}).ToLabels();
  const LabelSpace space = Fit({tree.metrics[0].distance});
  EXPECT_TRUE(space.exact());
  EXPECT_EQ(space.cuts->num_cuts(), tree.cuts->num_cuts());
}

// The distances of the graph K_{2,3} are no sum of cuts; their best distortion is 4/3.
TEST(MetricFitTest, MetricThatIsNoSumOfCuts) {
  Matrix<double> d(5, 5, 2.0);
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 5; ++j) {
      if (i == j) d(i, j) = 0.0;
      if ((i < 2) != (j < 2)) d(i, j) = 1.0;
    }
  }
  const LabelSpace space = Fit({d});
  EXPECT_FALSE(space.exact());
  EXPECT_EQ(space.metrics[0].name, "fitted");
  EXPECT_GE(space.metrics[0].distortion, 4.0 / 3.0 - 1e-9);
  EXPECT_LE(space.metrics[0].distortion, 1.5 + 1e-9);
}

TEST(MetricFitTest, RandomMetricsAreFittedWell) {
  std::mt19937_64 random(3);
  for (int labels : {6, 11, 14}) {
    const Matrix<double> d = RandomMetric(labels, random);
    const LabelSpace space = Fit({d});
    const Matrix<double> fitted = CutDistance(*space.cuts, space.metrics[0].length);
    double sum = 0.0, fitted_sum = 0.0;
    for (std::size_t k = 0; k < d.size(); ++k) {
      sum += d.data()[k];
      fitted_sum += fitted.data()[k];
    }
    EXPECT_GT(fitted_sum, 0.97 * sum) << labels;
    EXPECT_LT(space.metrics[0].distortion, 1.6) << labels;
  }
}

TEST(MetricFitTest, ManyMetricsShareOneFamily) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(0.5, 1.0);
  const Matrix<double> first = RandomSumOfCuts(9, 200, random);
  const Matrix<double> second = RandomSumOfCuts(9, 200, random);
  std::vector<Matrix<double>> distances;
  for (int m = 0; m < 30; ++m) {
    const double a = uniform(random), b = uniform(random);
    Matrix<double> d(9, 9);
    for (std::size_t k = 0; k < d.size(); ++k) {
      d.data()[k] = a * first.data()[k] + b * second.data()[k];
    }
    distances.push_back(d);
  }
  distances.push_back(distances[3]);
  distances.push_back(TruncatedLinear(9, 1, 1.0));
  distances.push_back(Matrix<double>(9, 9));
  const LabelSpace space = Fit(distances);
  EXPECT_TRUE(space.exact());
  EXPECT_EQ(space.metrics[30].length, space.metrics[3].length);
  EXPECT_EQ(space.metrics[31].name, "potts");
  EXPECT_EQ(space.metrics[32].name, "zero");
  EXPECT_THAT(space.metrics[32].length, Each(0.0));
  EXPECT_LE(space.cuts->num_cuts(), 9 * 8);
}

TEST(MetricFitTest, LabelsAtDistanceZeroStayTogether) {
  std::mt19937_64 random(9);
  // Labels 1, 4 and 6 are the same point, as are 0 and 7.
  const std::vector<int> point{0, 1, 2, 3, 1, 4, 1, 0, 5};
  const Matrix<double> base = RandomMetric(6, random);
  Matrix<double> d(point.size(), point.size());
  for (std::size_t i = 0; i < point.size(); ++i) {
    for (std::size_t j = 0; j < point.size(); ++j) d(i, j) = base(point[i], point[j]);
  }
  const LabelSpace space = Fit({d});
  EXPECT_EQ(space.metrics[0].length[1], 0.0);
  EXPECT_NEAR(space.metrics[0].distortion, Fit({base}).metrics[0].distortion, 1e-6);
}

TEST(MetricFitTest, ZeroInOneMetricOnly) {
  std::mt19937_64 random(10);
  const Matrix<double> first = RandomMetric(5, random);
  Matrix<double> second = RandomMetric(5, random);
  for (int k = 0; k < 5; ++k) {
    second(0, k) = second(k, 0) = k == 0 ? 0.0 : second(1, k);
  }
  EXPECT_EQ(second(0, 1), 0.0);
  const LabelSpace space = Fit({first, second});
  EXPECT_LT(space.metrics[1].distortion, 1.6);
}

TEST(MetricFitTest, WildScalesStayFinite) {
  std::mt19937_64 random(12);
  Matrix<double> d = RandomMetric(6, random);
  for (double scale : {1e-305, 1e-20, 1e20, 1e300}) {
    Matrix<double> scaled = d;
    for (std::size_t k = 0; k < d.size(); ++k) scaled.data()[k] *= scale;
    EXPECT_LT(Fit({scaled}).metrics[0].distortion, 1.6);
  }
  // Two points next to each other and a third far away: no cut may be lost to tolerances.
  for (double near : {1e-6, 1e-12, 1e-200}) {
    Matrix<double> line(4, 4, 1.0);
    for (int i = 0; i < 4; ++i) line(i, i) = 0.0;
    line(2, 3) = line(3, 2) = near;
    line(0, 1) = line(1, 0) = 0.5;
    Fit({line});
  }
}

TEST(MetricFitTest, SpreadWeightTradesExactnessForFewerCuts) {
  std::mt19937_64 random(13);
  const Matrix<double> d = RandomSumOfCuts(10, 300, random);
  const LabelSpace exact = Fit({d});
  const LabelSpace small = Fit({d}, {.spread_weight = 3.0});
  EXPECT_TRUE(exact.exact());
  EXPECT_LT(small.cuts->num_cuts(), exact.cuts->num_cuts());
}

// Among exact fits, single labels go first: the uniform metric is also the sum of the pair cuts.
TEST(MetricFitTest, PrefersSmallSets) {
  Matrix<double> d = TruncatedLinear(6, 1, 1.0);
  d(4, 5) = d(5, 4) = 0.9;  // not Potts any more
  const LabelSpace space = Fit({d});
  EXPECT_TRUE(space.exact());
  EXPECT_LE(space.cuts->num_cuts(), 6 + 1);
  EXPECT_NEAR(space.metrics[0].length[0], 0.5, 1e-9);
}

TEST(MetricFitTest, SameResultEveryTime) {
  std::mt19937_64 random(14);
  const Matrix<double> d = RandomMetric(14, random);
  const LabelSpace first = FitMetrics({d}), second = FitMetrics({d});
  EXPECT_EQ(first.metrics[0].length, second.metrics[0].length);
}

TEST(MetricFitTest, RefusesWhatIsNoDistance) {
  EXPECT_THAT(RefusalOf({}), HasSubstr("no label metric was given"));
  EXPECT_THAT(RefusalOf({Matrix<double>(1, 1)}), HasSubstr("between 2 and"));
  EXPECT_THAT(RefusalOf({Matrix<double>(3, 2)}), HasSubstr("is 3 x 2, expected 3 x 3"));
  EXPECT_THAT(RefusalOf({Matrix<double>(3, 3), Matrix<double>(4, 4)}),
              HasSubstr("label metric 1 is 4 x 4, expected 3 x 3"));
  Matrix<double> d = TruncatedLinear(3, 2, 1.0);
  d(1, 2) = d(2, 1) = -0.5;
  EXPECT_THAT(RefusalOf({d}), HasSubstr("d(1,2) = -0.5"));
  d(1, 2) = d(2, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(RefusalOf({d}), HasSubstr("d(1,2) = nan"));
  d(1, 2) = d(2, 1) = std::numeric_limits<double>::infinity();
  EXPECT_THAT(RefusalOf({d}), HasSubstr("d(1,2) = inf"));
  d(1, 2) = 1.0;
  d(2, 1) = 1.5;
  EXPECT_THAT(RefusalOf({d}), HasSubstr("not symmetric: d(1,2) = 1 but d(2,1) = 1.5"));
  d(2, 1) = 1.0;
  d(2, 2) = 0.1;
  EXPECT_THAT(RefusalOf({d}), HasSubstr("d(2,2) = 0.1 on the diagonal"));
}

TEST(MetricFitTest, GeneralMetricsOfManyLabels) {
  std::mt19937_64 random(15);
  EXPECT_LT(Fit({RandomMetric(65, random)}).metrics[0].distortion, 2.0 + 1e-9);
  // Five points far apart, around each of which there are 20 nearby.
  Matrix<double> d(100, 100);
  const Matrix<double> far = RandomMetric(5, random), near = RandomMetric(100, random);
  for (std::size_t i = 0; i < 100; ++i) {
    for (std::size_t j = 0; j < 100; ++j) {
      if (i != j) d(i, j) = i / 20 == j / 20 ? 0.1 * near(i, j) : far(i / 20, j / 20);
    }
  }
  const LabelSpace space = Fit({d});
  EXPECT_LT(space.metrics[0].distortion, 6.0);
  EXPECT_LT(FitOf(*space.cuts, space.metrics[0]).mean, 3.0);
}

Matrix<double> EuclideanMetric(int labels, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  Matrix<double> point(labels, 3), d(labels, labels);
  for (std::size_t k = 0; k < point.size(); ++k) point.data()[k] = normal(random);
  for (int i = 0; i < labels; ++i) {
    for (int j = 0; j < i; ++j) {
      double sum = 0.0;
      for (int x = 0; x < 3; ++x) sum += std::pow(point(i, x) - point(j, x), 2);
      d(i, j) = d(j, i) = std::sqrt(sum);
    }
  }
  return d;
}

// Shortest paths in a random connected graph, of which few edges are not on a tree.
Matrix<double> GraphMetric(int labels, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0.1, 1.0);
  Matrix<double> d(labels, labels, 1e3);
  for (int i = 0; i < labels; ++i) d(i, i) = 0.0;
  for (int i = 1; i < labels; ++i) {
    const int j = static_cast<int>(random() % i);
    d(i, j) = d(j, i) = uniform(random);
  }
  for (int k = 0; k < labels; ++k) {
    const auto i = random() % labels, j = random() % labels;
    if (i != j) d(i, j) = d(j, i) = std::min(d(i, j), uniform(random));
  }
  return LargestMetricBelow(d);
}

// max(d(i,k), d(k,j)) >= d(i,j): single linkage of random numbers.
Matrix<double> Ultrametric(int labels, std::mt19937_64& random) {
  Matrix<double> d = RandomMetric(labels, random);
  for (int k = 0; k < labels; ++k) {
    for (int i = 0; i < labels; ++i) {
      for (int j = 0; j < labels; ++j) d(i, j) = std::min(d(i, j), std::max(d(i, k), d(k, j)));
    }
  }
  return d;
}

TEST(MetricFitTest, RandomTreesDominateTheMetric) {
  std::mt19937_64 random(16);
  for (int trial = 0; trial < 300; ++trial) {
    const int labels = 2 + trial % 20;
    Matrix<double> d = trial % 3 == 0   ? EuclideanMetric(labels, random)
                       : trial % 3 == 1 ? GraphMetric(labels, random)
                                        : RandomMetric(labels, random);
    if (trial % 7 == 0 && labels > 2) {  // two labels at the same place
      for (int k = 0; k < labels; ++k) d(1, k) = d(k, 1) = k == 1 ? 0.0 : d(0, k);
    }
    const LabelSpace tree = RandomTree(d, random).ToLabels();
    ASSERT_EQ(tree.num_labels(), labels);
    double stretch = 0.0;
    for (std::size_t k = 0; k < d.size(); ++k) {
      const double above = tree.metrics[0].distance.data()[k];
      EXPECT_GE(above, d.data()[k] * (1 - 1e-12)) << trial;
      if (d.data()[k] > 0) {
        stretch += above / d.data()[k];
      } else {
        EXPECT_EQ(above, 0.0) << trial;
      }
    }
    EXPECT_LT(stretch / static_cast<double>(d.size()), 60.0) << trial;
  }
}

// 3,000 metrics of four kinds; what ExpectValid checks is d' <= d to the last bit.
TEST(MetricLabelsTest, EveryMetricIsBoundedFromBelow) {
  std::mt19937_64 random(17);
  std::uniform_real_distribution<double> noise(0.9, 1.0);
  for (int trial = 0; trial < 3000; ++trial) {
    const int labels = 2 + trial / 4 % 7;
    Matrix<double> d;
    switch (trial % 4) {
      case 0:
        d = EuclideanMetric(labels, random);
        break;
      case 1:
        d = GraphMetric(labels, random);
        break;
      case 2:
        d = Ultrametric(labels, random);
        break;
      default:
        d = EuclideanMetric(labels, random);
        for (int i = 0; i < labels; ++i) {
          for (int j = 0; j < i; ++j) d(i, j) = d(j, i) = d(i, j) * noise(random);
        }
        d = LargestMetricBelow(d);
    }
    const LabelSpace space = MetricLabels(d);
    ExpectValid(space, {d});
    EXPECT_LT(space.metrics[0].distortion, 2.0) << trial;
    // Euclidean metrics and ultrametrics are l1 metrics.
    EXPECT_TRUE(space.exact() || trial % 2 == 1) << trial;
  }
}

TEST(MetricLabelsTest, TruncatedLinearAndItsShuffledLabelsAreExact) {
  std::mt19937_64 random(18);
  for (int truncation : {1, 2, 3, 5, 7}) {
    const Matrix<double> d = TruncatedLinear(8, truncation, 0.7);
    EXPECT_TRUE(MetricLabels(d).exact());
    std::vector<std::size_t> order{0, 1, 2, 3, 4, 5, 6, 7};
    std::shuffle(order.begin(), order.end(), random);
    Matrix<double> shuffled(8, 8);
    for (std::size_t i = 0; i < 8; ++i) {
      for (std::size_t j = 0; j < 8; ++j) shuffled(i, j) = d(order[i], order[j]);
    }
    EXPECT_TRUE(MetricLabels(shuffled).exact()) << truncation;
  }
}

Matrix<double> NoTriangle() {
  Matrix<double> d(4, 4, 1.0);
  for (int i = 0; i < 4; ++i) d(i, i) = 0.0;
  d(1, 3) = d(3, 1) = 2.5;
  return d;
}

TEST(MetricLabelsTest, AViolatedTriangleIsNamed) {
  try {
    MetricLabels(NoTriangle());
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), HasSubstr("d(1,3) = 2.5 exceeds d(1,0) + d(0,3) = 2"));
  }
  Matrix<double> rounded = TruncatedLinear(6, 3, 0.1);  // 0.1 + 0.1 + 0.1 > 0.3
  EXPECT_NO_THROW(MetricLabels(rounded));
}

TEST(MetricLabelsTest, WhatIsNoMetricIsRepairedOrKept) {
  Matrix<double> below = NoTriangle();
  below(1, 3) = below(3, 1) = 2.0;
  EXPECT_EQ(LargestMetricBelow(NoTriangle()), below);
  const LabelSpace repaired = MetricLabels(NoTriangle(), NoMetric::kRepair, "near");
  ExpectValid(repaired, {below});
  EXPECT_TRUE(repaired.exact());
  EXPECT_EQ(repaired.metrics[0].name, "near");
  const LabelSpace kept = MetricLabels(NoTriangle(), NoMetric::kKeep, "costs");
  ExpectValid(kept, {NoTriangle()});
  EXPECT_NEAR(kept.metrics[0].distortion, 1.25, 1e-9);
  EXPECT_THAT(MetricText(kept), HasSubstr("costs (no metric, cuts of the largest metric below"));
  EXPECT_THAT(MetricText(kept), HasSubstr("worst ratio d/d' 1.25"));
  const MetricFit fit = FitOf(*kept.cuts, kept.metrics[0]);
  EXPECT_EQ(fit.i, 1);
  EXPECT_EQ(fit.j, 3);
  EXPECT_NEAR(fit.mean, (5 + 1.25) / 6, 1e-9);
  // A metric is a metric, whatever is asked for.
  EXPECT_EQ(MetricLabels(below, NoMetric::kKeep, "costs").metrics[0].name, "costs");
}

}  // namespace
}  // namespace submarine::internal
