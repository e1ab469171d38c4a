// A synthetic stereo pair with its true disparities, for tests, demonstrations and experiments that
// must not depend on files.
//
// The scene is a slanted wall and a slanted floor with a handful of leaning ellipses and rectangles
// in front of them. Every surface is a disparity plane d = a + b x + c y over the left view,
// with a texture over the left view. The right view is not warped from the left one: both are
// rendered from the surfaces, the nearest (largest d) winning, so occlusions are right at every
// sub-pixel position.
#pragma once

#include <cstdint>
#include <vector>

namespace submarine::apps {

struct StereoScene {
  int width = 0;
  int height = 0;
  // 8-bit RGB, channels innermost, rows top-down. The right view has a slightly different exposure,
  // and each view its own noise.
  std::vector<std::uint8_t> left;
  std::vector<std::uint8_t> right;
  // Of the left view at the centres of its pixels: left(x, y) shows the same point as right(x - d,
  // y). NaN where that point is hidden in the right view or outside of it.
  std::vector<float> disparity;
};

// Standard deviation of the noise of either view, in grey levels.
inline constexpr double kSceneNoise = 1.5;
// Largest relative difference in exposure between the views, per channel.
inline constexpr double kSceneExposure = 0.05;

// All disparities lie in [0, max_disparity] and use most of that range. The same arguments give the
// same scene, with any number of threads. Throws InvalidInput unless width and height are 16 to
// 16384, with at most 2^26 pixels in all, and max_disparity is 1 to width / 2.
StereoScene MakeScene(int width, int height, int max_disparity, std::uint64_t seed);

}  // namespace submarine::apps
