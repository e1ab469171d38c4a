// Numbers for people, rounded so that the printed bound is still true.
#pragma once

#include <string>

namespace submarine::apps {

// With this many decimals, never above (below) the number.
std::string RoundedDown(double value, int decimals = 6);
std::string RoundedUp(double value, int decimals = 6);

}  // namespace submarine::apps
