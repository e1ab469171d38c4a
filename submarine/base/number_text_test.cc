#include "submarine/base/number_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

namespace submarine::internal {
namespace {

template <class T>
void ExpectAsFromChars(const std::string& text) {
  T fast = 7;
  T slow = 7;
  const char* end = text.data() + text.size();
  const auto [fast_end, fast_error] = FromChars(text.data(), end, fast);
  const auto [slow_end, slow_error] = FloatFromChars(text.data(), end, slow);
  EXPECT_EQ(fast_error, slow_error) << text;
  EXPECT_EQ(fast_end - text.data(), slow_end - text.data()) << text;
  if (std::isnan(fast)) {
    EXPECT_TRUE(std::isnan(slow)) << text;
  } else {
    EXPECT_EQ(fast, slow) << text;
    EXPECT_EQ(std::signbit(fast), std::signbit(slow)) << text;
  }
}

TEST(NumberText, TheCopyingTwinReadsTheSame) {
  for (const std::string text :
       {"",       "-",      "+1",      "-+1", " 1",  "- 1", "1",         "-2.5", "1.5e3x",
        "0x10",   "-0x10",  "1,5",     "1e",  "1e+", "inf", "-infinity", "nan",  "1e400",
        "-1e400", "4e-320", "1e-5000", ".5",  "5.",  "e5",  "--1"}) {
    ExpectAsFromChars<double>(text);
    ExpectAsFromChars<long double>(text);
  }
  std::mt19937_64 rng(3);
  for (int k = 0; k < 2000; ++k) {
    std::string text;
    for (int n = static_cast<int>(rng() % 12); n >= 0; --n) text += "0123456789.-+eE "[rng() % 16];
    ExpectAsFromChars<double>(text);
    ExpectAsFromChars<long double>(text);
  }
}

}  // namespace
}  // namespace submarine::internal
