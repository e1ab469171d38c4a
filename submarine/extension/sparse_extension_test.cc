#include "submarine/extension/sparse_extension.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "submarine/extension/set_function_test_util.h"
#include "submarine/labels/label_tree.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::NextLabeling;
using testing::RandomModels;

// Label spaces with the number of variables that keeps the ground set at 16 elements or fewer.
struct SmallSpace {
  LabelSpace labels;
  int variables;
};

std::vector<SmallSpace> SmallSpaces() {
  return {{PottsLabels(2), 6},
          {PottsLabels(3), 5},
          {PottsLabels(5), 3},
          {LinearLabels(3), 4},
          {LinearLabels(4), 2},
          {TruncatedLinearLabels(4, 2), 2},
          {LabelTree::Regular({2, 2}, {1.0, 0.5}).ToLabels(), 2},
          {LabelTree::Regular({3, 2}, {2.0, 0.25}).ToLabels(), 1}};
}

std::string NameOf(ExtensionKind kind) {
  return kind == ExtensionKind::kOptimal ? "optimal" : "alternate";
}

SetFunction Oracle(const SparseExtension& extension) {
  return [&extension](std::span<const char> in_set) { return extension.Value(in_set); };
}

std::span<const double> Flat(const Matrix<double>& m) { return {m.data(), m.size()}; }

double Dot(const Matrix<double>& x, const Matrix<double>& y) {
  return std::inner_product(x.data(), x.data() + x.size(), y.data(), 0.0);
}

double LargestDifference(const Matrix<double>& x, const Matrix<double>& y) {
  if (x.rows() != y.rows() || x.cols() != y.cols()) return HUGE_VAL;
  double largest = 0.0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    largest = std::max(largest, std::abs(x.data()[k] - y.data()[k]));
  }
  return largest;
}

// Runs the test on both kinds over random models, unaries of both signs.
class SparseExtensionTest : public ::testing::Test {
 protected:
  template <class Body>
  void ForEachExtension(int repeats, const Body& body) {
    for (int repeat = 0; repeat < repeats; ++repeat) {
      for (const SmallSpace& space : SmallSpaces()) {
        const SparseCrf model =
            random_.Model(space.variables, space.labels, repeat % 2 == 0 ? -5.0 : 0.0, 5.0);
        for (ExtensionKind kind : {ExtensionKind::kOptimal, ExtensionKind::kAlternate}) {
          SCOPED_TRACE(NameOf(kind) + " extension of " + model.Description());
          body(SparseExtension(model, kind));
          if (HasFailure()) return;
        }
      }
    }
  }

  Matrix<double> RandomPoint(const SparseCrf& model) {
    return random_.Points(model.unary().rows(), model.num_cuts(), -1.0, 1.0);
  }

  // A point with many ties.
  Matrix<double> RandomCoarsePoint(const SparseCrf& model) {
    Matrix<double> z = RandomPoint(model);
    for (std::size_t k = 0; k < z.size(); ++k) z.data()[k] = std::round(z.data()[k]);
    return z;
  }

  Flow RandomFlow(const SparseExtension& extension) {
    Flow flow = extension.NeutralFlow();
    for (std::size_t k = 0; k < flow.edge.size(); ++k) flow.edge.data()[k] = random_.Real(-1, 1);
    for (std::size_t k = 0; k < flow.cycle.size(); ++k) flow.cycle.data()[k] = random_.Real(0, 1);
    return flow;
  }

  RandomModels random_{1};
};

std::vector<char> SetOfLabeling(const SparseCrf& model, const std::vector<int>& labeling) {
  std::vector<char> in_set;
  for (int label : labeling) {
    for (int c = 0; c < model.num_cuts(); ++c) {
      in_set.push_back(static_cast<char>(model.labels().cuts->contains(c, label)));
    }
  }
  return in_set;
}

TEST_F(SparseExtensionTest, ExtendsTheEnergy) {
  ForEachExtension(3, [&](const SparseExtension& extension) {
    const SparseCrf& model = extension.model();
    std::vector<int> labeling(model.unary().rows(), 0);
    do {
      EXPECT_NEAR(extension.Value(SetOfLabeling(model, labeling)) + extension.offset(),
                  model.Energy(labeling), 1e-11);
    } while (NextLabeling(&labeling, model.num_labels()));
    EXPECT_EQ(extension.Value(std::vector<char>(model.unary().rows() * model.num_cuts(), 0)), 0.0);
  });
}

