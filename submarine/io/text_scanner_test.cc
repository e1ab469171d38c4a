#include "submarine/io/text_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "submarine/base/error.h"
#include "submarine/io/io_test_util.h"

namespace submarine {
namespace {

using ::testing::HasSubstr;

double EnergyOf(std::string_view potential) {
  return TextScanner("t", potential).PotentialEnergy("p");
}

TEST(TextScanner, CountsLinesAndSkipsComments) {
  TextScanner scanner("t", "# note 1 2\n  7\r\n# more\n\n+8 x\ty#z", '#');
  EXPECT_EQ(scanner.Integer("n", 0, 9), 7);
  EXPECT_EQ(scanner.Integer("n", 0, 9), 8);
  EXPECT_THAT(MessageOf<FileError>([&] { scanner.Integer("n", 0, 9); }),
              ::testing::StrEq("t:5: expected n, a whole number, but found \"x\""));
  EXPECT_EQ(scanner.Token("word"), "y#z");
  EXPECT_TRUE(scanner.AtEnd());
}

TEST(TextScanner, RefusesWhatIsNoNumber) {
  for (const char* text :
       {"", "x", "1.5", "1x", "--1", "+-1", "99999999999999999999", "10", "-1"}) {
    EXPECT_THROW(TextScanner("t", text).Integer("n", 0, 9), FileError) << text;
  }
  for (const char* text : {"", "x", "1,5", "1e999", "inf", "nan", "+", "0x10"}) {
    EXPECT_THROW(TextScanner("t", text).Number("n"), FileError) << text;
  }
}

TEST(TextScanner, PotentialsBecomeEnergies) {
  EXPECT_EQ(EnergyOf("0"), std::numeric_limits<double>::infinity());
  EXPECT_FALSE(std::signbit(EnergyOf("1")));
  EXPECT_DOUBLE_EQ(EnergyOf("0.25"), std::log(4.0));
  EXPECT_DOUBLE_EQ(EnergyOf("1e-400"), 400 * std::log(10.0));  // beyond double, still exact
  EXPECT_DOUBLE_EQ(EnergyOf("1e400"), -400 * std::log(10.0));
  for (const char* text : {"-1", "-1e-400", "nan", "inf", "1e-9999", "1e9999", "x"}) {
    EXPECT_THROW(EnergyOf(text), FileError) << text;
  }
}

TEST(TextScanner, MessagesStayPrintableAndShort) {
  const std::string garbage(1000, '\x01');
  const std::string message =
      MessageOf<FileError>([&] { TextScanner("t", garbage).Integer("n", 0, 9); });
  EXPECT_LT(message.size(), 120u);
  EXPECT_EQ(message.find('\x01'), std::string::npos);
}

}  // namespace
}  // namespace submarine
