// T = 0: the bound's optimum is the linear relaxation of the energy (P-LP for Potts, T-LP for
// trees). Compared with Clp's simplex method on the same programme, written out with one variable
// per |y_a(S) - y_b(S)|.
#include <gtest/gtest.h>

#include <cmath>
#include <coin/ClpSimplex.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <vector>

#include "submarine/model/random_models_test_util.h"
#include "submarine/solver/exact.h"
#include "submarine/solver/pdhg.h"
#include "submarine/solver/rounding.h"

namespace submarine {
namespace {

using testing::RandomModels;

// min <phi,y> + sum w l t,  t >= +-(y_a(S) - y_b(S)),  rows of y in the simplex.
double RelaxationBySimplex(const SparseCrf& model) {
  const LabelCuts& cuts = *model.labels().cuts;
  const int variables = model.num_variables();
  const int labels = model.num_labels();
  std::vector<double> cost(model.unary().data(), model.unary().data() + model.unary().size());
  CoinPackedMatrix matrix(false, 0.0, 0.0);
  std::vector<double> row_lower;
  std::vector<double> row_upper;
  std::vector<std::pair<std::vector<int>, std::vector<double>>> rows;
  for (int a = 0; a < variables; ++a) {
    std::vector<int> columns;
    for (int i = 0; i < labels; ++i) columns.push_back(a * labels + i);
    rows.emplace_back(columns, std::vector<double>(columns.size(), 1.0));
    row_lower.push_back(1.0);
    row_upper.push_back(1.0);
  }
  for (const Edge& e : model.edges()) {
    for (int c = 0; c < cuts.num_cuts(); ++c) {
      const double capacity = e.weight * model.metric(e).length[static_cast<std::size_t>(c)];
      if (capacity == 0.0) continue;
      const int t = static_cast<int>(cost.size());
      cost.push_back(capacity);
      for (double sign : {1.0, -1.0}) {
        std::vector<int> columns{t};
        std::vector<double> values{1.0};
        for (int i : cuts.set(c)) {
          columns.insert(columns.end(), {e.a * labels + i, e.b * labels + i});
          values.insert(values.end(), {-sign, sign});
        }
        rows.emplace_back(columns, values);
        row_lower.push_back(0.0);
        row_upper.push_back(COIN_DBL_MAX);
      }
    }
  }
  const int columns = static_cast<int>(cost.size());
  matrix.setDimensions(0, columns);
  for (const auto& [indices, values] : rows) {
    matrix.appendRow(static_cast<int>(indices.size()), indices.data(), values.data());
  }
  const std::vector<double> column_lower(cost.size(), 0.0);
  const std::vector<double> column_upper(cost.size(), COIN_DBL_MAX);
  ClpSimplex simplex;
  simplex.setLogLevel(0);
  simplex.loadProblem(matrix, column_lower.data(), column_upper.data(), cost.data(),
                      row_lower.data(), row_upper.data());
  simplex.primal();
  EXPECT_TRUE(simplex.isProvenOptimal());
  return simplex.objectiveValue() + model.constant();
}

TEST(LinearProgramme, AgreesWithSimplexAndBracketsTheMap) {
  RandomModels random(2018);
  for (int trial = 0; trial < 400 && !HasFailure(); ++trial) {
    const SparseCrf model = random.Model(random.Integer(2, 8), random.Integer(2, 5));
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    PdhgOptions options;
    options.temperature = 0.0;
    options.relative_gap = 1e-4;
    options.max_iterations = 100000;
    const BoundResult result = SolvePdhg(model, options);
    EXPECT_EQ(result.termination, Termination::kGapReached)
        << RelativeGap(result.upper, result.dual);

    const double relaxation = RelaxationBySimplex(model);
    const double tolerance = 1e-6 * (1.0 + std::abs(relaxation));
    EXPECT_LE(-result.upper, relaxation + tolerance);
    EXPECT_GE(-result.dual, relaxation - tolerance);
    EXPECT_NEAR(-result.upper, relaxation,
                1e-4 * std::max(1.0, std::abs(result.upper)) + tolerance);

    const double least = -SolveExact(ToFactorGraph(model), {0.0}).log_partition;
    const Labeling rounded = RoundMarginals(model, result.marginals, 32, 1);
    EXPECT_LE(-result.upper, least + tolerance);
    EXPECT_GE(rounded.energy, least - tolerance);
  }
}

// 2 labels: the relaxation is tight (a minimum cut), and rounding finds the MAP.
TEST(LinearProgramme, IsTightForTwoLabels) {
  RandomModels random(2019);
  for (int trial = 0; trial < 100 && !HasFailure(); ++trial) {
    const SparseCrf model = random.Model(random.Integer(2, 9), PottsLabels(2), -5.0, 5.0);
    PdhgOptions options;
    options.temperature = 0.0;
    options.relative_gap = 1e-5;
    options.max_iterations = 200000;
    const BoundResult result = SolvePdhg(model, options);
    const double least = -SolveExact(ToFactorGraph(model), {0.0}).log_partition;
    EXPECT_NEAR(-result.upper, least, 2e-5 * (1.0 + std::abs(least)));
    EXPECT_NEAR(RoundMarginals(model, result.marginals, 32, 1).energy, least,
                1e-9 * (1.0 + std::abs(least)));
  }
}

}  // namespace
}  // namespace submarine
