#include "submarine/model/sparse_crf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/error_test_util.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;
using ::testing::HasSubstr;
using testing::NextLabeling;
using testing::RandomModels;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(SparseCrfTest, RefusesBadUnaries) {
  for (double bad : {std::nan(""), kInfinity, -kInfinity}) {
    Matrix<double> unary(3, 4, 1.0);
    unary(1, 2) = bad;
    ExpectInvalid([&] { SparseCrf(unary, {}, PottsLabels(4)); },
                  "the unary of variable 1, label 2 is");
  }
  ExpectInvalid([] { SparseCrf(Matrix<double>(3, 4), {}, PottsLabels(5)); },
                "the unaries have 4 labels, the label metric has 5");
  ExpectInvalid([] { SparseCrf(Matrix<double>(0, 4), {}, PottsLabels(4)); }, "no variables");
  ExpectInvalid([] { SparseCrf(Matrix<double>(), {}, PottsLabels(4)); }, "no variables");
}

TEST(SparseCrfTest, RefusesBadEdges) {
  const auto with_edge = [](Edge bad) {
    return [bad] {
      SparseCrf(Matrix<double>(3, 2), {{0, 1, 1.0}, {1, 2, 0.0}, bad}, PottsLabels(2));
    };
  };
  ExpectInvalid(with_edge({1, 1}), "edge 2 joins variable 1 to itself");
  ExpectInvalid(with_edge({0, 3}), "edge 2 joins variables 0 and 3, but the variables are 0..2");
  ExpectInvalid(with_edge({-1, 2}), "edge 2 joins variables -1 and 2");
  ExpectInvalid(with_edge({0, 2, -0.5}), "edge 2 between variables 0 and 2 has weight -0.5");
  ExpectInvalid(with_edge({0, 2, std::nan("")}), "has weight nan");
  ExpectInvalid(with_edge({0, 2, kInfinity}), "has weight inf");
  ExpectInvalid(with_edge({0, 2, 1.0, 1}), "edge 2 names label metric 1, but there are 1");
  ExpectInvalid(with_edge({0, 2, 1.0, -1}), "edge 2 names label metric -1");
}

TEST(SparseCrfTest, RefusesABadConstant) {
  for (double bad : {std::nan(""), kInfinity, -kInfinity}) {
    ExpectInvalid([&] { SparseCrf(Matrix<double>(1, 2), {}, PottsLabels(2), bad); },
                  "the constant energy is");
  }
}

TEST(SparseCrfTest, RefusesALabelSpaceThatDoesNotFitItself) {
  const auto with_labels = [](LabelSpace labels) {
    return [labels] { SparseCrf(Matrix<double>(2, 3), {{0, 1}}, labels); };
  };
  ExpectInvalid(with_labels({}), "no label cuts");
  LabelSpace labels = PottsLabels(3);
  labels.metrics.push_back(LinearLabels(3).metrics[0]);
  ExpectInvalid(with_labels(labels), "label metric 1 has 4 cut lengths");
  labels = PottsLabels(3);
  labels.metrics[0].distance = Matrix<double>(3, 2);
  ExpectInvalid(with_labels(labels), "label metric 0 has a distance matrix of 3 x 2");
  for (double bad : {-0.5, std::nan(""), kInfinity}) {
    labels = PottsLabels(3);
    labels.metrics[0].length[1] = bad;
    ExpectInvalid(with_labels(labels), "cut 1 of label metric 0 has length");
  }
}

TEST(SparseCrfTest, AcceptsIsolatedVariablesAndParallelEdges) {
  const SparseCrf model(Matrix<double>(3, 2), {{0, 1, 1.0}, {1, 0, 2.0}}, PottsLabels(2));
  EXPECT_EQ(model.incident(0).size(), 2u);
  EXPECT_TRUE(model.incident(2).empty());
  EXPECT_EQ(model.Energy(std::vector<int>{0, 1, 0}), 3.0);
}

TEST(SparseCrfTest, IncidenceListsHoldEveryEdgeOnceAtEachEnd) {
  RandomModels random(1);
  for (int trial = 0; trial < 50; ++trial) {
    const SparseCrf model = random.Model(random.Integer(1, 12), 3);
    std::vector<int> sign_sum(model.num_edges(), 0);
    std::vector<int> seen(model.num_edges(), 0);
    for (std::size_t a = 0; a < model.num_variables(); ++a) {
      std::int64_t last = -1;
      for (const Incidence& at : model.incident(a)) {
        const Edge& e = model.edges()[at.edge];
        EXPECT_EQ(at.sign > 0 ? e.a : e.b, a);
        EXPECT_EQ(std::abs(at.sign), 1);
        EXPECT_GT(static_cast<std::int64_t>(at.edge), last) << "not in edge order";
        last = at.edge;
        ++seen[at.edge];
        sign_sum[at.edge] += at.sign;
      }
    }
    for (std::size_t e = 0; e < model.num_edges(); ++e) {
      EXPECT_EQ(seen[e], 2);
      EXPECT_EQ(sign_sum[e], 0);
    }
  }
}

