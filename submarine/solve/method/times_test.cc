#include "submarine/solve/method/times.h"

#include <gtest/gtest.h>

#include <limits>

#include "submarine/labels/label_cuts.h"
#include "submarine/solve/registry.h"

namespace submarine::internal {
namespace {

constexpr Method kSparseMethods[] = {Method::kPdhg, Method::kFrankWolfe, Method::kTrw,
                                     Method::kMeanField};

// 500 x 500 pixels with 64 labels.
constexpr SparseSize kLarge{250000, 64, 499000, 64, 64};

TEST(TimesTest, DenseCostsGrowWithEverySize) {
  const DenseSize small{1e4, 10, 10, 1e6};
  for (const DenseSize& larger :
       {DenseSize{2e4, 10, 10, 1e6}, DenseSize{1e4, 20, 20, 1e6}, DenseSize{1e4, 10, 10, 2e6}}) {
    EXPECT_GE(ListSeconds(larger), ListSeconds(small));
    EXPECT_GT(IterationSeconds(larger), IterationSeconds(small));
    EXPECT_GT(CertificateSeconds(larger), CertificateSeconds(small));
  }
}

TEST(TimesTest, UnariesAreCertifiedSooner) {
  const DenseSize size{1e5, 50, 50, 1e7};
  EXPECT_LT(UnaryCertificateSeconds(size), CoarseCertificateSeconds(size));
  EXPECT_LT(CoarseCertificateSeconds(size), CertificateSeconds(size));
}

TEST(TimesTest, SparseFirstBoundsGrowWithEverySize) {
  for (const Method method : kSparseMethods) {
    const double seconds = LeastSeconds(method, kLarge);
    SparseSize more = kLarge;
    more.variables *= 2.0;
    EXPECT_GT(LeastSeconds(method, more), seconds) << ToString(method);
    more = kLarge;
    more.labels *= 2.0;
    EXPECT_GT(LeastSeconds(method, more), seconds) << ToString(method);
    more = kLarge;
    more.edges *= 2.0;
    EXPECT_GT(LeastSeconds(method, more), seconds) << ToString(method);
  }
}

// What it takes was measured; a refusal must not come where limits of a few seconds suffice.
TEST(TimesTest, SparseFirstBoundsAreInTheOrderOfWhatWasMeasured) {
  const double unaries = LeastSeconds(Method::kAuto, kLarge);
  const double frank_wolfe = LeastSeconds(Method::kFrankWolfe, kLarge);
  const double pdhg = LeastSeconds(Method::kPdhg, kLarge);
  const double trw = LeastSeconds(Method::kTrw, kLarge);
  EXPECT_LT(unaries, 0.5 * frank_wolfe);
  EXPECT_LT(frank_wolfe, pdhg);
  EXPECT_LT(pdhg, trw);
  EXPECT_LT(trw, 10.0);
  EXPECT_GT(frank_wolfe, 0.5);
}

TEST(TimesTest, NewMemoryMayTakeLonger) {
  SparseSize slow = kLarge;
  slow.page_fault_factor = 10.0;
  for (const Method method : kSparseMethods)
    EXPECT_GT(LeastSeconds(method, slow), 1.5 * LeastSeconds(method, kLarge)) << ToString(method);
}

TEST(TimesTest, CountsTheLabelsOfSets) {
  const SparseCrf model(Matrix<double>(2, 4, 0.0), {{0, 1}}, PottsLabels(4));
  const SparseSize size = SizeOf(model, 1.0);
  EXPECT_EQ(size.variables, 2.0);
  EXPECT_EQ(size.edges, 1.0);
  EXPECT_EQ(size.cuts, 4.0);
  EXPECT_EQ(size.in_cuts, 4.0);
}

TEST(TimesTest, ForestsTakeLongerWhereProductsUnderflow) {
  const SparseCrf model(Matrix<double>(2, 200, 0.0), {{0, 1, 4.0}}, LinearLabels(200));
  const SparseSize cold = SizeOf(model, 1.0);
  const SparseSize warm = SizeOf(model, 10.0);
  EXPECT_TRUE(cold.far_apart);
  EXPECT_FALSE(warm.far_apart);
  EXPECT_GT(LeastSeconds(Method::kTrw, cold), 2.0 * LeastSeconds(Method::kTrw, warm));
  EXPECT_EQ(LeastSeconds(Method::kPdhg, cold), LeastSeconds(Method::kPdhg, warm));
}

TEST(TimesTest, ATenthOrTwoSecondsMayBeOverrun) {
  EXPECT_TRUE(FitsTime(2.9, 1.0));
  EXPECT_FALSE(FitsTime(3.1, 1.0));
  EXPECT_TRUE(FitsTime(109.0, 100.0));
  EXPECT_FALSE(FitsTime(111.0, 100.0));
  EXPECT_TRUE(FitsTime(1.9, -5.0)) << "what is lost is lost";
  EXPECT_TRUE(FitsTime(1e9, std::numeric_limits<double>::infinity()));
}

}  // namespace
}  // namespace submarine::internal