// Where cuts only bound the metric from below, F extends the energy with the distance of the cuts.
TEST_F(SparseExtensionTest, ExtendsTheContractedEnergy) {
  LabelSpace labels = LinearLabels(3);
  labels.metrics[0].length = {0.3, 0.1, 0.0, 0.6};
  LabelSpace contracted = labels;
  contracted.metrics[0].distance = CutDistance(*labels.cuts, labels.metrics[0].length);
  const SparseCrf model = random_.Model(3, labels, -2.0, 2.0);
  const SparseCrf smaller(model.unary(), model.edges(), contracted, model.constant());
  const SparseExtension extension(model, ExtensionKind::kOptimal);
  std::vector<int> labeling(3, 0);
  do {
    EXPECT_NEAR(extension.Value(SetOfLabeling(model, labeling)) + extension.offset(),
                smaller.Energy(labeling), 1e-12);
  } while (NextLabeling(&labeling, 3));
}

TEST_F(SparseExtensionTest, IsSubmodular) {
  ForEachExtension(3, [&](const SparseExtension& extension) {
    const std::size_t elements = extension.model().unary().rows() * extension.model().num_cuts();
    for (int trial = 0; trial < 300; ++trial) {
      std::vector<char> a(elements);
      std::vector<char> b(elements);
      std::vector<char> both(elements);
      std::vector<char> either(elements);
      for (std::size_t k = 0; k < elements; ++k) {
        a[k] = static_cast<char>(random_.Integer(0, 1));
        b[k] = static_cast<char>(random_.Integer(0, 1));
        both[k] = a[k] && b[k];
        either[k] = a[k] || b[k];
      }
      ASSERT_GE(extension.Value(a) + extension.Value(b),
                extension.Value(both) + extension.Value(either) - 1e-11);
    }
  });
}

TEST_F(SparseExtensionTest, LovaszMatchesTheGenericGreedy) {
  ForEachExtension(5, [&](const SparseExtension& extension) {
    for (const Matrix<double>& z :
         {RandomPoint(extension.model()), RandomCoarsePoint(extension.model())}) {
      const double expected = LovaszValue(Oracle(extension), Flat(z));
      EXPECT_NEAR(extension.Lovasz(z), expected, 1e-11 * (1.0 + std::abs(expected)));
    }
  });
}

TEST_F(SparseExtensionTest, GreedyFlowAttainsTheLovaszValueWithinThePolymatroid) {
  ForEachExtension(1, [&](const SparseExtension& extension) {
    for (const Matrix<double>& z :
         {RandomPoint(extension.model()), RandomCoarsePoint(extension.model())}) {
      const Matrix<double> s = extension.Modular(extension.GreedyFlow(z));
      EXPECT_NEAR(Dot(s, z), extension.Lovasz(z), 1e-10);
      EXPECT_LE(WorstViolation(Oracle(extension), Flat(s)), 1e-9);
    }
  });
}

TEST_F(SparseExtensionTest, GreedyFlowIsTheGreedyVertexWithoutTies) {
  ForEachExtension(5, [&](const SparseExtension& extension) {
    const Matrix<double> z = RandomPoint(extension.model());
    const Matrix<double> s = extension.Modular(extension.GreedyFlow(z));
    const std::vector<double> expected = GreedyVertex(Oracle(extension), Flat(z));
    for (std::size_t k = 0; k < expected.size(); ++k) {
      EXPECT_NEAR(s.data()[k], expected[k], 1e-11);
    }
  });
}

TEST_F(SparseExtensionTest, FlowsWithinBoundsAreInThePolymatroid) {
  ForEachExtension(1, [&](const SparseExtension& extension) {
    const SetFunction f = Oracle(extension);
    EXPECT_LE(WorstViolation(f, Flat(extension.Modular(RandomFlow(extension)))), 1e-9);
    EXPECT_LE(WorstViolation(f, Flat(extension.Modular(extension.NeutralFlow()))), 1e-9);
    if (extension.kind() == ExtensionKind::kOptimal) {
      Matrix<double> v = RandomPoint(extension.model());
      for (std::size_t k = 0; k < v.size(); ++k) v.data()[k] *= 3.0;
      EXPECT_LE(WorstViolation(f, Flat(extension.Modular(extension.PotentialFlow(v)))), 1e-9);
    }
  });
}

