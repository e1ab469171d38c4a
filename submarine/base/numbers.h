// Numbers for people, rounded so that the printed bound is still true.
#pragma once

#include <string>

namespace submarine {

// With this many decimals, never above (below) the number.
std::string RoundedDown(double value, int decimals = 6);
std::string RoundedUp(double value, int decimals = 6);

// "12.3%" of a share of 0.123, to the nearest.
std::string Percent(double share, int decimals);

// "1.2 GB", "340 MB", "12 kB".
std::string BytesText(double bytes);

// "3.2 s", "4 min 10 s", "2 h 5 min".
std::string DurationText(double seconds);

}  // namespace submarine
