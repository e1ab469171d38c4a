#include "submarine/solver/forest/forest_messages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "submarine/labels/label_tree.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::RandomModels;
using Kind = MetricShape::Kind;

MetricShape ShapeOf(const LabelSpace& labels) {
  return internal::ShapeOf(*labels.cuts, labels.metrics.front());
}

TEST(ForestMessages, RecognisesTheMetrics) {
  EXPECT_EQ(ShapeOf(PottsLabels(5)).kind, Kind::kPotts);
  EXPECT_EQ(ShapeOf(PottsLabels(2)).kind, Kind::kPotts);
  EXPECT_EQ(ShapeOf(LinearLabels(6)).kind, Kind::kLinear);
  EXPECT_EQ(ShapeOf(TruncatedLinearLabels(8, 3)).kind, Kind::kTruncated);
  EXPECT_EQ(ShapeOf(TruncatedLinearLabels(8, 1)).kind, Kind::kPotts);
  EXPECT_EQ(ShapeOf(LabelTree::Regular({2, 2, 5}, {1.0, 1.0, 0.5}).ToLabels()).kind, Kind::kTree);
  LabelSpace other = LinearLabels(4);
  other.metrics[0].distance(0, 3) = other.metrics[0].distance(3, 0) = 2.5;
  EXPECT_EQ(ShapeOf(other).kind, Kind::kTable);
}

double Direct(const PairKernel& kernel, bool forward, const std::vector<double>& q,
              std::size_t to) {
  double sum = 0.0;
  for (std::size_t i = 0; i < q.size(); ++i)
    sum += q[i] * std::exp(forward ? kernel.LogEntry(i, to) : kernel.LogEntry(to, i));
  return sum;
}

// The fast forms lose no accuracy, even in entries many orders of magnitude below the largest.
TEST(ForestMessages, FastFormsAgreeWithTheTable) {
  RandomModels random(11);
  for (int trial = 0; trial < 600; ++trial) {
    const LabelSpace labels = random.Labels(random.Integer(2, 12));
    const auto shape = std::make_shared<MetricShape>(ShapeOf(labels));
    ASSERT_NE(shape->kind, Kind::kTable) << labels.metrics[0].name;
    const PairKernel kernel = PairKernel::Metric(shape, random.Real(0.0, 8.0));
    std::vector<double> q;
    for (int i = 0; i < labels.num_labels(); ++i)
      q.push_back(random.Integer(0, 4) == 0 ? 0.0 : std::exp(random.Real(-60.0, 0.0)));
    q[static_cast<std::size_t>(random.Integer(0, labels.num_labels() - 1))] = 1.0;
    std::vector<double> out(q.size());
    kernel.Apply(trial % 2 == 0, q.data(), out.data());
    for (std::size_t j = 0; j < out.size(); ++j) {
      const double expected = Direct(kernel, true, q, j);
      EXPECT_NEAR(out[j], expected, 1e-13 * expected) << labels.metrics[0].name << ", label " << j;
    }
  }
}

TEST(ForestMessages, TablesWorkInBothDirections) {
  RandomModels random(12);
  for (int trial = 0; trial < 100; ++trial) {
    const auto rows = static_cast<std::size_t>(random.Integer(1, 6));
    const auto columns = static_cast<std::size_t>(random.Integer(1, 6));
    const Matrix<double> energy = random.Points(rows, columns, -4.0, 4.0);
    const PairKernel kernel = PairKernel::Table(energy, 1.5);
    for (bool forward : {true, false}) {
      std::vector<double> q(kernel.labels_from(forward));
      for (double& x : q) x = random.Real(0.0, 1.0);
      std::vector<double> out(kernel.labels_to(forward));
      kernel.Apply(forward, q.data(), out.data());
      for (std::size_t j = 0; j < out.size(); ++j) {
        double expected = 0.0;
        for (std::size_t i = 0; i < q.size(); ++i)
          expected += q[i] * std::exp(-1.5 * (forward ? energy(i, j) : energy(j, i)));
        EXPECT_NEAR(out[j] * std::exp(kernel.log_scale()), expected, 1e-12 * (1e-3 + expected));
      }
    }
  }
}

// Any range: small ones by exponentials, large ones entry by entry.
TEST(ForestMessages, LogFormNeverOverflows) {
  RandomModels random(13);
  for (int trial = 0; trial < 400; ++trial) {
    const LabelSpace labels = random.Labels(random.Integer(2, 8));
    const PairKernel kernel = PairKernel::Metric(std::make_shared<MetricShape>(ShapeOf(labels)),
                                                 std::pow(10.0, random.Real(-3.0, 7.0)));
    std::vector<double> q;
    const double spread = std::pow(10.0, random.Real(0.0, 6.0));
    for (int i = 0; i < labels.num_labels(); ++i) q.push_back(random.Real(-spread, spread));
    std::vector<double> out(q.size());
    kernel.ApplyLog(trial % 2 == 0, q.data(), out.data());
    for (std::size_t j = 0; j < out.size(); ++j) {
      double largest = -HUGE_VAL;
      for (std::size_t i = 0; i < q.size(); ++i)
        largest = std::max(largest, q[i] + kernel.LogEntry(i, j));
      double sum = 0.0;
      for (std::size_t i = 0; i < q.size(); ++i)
        sum += std::exp(q[i] + kernel.LogEntry(i, j) - largest);
      const double expected = largest + std::log(sum);
      EXPECT_NEAR(out[j], expected, 1e-12 * (1.0 + spread + std::abs(expected)))
          << labels.metrics[0].name;
    }
  }
}

}  // namespace
}  // namespace submarine::internal
