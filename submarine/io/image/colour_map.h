// The colours of values in our pictures.
#pragma once

#include <array>
#include <cstdint>

namespace submarine {

// From dark violet over green to light yellow; lightness grows evenly with t, so that equal steps
// look equal, in print without colours too. Values outside [0,1] are clamped; NaN is mid grey.
std::array<std::uint8_t, 3> ColourMap(double t);

}  // namespace submarine
