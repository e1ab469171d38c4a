#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submarine/model/random_models_test_util.h"
#include "submarine/solve/solve.h"

namespace submarine::internal {
namespace {

using ::testing::HasSubstr;

TEST(Summary, SaysWhatWasDoneAndProven) {
  EXPECT_THAT(Summary({}), HasSubstr("not called"));
  testing::RandomModels random(3);
  const SparseCrf model = random.Model(6, 3);
  const SolveResult result = Solve(model, {.method = Method::kPdhg, .limits = {.threads = 1}});
  const std::string text = Summary(result);
  EXPECT_THAT(text, HasSubstr("Method pdhg"));
  EXPECT_THAT(text, HasSubstr("on 1 thread:"));
  EXPECT_THAT(text, HasSubstr("Certified: log Z lies between"));
  ASSERT_TRUE(WidthOf(result));
  EXPECT_DOUBLE_EQ(WidthOf(result)->nats,
                   result.certificate.upper->value() - result.certificate.lower->value());
}

}  // namespace
}  // namespace submarine::internal
