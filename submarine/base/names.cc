#include "submarine/base/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "submarine/base/error.h"

namespace submarine {
namespace {

// Levenshtein's distance: insertions, deletions, replacements.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string NearestName(std::string_view text, std::span<const std::string_view> names) {
  std::string nearest;
  std::size_t least = std::max<std::size_t>(1, text.size() / 3) + 1;
  for (const std::string_view name : names) {
    // What was begun is also meant: "norm" for "normalisation".
    const bool begun = text.size() >= 3 && name.starts_with(text);
    const std::size_t distance = begun ? 1 : EditDistance(text, name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

void RefuseName(std::string_view text, std::span<const std::string_view> names,
                std::string_view what) {
  const std::string nearest = NearestName(text, names);
  throw InvalidInput(
      fmt::format("{} is \"{}\", expected one of {}{}", what, text, fmt::join(names, ", "),
                  nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

}  // namespace submarine
