#include "submarine/io/file/text_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "submarine/base/error.h"
#include "submarine/io/file/io_test_util.h"

namespace submarine::internal {
namespace {

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
}

TEST(TextScanner, PotentialsBecomeEnergies) {
  EXPECT_EQ(EnergyOf("0"), std::numeric_limits<double>::infinity());
  EXPECT_FALSE(std::signbit(EnergyOf("1")));
  EXPECT_DOUBLE_EQ(EnergyOf("0.25"), std::log(4.0));
  EXPECT_DOUBLE_EQ(EnergyOf("1e-400"), 400 * std::log(10.0));  // beyond double, still exact
  EXPECT_DOUBLE_EQ(EnergyOf("1e400"), -400 * std::log(10.0));
  for (const char* text : {"-1", "-1e-400", "nan", "inf", "1e-9999", "1e9999", "1e-4940", "x"}) {
    EXPECT_THROW(EnergyOf(text), FileError) << text;
  }
}

// Expected values by 60-digit arithmetic (Python's decimal).
TEST(TextScanner, EnergiesAreThoseOfTheNumberAsWritten) {
  const struct {
    const char* potential;
    double energy;
  } cases[] = {
      // Subnormal doubles: 3e-324 would read as 4.94e-324, which is 0.499 less.
      {"3e-324", 744.9389578414027},
      {"7.4e-324", 744.0360901298607},
      {"1.23456789e-315", 725.1035832709088},
      {"2.2e-308", 708.4077512818018},
      {"2.3e-308", 708.363299519231},
      {"1e-400", 921.0340371976183},
      {"3.3e-4900", 11281.473033202352},
      {"1e400", -921.0340371976183},
      {"7.5e4899", -11282.379273598372},
      {"0.1", 2.302585092994046},
      {"0.3", 1.203972804325936},
      {"0.35999", 1.0216790256955688},
      {"0.37", 0.9942522733438669},
      {"0.7", 0.3566749439387324},
      {"1.7", -0.5306282510621704},
      {"2.71", -0.9969486348916096},
      {"2.73", -1.0043016091968684},
      {"123456.789", -11.723646487185881},
      {"1e-300", 690.7755278982137},
  };
  for (const auto& [potential, energy] : cases) {
    EXPECT_LE(std::abs(EnergyOf(potential) - energy),
              std::nextafter(std::abs(energy), 1e300) - std::abs(energy))
        << potential;
  }
  EXPECT_EQ(EnergyOf("1.00000"), 0.0);
  EXPECT_EQ(EnergyOf("1e0"), 0.0);
}

// 1 - 1e-10 and 1 - 1e-16 as doubles have energies that are wrong from the seventh and first digit.
TEST(TextScanner, EnergiesNearZeroKeepTheirDigits) {
  const double bound = 0x1p-63;
  EXPECT_NEAR(EnergyOf("0.9999999999"), 1e-10 + 5e-21, bound);
  EXPECT_NEAR(EnergyOf("0.9999999999999999"), 1e-16, bound);
  EXPECT_NEAR(EnergyOf("1.0000000000000001"), -1e-16, bound);
}

TEST(TextScanner, MessagesStayPrintableAndShort) {
  const std::string garbage(1000, '\x01');
  const std::string message =
      MessageOf<FileError>([&] { TextScanner("t", garbage).Integer("n", 0, 9); });
  EXPECT_LT(message.size(), 120u);
  EXPECT_EQ(message.find('\x01'), std::string::npos);
}

}  // namespace
}  // namespace submarine::internal
