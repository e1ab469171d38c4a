#include "submarine/solver/mean_field/label_merging.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "submarine/filter/operator_choice.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

ChosenOperator AllPairs(const DenseCrf& model) {
  OperatorOptions options;
  options.kind = OperatorKind::kBruteForce;
  return MakeOperator(model.num_variables(), PairWeights(model), {model.unary().cols(), false},
                      options);
}

std::vector<int> Replaced(std::vector<int> labels, int from, int to) {
  std::replace(labels.begin(), labels.end(), from, to);
  return labels;
}

TEST(LabelMergingTest, EndsWhereNoReplacementGains) {
  testing::RandomModels random(3);
  std::mt19937_64 rng(4);
  int merges = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const DenseCrf model = random.Dense(12, random.Labels(4));
    const ChosenOperator pairs = AllPairs(model);
    const DenseExtension extension(model, *pairs.op);
    std::vector<int> labels(model.num_variables());
    for (int& label : labels)
      label = std::uniform_int_distribution<int>(0, model.num_labels() - 1)(rng);
    const std::vector<int> merged = MergeLabels(extension, labels);
    std::map<int, int> by;
    for (std::size_t a = 0; a < labels.size(); ++a)
      EXPECT_EQ(by.emplace(labels[a], merged[a]).first->second, merged[a]);
    const double energy = extension.Energy(merged);
    merges += merged != labels ? 1 : 0;
    if (merged != labels) {
      EXPECT_LT(energy, extension.Energy(labels));
    }
    for (int from = 0; from < model.num_labels(); ++from) {
      for (int to = 0; to < model.num_labels(); ++to)
        EXPECT_GE(extension.Energy(Replaced(merged, from, to)), energy - 1e-3);
    }
  }
  EXPECT_GT(merges, 50);
  EXPECT_LT(merges, 200);
}

}  // namespace
}  // namespace submarine::internal
