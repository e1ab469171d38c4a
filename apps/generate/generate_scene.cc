#include "apps/generate/generate_scene.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "apps/generate/scene.h"
#include "apps/solve/bundle.h"
#include "submarine/io/image/png.h"

namespace submarine::apps {

void GenerateScene(const std::string& directory, int width, int height, int disparities,
                   std::uint64_t seed) {
  const StereoScene scene = MakeScene(width, height, disparities - 1, seed);
  std::vector<std::uint16_t> truth;
  truth.reserve(scene.disparity.size());
  for (const float d : scene.disparity) {
    // 0 means unknown, so a disparity of 0 is written as the next value.
    truth.push_back(std::isnan(d) ? 0
                                  : static_cast<std::uint16_t>(std::max(1L, std::lround(256 * d))));
  }
  Bundle bundle(directory);
  WritePng(bundle.File("left.png"), width, height, 3, scene.left);
  WritePng(bundle.File("right.png"), width, height, 3, scene.right);
  WritePng16(bundle.File("disparity.png"), width, height, truth);
  bundle.Commit();
}

}  // namespace submarine::apps
