#include "submarine/model/factor_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "submarine/base/error.h"

namespace submarine::internal {
namespace {

using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void ExpectInvalid(const FactorGraph& graph, const std::string& part_of_message) {
  try {
    Validate(graph);
    ADD_FAILURE() << "expected InvalidInput: " << part_of_message;
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), HasSubstr(part_of_message));
  }
}

TEST(FactorGraphTest, AcceptsValidGraphs) {
  EXPECT_NO_THROW(Validate({}));
  EXPECT_NO_THROW(Validate({{3}, {}}));
  EXPECT_NO_THROW(Validate({{1, 2}, {{{}, {-4.0}}, {{1, 0}, {0.0, kInfinity}}}}));
}

TEST(FactorGraphTest, EnergyReadsTablesLastVariableFastest) {
  const FactorGraph graph{{2, 3, 2},
                          {{{}, {0.5}},
                           {{1}, {10.0, 20.0, 30.0}},
                           {{2, 1}, {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}},
                           {{0, 1, 2}, std::vector<double>(12, 100.0)}}};
  Validate(graph);
  EXPECT_EQ(Energy(graph, {1, 2, 1}), 0.5 + 30.0 + 5.0 + 100.0);
  EXPECT_EQ(Energy(graph, {0, 0, 1}), 0.5 + 10.0 + 3.0 + 100.0);
  EXPECT_EQ(Energy(graph, {0, 1, 0}), 0.5 + 20.0 + 1.0 + 100.0);
}

TEST(FactorGraphTest, ForbiddenLabelingsHaveInfiniteEnergy) {
  const FactorGraph graph{{2}, {{{0}, {1.0, kInfinity}}, {{0}, {2.0, 2.0}}}};
  EXPECT_EQ(Energy(graph, {0}), 3.0);
  EXPECT_EQ(Energy(graph, {1}), kInfinity);
}

TEST(FactorGraphTest, RefusesBadGraphs) {
  ExpectInvalid({{2, 0}, {}}, "variable 1 has 0 labels");
  ExpectInvalid({{-2}, {}}, "variable 0 has -2 labels");
  ExpectInvalid({{2, 2}, {{{0}, {1.0, 2.0}}, {{1, 1}, {1.0, 2.0, 3.0, 4.0}}}},
                "factor 1 names a variable twice");
  ExpectInvalid({{2, 2}, {{{0, 2}, {1.0, 2.0, 3.0, 4.0}}}},
                "factor 0 names variable 2, but the variables are 0..1");
  ExpectInvalid({{2, 2}, {{{-1}, {1.0, 2.0}}}}, "factor 0 names variable -1");
  ExpectInvalid({{2, 3}, {{{0, 1}, {1.0, 2.0}}}},
                "the table of factor 0 has 2 entries, its variables need 6");
  ExpectInvalid({{2}, {{{0}, {}}}}, "has 0 entries");
  ExpectInvalid({{2}, {{{}, {}}}}, "has 0 entries, its variables need 1");
  ExpectInvalid({{2}, {{{0}, {1.0, std::nan("")}}}},
                "the table of factor 0 contains the energy nan");
  ExpectInvalid({{2}, {{{0}, {-kInfinity, 1.0}}}},
                "the table of factor 0 contains the energy -inf");
}

// The size of a table is not computed in integers that could wrap around.
TEST(FactorGraphTest, RefusesTablesTooLargeToCount) {
  FactorGraph graph{std::vector<int>(8, 1 << 16), {{{0, 1, 2, 3, 4, 5, 6, 7}, {}}}};
  ExpectInvalid(graph, "has 0 entries, its variables need");
}

}  // namespace
}  // namespace submarine::internal
