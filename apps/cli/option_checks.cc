#include "apps/cli/option_checks.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace submarine::apps {

double ParseNumber(std::string_view text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [parsed_end, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && parsed_end == end ? value : std::nan("");
}

CLI::Validator NumberInside(double min, double max) {
  const auto check = [min, max](const std::string& text) -> std::string {
    const double value = ParseNumber(text);
    if (value > min && value < max) return {};
    return fmt::format("expected a number between {:g} and {:g}, not \"{}\"", min, max, text);
  };
  return CLI::Validator(check, "");
}

CLI::Validator NumberBetween(double min, double max) {
  const auto check = [min, max](const std::string& text) -> std::string {
    const double value = ParseNumber(text);
    if (value >= min && value <= max) return {};
    return fmt::format("expected a number from {:g} to {:g}, not \"{}\"", min, max, text);
  };
  return CLI::Validator(check, "");
}

CLI::Validator OneOf(const std::vector<std::string>& names) {
  const auto check = [names](const std::string& text) -> std::string {
    if (std::find(names.begin(), names.end(), text) != names.end()) return {};
    const std::vector<std::string_view> views(names.begin(), names.end());
    const std::string nearest = NearestName(text, views);
    return fmt::format("expected one of {}, not \"{}\"{}", fmt::join(names, ", "), text,
                       nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
  };
  return CLI::Validator(check, "");
}

}  // namespace submarine::apps