TEST(SparseCrfTest, EnergyByHand) {
  Matrix<double> unary(3, 3);
  for (int a = 0; a < 3; ++a) {
    for (int i = 0; i < 3; ++i) unary(a, i) = 10.0 * a + i;
  }
  LabelSpace labels = LinearLabels(3);
  labels.metrics.push_back({"capped", Matrix<double>(3, 3, 0.25), labels.metrics[0].length});
  const SparseCrf model(unary, {{0, 1, 2.0, 0}, {2, 1, 4.0, 1}}, labels, -0.5);
  // -0.5 + (0 + 2) + (10 + 0) + (20 + 1) + 2 |2 - 0| + 4 * 0.25
  EXPECT_EQ(model.Energy(std::vector<int>{2, 0, 1}), 37.5);
}

TEST(SparseCrfTest, DescribesItself) {
  const SparseCrf model(Matrix<double>(6, 4), GridEdges(3, 2, 4, 1.0), TruncatedLinearLabels(4, 2));
  EXPECT_EQ(model.Description(),
            "sparse CRF with 6 variables, 7 edges, 4 labels, metric truncated:2");
  LabelSpace contracted = PottsLabels(4);
  contracted.metrics[0].distortion = 1.25;
  EXPECT_THAT(SparseCrf(Matrix<double>(1, 4), {}, contracted).Description(),
              HasSubstr("worst ratio d/d' 1.25"));
}

TEST(GridEdgesTest, CountsAndNeighbours) {
  for (const auto& [width, height] : {std::pair(1, 1), {1, 6}, {6, 1}, {2, 2}, {5, 4}, {3, 7}}) {
    for (int connectivity : {4, 8}) {
      SCOPED_TRACE(::testing::Message() << width << " x " << height << ", " << connectivity);
      const std::vector<Edge> edges = GridEdges(width, height, connectivity, 0.75);
      const int straight = (width - 1) * height + width * (height - 1);
      const int diagonal = 2 * (width - 1) * (height - 1);
      EXPECT_EQ(static_cast<int>(edges.size()), connectivity == 4 ? straight : straight + diagonal);
      std::set<std::pair<int, int>> pairs;
      for (const Edge& e : edges) {
        EXPECT_EQ(e.weight, 0.75);
        EXPECT_EQ(e.metric, 0);
        EXPECT_LT(e.a, e.b);
        EXPECT_LT(e.b, width * height);
        const int dx = std::abs(e.a % width - e.b % width);
        const int dy = e.b / width - e.a / width;
        EXPECT_LE(dx, 1);
        EXPECT_LE(dy, 1);
        if (connectivity == 4) {
          EXPECT_EQ(dx + dy, 1);
        }
        pairs.insert({e.a, e.b});
      }
      EXPECT_EQ(pairs.size(), edges.size()) << "an edge appears twice";
    }
  }
}

TEST(GridEdgesTest, RefusesBadGrids) {
  for (int connectivity : {0, 3, 6, 16}) {
    ExpectInvalid([&] { GridEdges(3, 3, connectivity, 1.0); },
                  "4- or 8-connected, not " + std::to_string(connectivity));
  }
  ExpectInvalid([] { GridEdges(0, 3, 4, 1.0); }, "0 x 3");
  ExpectInvalid([] { GridEdges(3, -1, 4, 1.0); }, "3 x -1");
  ExpectInvalid([] { GridEdges(1 << 20, 1 << 20, 4, 1.0); }, "more than 2^31 - 1");
}

TEST(ToFactorGraphTest, HasTheSameEnergyEverywhere) {
  RandomModels random(2);
  for (int trial = 0; trial < 60; ++trial) {
    const SparseCrf model = random.Model(random.Integer(1, 5), random.Integer(2, 4));
    const FactorGraph graph = ToFactorGraph(model);
    EXPECT_NO_THROW(Validate(graph));
    std::vector<int> labeling(model.unary().rows(), 0);
    do {
      const double expected = model.Energy(labeling);
      ASSERT_NEAR(Energy(graph, labeling), expected, 1e-12 * (1.0 + std::abs(expected)));
    } while (NextLabeling(&labeling, model.num_labels()));
  }
}

}  // namespace
}  // namespace submarine::internal
