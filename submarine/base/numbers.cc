#include "submarine/base/numbers.h"

#include <fmt/format.h>

#include <cmath>

#include "submarine/base/number_text.h"

namespace submarine {
namespace {

// fmt prints the nearest decimal; if that is on the wrong side, the next one is tried.
std::string RoundedTo(double value, int decimals, bool down) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  const long double unit = std::pow(10.0L, -decimals);
  for (long double shifted = value;;) {
    std::string text = fmt::format("{:.{}f}", static_cast<double>(shifted), decimals);
    long double read = 0.0L;
    internal::FromChars(text.data(), text.data() + text.size(), read);
    if (down ? read <= value : read >= value) return text;
    const long double step = shifted + (down ? -unit : unit);
    // Beyond 2^53 units, one unit is less than the distance to the next double.
    shifted = static_cast<double>(step) != static_cast<double>(shifted)
                  ? step
                  : std::nextafter(static_cast<double>(shifted), down ? -HUGE_VAL : HUGE_VAL);
  }
}

}  // namespace

std::string RoundedDown(double value, int decimals) { return RoundedTo(value, decimals, true); }
std::string RoundedUp(double value, int decimals) { return RoundedTo(value, decimals, false); }

std::string Percent(double share, int decimals) {
  return fmt::format("{:.{}f}%", 100.0 * share, decimals);
}

std::string BytesText(double bytes) {
  return bytes >= 1e9   ? fmt::format("{:.1f} GB", bytes / 1e9)
         : bytes >= 1e6 ? fmt::format("{:.0f} MB", bytes / 1e6)
                        : fmt::format("{:.0f} kB", bytes / 1e3);
}

std::string DurationText(double seconds) {
  if (seconds < 60.0) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long long>(seconds);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

}  // namespace submarine
