#include "apps/segment/label_colours.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "submarine/base/error.h"
#include "submarine/io/file/input_file.h"
#include "submarine/io/file/text_scanner.h"

namespace submarine::apps {
namespace {

using internal::IsSpace;
using internal::Quoted;
using internal::ReadTextFile;

// Lines without surrounding spaces and without empty lines at the end.
std::vector<std::string> TrimmedLines(const std::filesystem::path& file, const char* what) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 20;
  const std::string text = ReadTextFile(file, kMaxBytes);
  std::vector<std::string> lines;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    while (!line.empty() && IsSpace(line.front())) line.remove_prefix(1);
    while (!line.empty() && IsSpace(line.back())) line.remove_suffix(1);
    lines.emplace_back(line);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (lines.empty())
    throw FileError(fmt::format("\"{}\" is empty, expected one {} per line", file.string(), what));
  for (std::size_t k = 0; k < lines.size(); ++k) {
    if (lines[k].empty())
      throw FileError(
          fmt::format("{}:{}: the line is empty, expected a {}", file.string(), k + 1, what));
  }
  return lines;
}

std::optional<Colour> ParseHex(std::string_view text) {
  if (text.size() != 7 || text[0] != '#') return std::nullopt;
  Colour colour;
  for (std::size_t c = 0; c < 3; ++c) {
    const char* begin = text.data() + 1 + 2 * c;
    const auto [end, error] = std::from_chars(begin, begin + 2, colour[c], 16);
    if (error != std::errc() || end != begin + 2) return std::nullopt;
  }
  return colour;
}

std::optional<Colour> ParseNumbers(std::string_view text) {
  Colour colour;
  for (std::size_t c = 0; c < 3; ++c) {
    while (!text.empty() && (IsSpace(text[0]) || (c > 0 && text[0] == ','))) text.remove_prefix(1);
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0 || value > 255) return std::nullopt;
    colour[c] = static_cast<std::uint8_t>(value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return text.empty() ? std::optional(colour) : std::nullopt;
}

}  // namespace

Colour VocColour(std::size_t label) {
  Colour colour = {0, 0, 0};
  // Each three bits of the label, from the lowest, become one bit of red, green and blue, from the
  // highest.
  for (int bit = 7; bit >= 5; --bit, label >>= 3) {
    for (std::size_t c = 0; c < 3; ++c)
      colour[c] = static_cast<std::uint8_t>(colour[c] | (label >> c & 1) << bit);
  }
  return colour;
}

std::vector<std::string> ReadClassNames(const std::filesystem::path& file) {
  return TrimmedLines(file, "name of a class");
}

std::vector<Colour> ReadPalette(const std::filesystem::path& file) {
  std::vector<Colour> palette;
  for (const std::string& line : TrimmedLines(file, "colour")) {
    const std::optional<Colour> colour = line[0] == '#' ? ParseHex(line) : ParseNumbers(line);
    if (!colour) {
      throw FileError(
          fmt::format("{}:{}: {} is not a colour, expected #rrggbb or three numbers from 0 to 255",
                      file.string(), palette.size() + 1, Quoted(line)));
    }
    palette.push_back(*colour);
  }
  return palette;
}

std::string HexText(const Colour& colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour[0], colour[1], colour[2]);
}

}  // namespace submarine::apps
