// `submarine generate --stereo`: a synthetic stereo pair with its true disparities.
#pragma once

#include <cstdint>
#include <string>

namespace submarine::apps {

// Writes left.png, right.png and disparity.png (16 bits, 256 times the disparity, 0 where the point
// is hidden in the right view) to the directory. Throws what MakeScene and Bundle throw.
void GenerateScene(const std::string& directory, int width, int height, int disparities,
                   std::uint64_t seed);

}  // namespace submarine::apps
