#include "submarine/io/file/text_scanner.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <system_error>

#include "submarine/base/error.h"
#include "submarine/base/number_text.h"

namespace submarine::internal {
namespace {

// from_chars does not accept the '+' that some writers put before numbers.
std::string_view WithoutPlus(std::string_view token) {
  if (token.size() > 1 && token[0] == '+' && token[1] != '-' && token[1] != '+') {
    token.remove_prefix(1);
  }
  return token;
}

template <class T>
struct Parsed {
  bool valid = false;  // a number and nothing else
  bool in_range = false;
  T value = 0;
};

template <class T>
Parsed<T> ParseNumber(std::string_view token) {
  const std::string_view digits = WithoutPlus(token);
  const char* end = digits.data() + digits.size();
  Parsed<T> parsed;
  const auto [parsed_end, error] = FromChars(digits.data(), end, parsed.value);
  parsed.valid = error != std::errc::invalid_argument && parsed_end == end;
  parsed.in_range = parsed.valid && error == std::errc{};
  return parsed;
}

// Rounding a decimal to the nearest double moves its logarithm by up to 2^-53. This is a quarter of
// an ulp of a logarithm of magnitude 2, less for a larger one, and too much for a smaller one. A
// subnormal double has lost more digits.
bool DoubleIsEnough(double potential) {
  return std::isnormal(potential) && (potential < 0.135 || potential > 7.39);
}

}  // namespace

std::string Quoted(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string quoted = "\"";
  for (const char c : text.substr(0, kLongest)) quoted += c >= ' ' && c <= '~' ? c : '?';
  quoted += text.size() > kLongest ? "...\"" : "\"";
  return quoted;
}

TextScanner::TextScanner(const std::filesystem::path& name, std::string_view text, char comment)
    : name_(name.string()), text_(text), comment_(comment) {}

void TextScanner::SkipSpace() {
  for (; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    if (c == '\n') {
      ++line_;
    } else if (c == comment_ && comment_ != '\0') {
      const std::size_t end = text_.find('\n', position_);
      if (end == std::string_view::npos) {
        position_ = text_.size();
        return;
      }
      position_ = end - 1;
    } else if (!IsSpace(c)) {
      return;
    }
  }
}

std::string_view TextScanner::Token(std::string_view what) {
  SkipSpace();
  token_line_ = line_;
  const std::size_t begin = position_;
  while (position_ < text_.size() && !IsSpace(text_[position_])) ++position_;
  if (position_ == begin) Fail(fmt::format("expected {}, but the file ends", what));
  return text_.substr(begin, position_ - begin);
}

std::int64_t TextScanner::Integer(std::string_view what, std::int64_t min, std::int64_t max) {
  const std::string_view token = Token(what);
  const Parsed<std::int64_t> number = ParseNumber<std::int64_t>(token);
  if (!number.valid) {
    Fail(fmt::format("expected {}, a whole number, but found {}", what, Quoted(token)));
  }
  if (!number.in_range || number.value < min || number.value > max) {
    Fail(fmt::format("{} is {}, but must lie between {} and {}", what, token.substr(0, 40), min,
                     max));
  }
  return number.value;
}

double TextScanner::PotentialEnergy(std::string_view what) {
  const std::string_view token = Token(what);
  const Parsed<double> number = ParseNumber<double>(token);
  if (!number.valid) Fail(fmt::format("expected {}, a number, but found {}", what, Quoted(token)));
  if (number.in_range && (!(number.value >= 0.0) || !std::isfinite(number.value))) {
    Fail(fmt::format("{} is {}, but must be a finite number that is not negative", what,
                     Quoted(token)));
  }
  if (number.in_range && number.value == 0.0) return std::numeric_limits<double>::infinity();
  if (number.in_range && DoubleIsEnough(number.value)) return -std::log(number.value);
  // Different decimals of 15 digits are different doubles.
  if (number.in_range && number.value == 1.0 && token.size() <= 15) return 0.0;
  const Parsed<long double> extended = ParseNumber<long double>(token);
  // Subnormal long doubles have lost digits, too.
  if (!extended.in_range || !(extended.value > 0.0L) || !std::isnormal(extended.value)) {
    Fail(fmt::format("{} is {}, but must be 0 or a number from 1e-4900 to 1e4900", what,
                     Quoted(token)));
  }
  return static_cast<double>(0.0L - std::log(extended.value));  // not -log(1), which would be -0
}

bool TextScanner::AtEnd() {
  SkipSpace();
  return position_ == text_.size();
}

void TextScanner::ExpectEnd(std::string_view after) {
  if (AtEnd()) return;
  const std::string_view token = Token(after);
  Fail(fmt::format("found {} after {}, where the file should end", Quoted(token), after));
}

void TextScanner::ExpectRoomFor(std::int64_t tokens, std::string_view what) const {
  const std::size_t bytes = text_.size() - position_;
  // Each token takes at least one byte and a separator.
  if (tokens > static_cast<std::int64_t>(bytes / 2)) {
    Fail(fmt::format("the file claims {} {}, but only {} bytes follow", tokens, what, bytes));
  }
}

void TextScanner::Fail(std::string_view message) const {
  throw FileError(fmt::format("{}:{}: {}", name_, token_line_, message));
}

}  // namespace submarine::internal
