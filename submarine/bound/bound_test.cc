#include "submarine/bound/bound.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <type_traits>
#include <vector>

#include "submarine/bound/bound_internal.h"
#include "submarine/bound/certificate.h"
#include "submarine/bound/exact_bounds.h"

namespace submarine::internal {
namespace {

TEST(BoundTest, NobodyMakesOneFromANumber) {
  static_assert(!std::is_constructible_v<Bound, double>);
  static_assert(!std::is_constructible_v<Bound, double, Provenance>);
  static_assert(!std::is_default_constructible_v<Bound>);
  static_assert(!std::is_assignable_v<Bound&, double>);
}

TEST(BoundTest, MovesToItsSafeSide) {
  const Bound bound = BoundMaker::Verified(1.0);
  // 0.1 is not representable in the sum: the ends are beyond it on either side.
  EXPECT_GT(Raised(bound, 1e-17), 1.0);
  EXPECT_LT(Lowered(bound, 1e-17), 1.0);
  EXPECT_GE(Raised(bound, 0.1), 1.1);
  EXPECT_LE(Lowered(bound, 0.1), 0.9);
  EXPECT_EQ(Raised(bound, 0.0), 1.0);
  EXPECT_EQ(Raised(bound, 0.1).provenance(), Provenance::kVerified);
}

TEST(BoundTest, SumsAreRoundedUpwards) {
  const std::vector<Bound> one = {BoundMaker::Verified(-2.5)};
  EXPECT_GE(SumAbove(one), -2.5);
  EXPECT_LT(SumAbove(one), -2.5 + 1e-13);
  const std::vector<Bound> parts(10, BoundMaker::Verified(0.1));
  EXPECT_GE(SumAbove(parts), 10.0L * static_cast<long double>(0.1));
  EXPECT_LT(SumAbove(parts), 1.0 + 1e-12);
  EXPECT_EQ(SumAbove(parts).provenance(), Provenance::kVerified);
}

TEST(BoundTest, ExactBoundsEncloseTheValue) {
  const auto [lower, upper] = ExactBounds(0.7, 1e-12);
  EXPECT_LE(lower, 0.7 - 1e-12);
  EXPECT_GE(upper, 0.7 + 1e-12);
  EXPECT_EQ(upper.provenance(), Provenance::kExact);
}

TEST(CertificateTest, EndsThatCrossAreNotHandedOut) {
  Certificate certificate;
  certificate.lower = BoundMaker::Verified(2.0);
  certificate.upper = BoundMaker::Verified(1.0);
  EXPECT_THROW(certificate.Check(), std::logic_error);
  certificate.lower = BoundMaker::Verified(1.0);
  EXPECT_NO_THROW(certificate.Check());
  certificate.dual = BoundMaker::Verified(1.5);
  EXPECT_THROW(certificate.Check(), std::logic_error);
}

}  // namespace
}  // namespace submarine::internal
