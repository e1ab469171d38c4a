// Tokens separated by white space, with the line number in every error message. The formats of
// inference competitions (UAI, libDAI) consist of such tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>

namespace submarine::internal {

inline bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The largest count that the models support.
inline constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();

class TextScanner {
 public:
  // `name` appears in messages. `text` must outlive the scanner. Where `comment` is not NUL, a
  // token that begins with it hides the rest of its line.
  TextScanner(const std::filesystem::path& name, std::string_view text, char comment = '\0');

  // `what` describes the expected token: "expected the number of variables, but the file ends".
  std::string_view Token(std::string_view what);
  std::int64_t Integer(std::string_view what, std::int64_t min, std::int64_t max);

  // -log of a potential, a number >= 0; +inf for 0. Computed for the number as written, to less
  // than one ulp (near potential 1: 2^-63), also if the number is outside the range of double or
  // loses digits there: from 1e-4900 to 1e4900.
  double PotentialEnergy(std::string_view what);

  std::size_t position() const { return position_; }  // just after the last token

  bool AtEnd();  // only white space and comments are left
  void ExpectEnd(std::string_view after);

  // Refuses a count of tokens that the rest of the file cannot hold, before memory is allocated for
  // it.
  void ExpectRoomFor(std::int64_t tokens, std::string_view what) const;

  // Throws FileError "name:line: message", the line being that of the last token.
  [[noreturn]] void Fail(std::string_view message) const;

 private:
  void SkipSpace();

  std::string name_;
  std::string_view text_;
  char comment_;
  std::size_t position_ = 0;
  std::size_t line_ = 1;        // at position_
  std::size_t token_line_ = 1;  // of the last token
};

// The text in quotes for a message, shortened and with unprintable bytes replaced.
std::string Quoted(std::string_view text);

}  // namespace submarine::internal