TEST_F(SparseExtensionTest, FlowsOutOfBoundsAreNot) {
  Matrix<double> unary(2, 2);
  unary(0, 0) = 2.0;
  unary(1, 1) = -1.0;
  const SparseCrf model(unary, {{0, 1, 3.0}}, PottsLabels(2));
  for (ExtensionKind kind : {ExtensionKind::kOptimal, ExtensionKind::kAlternate}) {
    SCOPED_TRACE(NameOf(kind));
    const SparseExtension extension(model, kind);
    Flow flow = extension.NeutralFlow();
    flow.edge(0, 1) = 1.5;
    // The edge sends 1.5 times its capacity 3 * 1/2 from (0,1) to (1,1): the excess is 0.75.
    EXPECT_GE(WorstViolation(Oracle(extension), Flat(extension.Modular(flow))),
              kind == ExtensionKind::kOptimal ? 0.75 : 1e-3);
  }
}

TEST_F(SparseExtensionTest, CyclesOutOfBoundsAreNot) {
  Matrix<double> unary(1, 2);
  unary(0, 0) = 2.0;
  const SparseCrf model(unary, {}, PottsLabels(2));
  const SparseExtension extension(model, ExtensionKind::kAlternate);
  for (double share : {-0.5, 1.5}) {
    Flow flow = extension.NeutralFlow();
    flow.cycle(0, 0) = share;
    EXPECT_NEAR(WorstViolation(Oracle(extension), Flat(extension.Modular(flow))), 1.0, 1e-12);
  }
}

TEST_F(SparseExtensionTest, PotentialFlowClipsDifferences) {
  const SparseCrf model(Matrix<double>(2, 2), {{1, 0, 1.0}}, PottsLabels(2));
  const SparseExtension extension(model, ExtensionKind::kOptimal);
  Matrix<double> v(2, 2);
  v(0, 0) = 0.25;
  v(1, 1) = -7.0;
  const Flow flow = extension.PotentialFlow(v);
  EXPECT_EQ(flow.edge(0, 0), -0.25);
  EXPECT_EQ(flow.edge(0, 1), -1.0);
}

TEST_F(SparseExtensionTest, NeutralFlowLeavesTheUnaries) {
  ForEachExtension(1, [&](const SparseExtension& extension) {
    const SparseCrf& model = extension.model();
    const Matrix<double> s = extension.Modular(extension.NeutralFlow());
    for (std::size_t a = 0; a < model.num_variables(); ++a) {
      const auto phi = model.unary().row(a);
      const double shift = std::min(0.0, *std::min_element(phi.begin(), phi.end()));
      for (int c = 0; c < model.num_cuts(); ++c) {
        double expected = 0.0;
        if (c < model.num_labels()) {
          const int previous = (c + model.num_labels() - 1) % model.num_labels();
          expected = extension.kind() == ExtensionKind::kOptimal
                         ? phi[c]
                         : 0.5 * (phi[c] - shift) - 0.5 * (phi[previous] - shift);
        }
        EXPECT_NEAR(s(a, c), expected, 1e-13);
      }
    }
  });
}

TEST_F(SparseExtensionTest, LabelModularSumsOverTheCutsOfALabel) {
  ForEachExtension(3, [&](const SparseExtension& extension) {
    const SparseCrf& model = extension.model();
    const Flow flow = RandomFlow(extension);
    const Matrix<double> s = extension.Modular(flow);
    Matrix<double> expected(model.unary().rows(), model.num_labels(), 0.0);
    for (std::size_t a = 0; a < model.num_variables(); ++a) {
      for (int c = 0; c < model.num_cuts(); ++c) {
        for (int i : model.labels().cuts->set(c)) expected(a, i) += s(a, c);
      }
    }
    Matrix<double> s_label(model.unary().rows(), model.num_labels());
    extension.LabelModular(flow, &s_label);
    EXPECT_LE(LargestDifference(s_label, expected), 1e-11);
    std::vector<double> scratch(model.num_cuts());
    std::vector<double> row(model.num_labels());
    extension.LabelModularRow(flow, 0, scratch, row);
    EXPECT_TRUE(std::equal(row.begin(), row.end(), s_label.row(0).begin()));
  });
}

TEST_F(SparseExtensionTest, GreedyLabelModularIsThatOfTheGreedyFlow) {
  ForEachExtension(5, [&](const SparseExtension& extension) {
    const SparseCrf& model = extension.model();
    for (const Matrix<double>& z : {RandomPoint(model), RandomCoarsePoint(model)}) {
      Matrix<double> expected(model.unary().rows(), model.num_labels());
      extension.LabelModular(extension.GreedyFlow(z), &expected);
      Matrix<double> s_label(expected.rows(), expected.cols());
      extension.GreedyLabelModular(z, &s_label);
      EXPECT_LE(LargestDifference(s_label, expected), 1e-11);
    }
  });
}

