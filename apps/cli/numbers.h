// Numbers for people, rounded so that the printed bound is still true.
#pragma once

#include <string>

namespace submarine::apps {

// With this many decimals, never above (below) the number.
std::string RoundedDown(double value, int decimals = 6);
std::string RoundedUp(double value, int decimals = 6);

// "12.3%" of a share of 0.123, to the nearest.
std::string Percent(double share, int decimals);

// "1.2 GB", "340 MB", "12 kB".
std::string BytesText(double bytes);

}  // namespace submarine::apps
