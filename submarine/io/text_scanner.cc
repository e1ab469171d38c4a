#include "submarine/io/text_scanner.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <system_error>

#include "submarine/base/error.h"

namespace submarine {
namespace {

// from_chars does not take the '+' that some writers put before numbers.
std::string_view WithoutPlus(std::string_view token) {
  if (token.size() > 1 && token[0] == '+' && token[1] != '-' && token[1] != '+') {
    token.remove_prefix(1);
  }
  return token;
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
  const std::string_view digits = WithoutPlus(token);
  const char* end = digits.data() + digits.size();
  std::int64_t value = 0;
  const auto [parsed_end, error] = std::from_chars(digits.data(), end, value);
  if (error == std::errc::invalid_argument || parsed_end != end) {
    Fail(fmt::format("expected {}, a whole number, but found {}", what, Quoted(token)));
  }
  if (error != std::errc{} || value < min || value > max) {
    Fail(fmt::format("{} is {}, but must lie between {} and {}", what, token.substr(0, 40), min,
                     max));
  }
  return value;
}

double TextScanner::Number(std::string_view what) {
  const std::string_view token = Token(what);
  const std::string_view digits = WithoutPlus(token);
  const char* end = digits.data() + digits.size();
  double value = 0.0;
  const auto [parsed_end, error] = std::from_chars(digits.data(), end, value);
  if (error == std::errc::invalid_argument || parsed_end != end) {
    Fail(fmt::format("expected {}, a number, but found {}", what, Quoted(token)));
  }
  if (error != std::errc{} || !std::isfinite(value)) {
    Fail(fmt::format("{} is {}, but must be a finite number", what, Quoted(token)));
  }
  return value;
}

double TextScanner::PotentialEnergy(std::string_view what) {
  const std::string_view token = Token(what);
  const std::string_view digits = WithoutPlus(token);
  const char* end = digits.data() + digits.size();
  double value = 0.0;
  const auto [parsed_end, error] = std::from_chars(digits.data(), end, value);
  if (error == std::errc::invalid_argument || parsed_end != end) {
    Fail(fmt::format("expected {}, a number, but found {}", what, Quoted(token)));
  }
  if (error == std::errc::result_out_of_range) {
    const long double extended = std::strtold(std::string(digits).c_str(), nullptr);
    if (!(extended > 0.0L) || !std::isfinite(extended)) {
      Fail(fmt::format("{} is {}, which is negative or beyond the range of numbers", what,
                       Quoted(token)));
    }
    return static_cast<double>(-std::log(extended));
  }
  if (!(value >= 0.0) || !std::isfinite(value)) {
    Fail(fmt::format("{} is {}, but must be a finite number that is not negative", what,
                     Quoted(token)));
  }
  if (value == 0.0) return std::numeric_limits<double>::infinity();
  return 0.0 - std::log(value);  // not -log(1), which would be -0
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
  // Each token takes a byte and a separator before it.
  if (tokens > static_cast<std::int64_t>(bytes / 2)) {
    Fail(fmt::format("the file claims {} {}, but only {} bytes follow", tokens, what, bytes));
  }
}

void TextScanner::Fail(std::string_view message) const {
  throw FileError(fmt::format("{}:{}: {}", name_, token_line_, message));
}

}  // namespace submarine
