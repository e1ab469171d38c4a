// The colour map for values in pictures.
#pragma once

#include <array>
#include <cstdint>

namespace submarine {

// From dark violet via green to light yellow; lightness grows evenly with t, so that equal steps
// look equal, also in black-and-white print. Values outside [0,1] are clamped; NaN is mid grey.
std::array<std::uint8_t, 3> ColourMap(double t);

}  // namespace submarine
