#include "submarine/solve/method/sparse_memory.h"

#include <gtest/gtest.h>

#include "submarine/solve/registry.h"

namespace submarine::internal {
namespace {

// Grids of 300 x 300 with 64 labels (Potts) and of 900 x 900 with 5, with 4 and with 8 neighbours; 300 x 300 with a linear
// metric.
constexpr SparseSize kGrid{90000, 64, 179400, 64, 64};
constexpr SparseSize kDiagonals{90000, 64, 358202, 64, 64};
constexpr SparseSize kFewLabels{810000, 5, 1618200, 5, 5};
constexpr SparseSize kFewLabelsDiagonals{810000, 5, 3234602, 5, 5};
constexpr SparseSize kLinear{90000, 64, 179400, 126, 4096};

void ExpectMeasured(const SparseHeld& held, const SparseSize& size, double megabytes) {
  const double estimate = HeldBytes(held, size) / 1e6;
  EXPECT_GT(estimate, 0.8 * megabytes);
  EXPECT_LT(estimate, 1.2 * megabytes);
}

TEST(SparseMemoryTest, EstimatesAreWithinAFifthOfWhatWasMeasured) {
  const auto held = [](Method method) { return EntryOf(method).sparse.memory; };
  ExpectMeasured(held(Method::kPdhg), kGrid, 509);
  ExpectMeasured(held(Method::kPdhg), kDiagonals, 692);
  ExpectMeasured(held(Method::kPdhg), kFewLabels, 364);
  ExpectMeasured(held(Method::kPdhg), kLinear, 775);
  ExpectMeasured(held(Method::kFrankWolfe), kGrid, 277);
  ExpectMeasured(held(Method::kFrankWolfe), kDiagonals, 369);
  ExpectMeasured(held(Method::kTrw), kGrid, 528);
  ExpectMeasured(held(Method::kTrw), kDiagonals, 916);
  ExpectMeasured(held(Method::kTrw), kFewLabels, 642);
  ExpectMeasured(held(Method::kTrw), kFewLabelsDiagonals, 1151);
  ExpectMeasured(held(Method::kTrw), kLinear, 528);
  ExpectMeasured(held(Method::kMeanField), kGrid, 140);
  ExpectMeasured(kForestMeanFieldHeld, kGrid, 660);
  ExpectMeasured(kForestMeanFieldHeld, kDiagonals, 790);
  ExpectMeasured(kForestMeanFieldHeld, kFewLabels, 678);
  ExpectMeasured(kForestMeanFieldHeld, kFewLabelsDiagonals, 789);
}

TEST(SparseMemoryTest, TheModelIsCounted) {
  EXPECT_NEAR(ModelBytes(kGrid) / 1e6, 54.0, 1.0);
  EXPECT_NEAR(ModelBytes(kFewLabels) / 1e6, 103.6, 1.0);
}

}  // namespace
}  // namespace submarine::internal
