#include "apps/cli/messages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

namespace submarine::apps {
namespace {

// The first character of a text and its length in bytes; 0 bytes if it is not UTF-8.
struct Character {
  std::size_t bytes = 0;
  std::uint32_t code = 0;
};

Character FirstCharacter(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {1, first};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return {};
  std::uint32_t code = first & (0xFFU >> (bytes + 1));
  for (std::size_t k = 1; k < bytes; ++k) {
    if ((byte(k) & 0xC0U) != 0x80) return {};
    code = (code << 6U) | (byte(k) & 0x3FU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kLeast[bytes] || code > 0x10FFFF || surrogate) return {};
  return {bytes, code};
}

bool IsHarmless(std::uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool line_end = code == 0x2028 || code == 0x2029;
  const bool direction = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return !control && !line_end && !direction;
}

std::string EscapedByte(char c) {
  switch (c) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      return fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
}

// Several threads may make bundles and print errors.
struct Replacements {
  std::mutex mutex;
  std::vector<std::pair<std::string, std::string>> shown_instead;
};

Replacements& AllReplacements() {
  static Replacements replacements;
  return replacements;
}

void Complain(const char* prefix, std::string_view text) noexcept {
  try {
    PrintRaw(fmt::format("{}{}\n", prefix, Escaped(WithShownNames(std::string(text)))));
  } catch (const std::exception&) {  // no memory for the copy: better raw than not at all
    PrintRaw(prefix);
    PrintRaw(text);
    PrintRaw("\n");
  }
}

[[noreturn]] void FailToPrint() {
  const int error = errno;
  throw FileError(
      fmt::format("cannot write to standard output: {}", std::generic_category().message(error)));
}

}  // namespace

std::string InOptions(const TooLarge& error, std::optional<int> shrink) {
  const Remedy& remedy = error.remedy();
  std::vector<std::string> ways;
  if (remedy.given_variables > 0.0) {
    const double sides = std::sqrt(remedy.given_variables / std::max(remedy.variables, 1.0));
    ways.push_back(shrink ? fmt::format("--shrink {:.0f}", std::ceil(*shrink * sides))
                          : fmt::format("{:.0f} variables instead of {:.0f}", remedy.variables,
                                        remedy.given_variables));
  }
  if (remedy.fewer_labels) ways.emplace_back("fewer labels");
  if (!remedy.methods.empty())
    ways.push_back(fmt::format("--method {}", fmt::join(remedy.methods, " or ")));
  if (remedy.more_seconds > 0.0)
    ways.push_back(fmt::format("{:.0f} s more of --time-limit", remedy.more_seconds));
  if (remedy.bytes > 0.0) ways.push_back(fmt::format("--max-memory {:.3g}", remedy.bytes / 1e9));
  return ways.empty() ? error.refusal() : error.refusal() + "; " + AnyWouldDo(ways);
}

std::string Escaped(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const auto [bytes, code] = FirstCharacter(text);
    const std::size_t taken = std::max<std::size_t>(bytes, 1);
    if (bytes > 0 && IsHarmless(code)) {
      escaped += text.substr(0, taken);
    } else {
      for (const char c : text.substr(0, taken)) escaped += EscapedByte(c);
    }
    text.remove_prefix(taken);
  }
  return escaped;
}

void PrintText(std::string_view text) {
  std::string printed;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    printed += Escaped(text.substr(0, end));
    if (end == std::string_view::npos) break;
    printed += '\n';
    text.remove_prefix(end + 1);
  }
  if (std::fwrite(printed.data(), 1, printed.size(), stdout) != printed.size()) FailToPrint();
}

void PrintLine(std::string_view text) { PrintText(Escaped(text) + "\n"); }

void FlushOutput() {
  if (std::fflush(stdout) != 0) FailToPrint();
}

void PrintError(std::string_view text) noexcept { Complain("submarine: ", text); }

void PrintWarning(std::string_view text) noexcept { Complain("submarine: warning: ", text); }

void PrintRaw(std::string_view text) noexcept {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  static_cast<void>(std::fflush(stderr));
}

void ShowInstead(const std::string& hidden, const std::string& shown) {
  Replacements& all = AllReplacements();
  const std::lock_guard lock(all.mutex);
  all.shown_instead.emplace_back(hidden, shown);
}

std::string WithShownNames(std::string text) {
  Replacements& all = AllReplacements();
  const std::lock_guard lock(all.mutex);
  for (const auto& [hidden, shown] : all.shown_instead) {
    for (std::size_t at = text.find(hidden); at != std::string::npos;
         at = text.find(hidden, at + shown.size())) {
      text.replace(at, hidden.size(), shown);
    }
  }
  return text;
}

}  // namespace submarine::apps