TEST_F(SparseExtensionTest, BlendingIsAConvexCombination) {
  ForEachExtension(3, [&](const SparseExtension& extension) {
    const Matrix<double> z = RandomCoarsePoint(extension.model());
    const Flow start = RandomFlow(extension);
    const Flow greedy = extension.GreedyFlow(z);
    for (double rate : {0.0, 0.3, 1.0}) {
      Flow blended = start;
      extension.BlendTowardsGreedy(z, rate, &blended);
      for (std::size_t k = 0; k < start.edge.size(); ++k) {
        EXPECT_NEAR(blended.edge.data()[k],
                    (1.0 - rate) * start.edge.data()[k] + rate * greedy.edge.data()[k], 1e-15);
      }
      for (std::size_t k = 0; k < start.cycle.size(); ++k) {
        EXPECT_NEAR(blended.cycle.data()[k],
                    (1.0 - rate) * start.cycle.data()[k] + rate * greedy.cycle.data()[k], 1e-15);
      }
    }
  });
}

TEST_F(SparseExtensionTest, GreedyFlowSaturatesFromLargeToSmallAndSplitsTies) {
  const SparseCrf model(Matrix<double>(2, 3, 1.0), {{0, 1, 1.0}}, PottsLabels(3));
  const SparseExtension extension(model, ExtensionKind::kAlternate);
  Matrix<double> z(2, 3);
  z(0, 0) = 0.5;
  z(0, 1) = 0.5;
  z(1, 0) = 0.25;
  z(1, 1) = 0.75;
  const Flow flow = extension.GreedyFlow(z);
  EXPECT_EQ(flow.edge(0, 0), 1.0);
  EXPECT_EQ(flow.edge(0, 1), -1.0);
  EXPECT_EQ(flow.edge(0, 2), 0.0);
  EXPECT_EQ(flow.cycle(0, 0), 0.5);  // z_0 = z_1
  EXPECT_EQ(flow.cycle(0, 1), 1.0);  // z_1 > z_2
  EXPECT_EQ(flow.cycle(0, 2), 0.0);  // z_2 < z_0
}

TEST_F(SparseExtensionTest, CutSumsFollowTheDefinition) {
  for (const SmallSpace& space : SmallSpaces()) {
    const SparseCrf model = random_.Model(space.variables, space.labels, 0.0, 1.0);
    const Matrix<double> y = random_.Points(space.variables, model.num_labels(), 0.0, 1.0);
    Matrix<double> storage;
    const Matrix<double>& z = CutSums(model, y, &storage);
    if (model.labels().cuts->leaves_only()) {
      EXPECT_EQ(&z, &y);
      continue;
    }
    EXPECT_EQ(&z, &storage);
    for (std::size_t a = 0; a < model.num_variables(); ++a) {
      for (int c = 0; c < model.num_cuts(); ++c) {
        double expected = 0.0;
        for (int i : model.labels().cuts->set(c)) expected += y(a, i);
        EXPECT_NEAR(z(a, c), expected, 1e-14);
      }
    }
  }
}

// Shifted unaries: the alternate extension of phi and of phi - 3 differ by the offset only.
TEST_F(SparseExtensionTest, NegativeUnariesAreShiftedIntoTheOffset) {
  Matrix<double> unary(1, 3);
  for (int i = 0; i < 3; ++i) unary(0, i) = i;
  Matrix<double> lower = unary;
  for (double& value : lower.row(0)) value -= 3.0;
  const SparseCrf model(unary, {}, PottsLabels(3), 0.5);
  const SparseCrf shifted(lower, {}, PottsLabels(3), 0.5);
  EXPECT_EQ(SparseExtension(model, ExtensionKind::kOptimal).offset(), 0.5);
  EXPECT_EQ(SparseExtension(shifted, ExtensionKind::kOptimal).offset(), 0.5);
  EXPECT_EQ(SparseExtension(model, ExtensionKind::kAlternate).offset(), 0.5);
  EXPECT_EQ(SparseExtension(shifted, ExtensionKind::kAlternate).offset(), 0.5 - 3.0);
  const std::vector<char> middle{0, 1, 0};
  EXPECT_EQ(SparseExtension(model, ExtensionKind::kAlternate).Value(middle), 1.0);
  EXPECT_EQ(SparseExtension(shifted, ExtensionKind::kAlternate).Value(middle), 1.0);
}

}  // namespace
}  // namespace submarine::internal
