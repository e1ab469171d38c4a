// Features for the benchmarks of the lattice: 640x480 with the widths of pydensecrf's README.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/io/image/image.h"

namespace submarine::internal {

struct Picture {
  int width = 0;
  int height = 0;
  std::vector<float> rgb;
};

// A picture that fills the lattice about as a photograph does: shaded regions, edges, some noise.
inline Picture ProceduralPicture(int width, int height) {
  Picture picture{width, height, {}};
  std::mt19937_64 rng(1);
  std::normal_distribution<double> noise(0.0, 3.0);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double u = 6.0 * x / width;
      const double v = 6.0 * y / height;
      const double shade = noise(rng) + 10.0 * std::sin(5.0 * u) * std::cos(4.0 * v);
      const double region = std::sin(u * 1.7) + std::cos(v * 1.3 + u) > 0.3 ? 60.0 : 0.0;
      for (int c = 0; c < 3; ++c) {
        const double value =
            90.0 + region * (c == 1 ? -0.6 : 1.0) + 40.0 * std::sin(u + c) * std::sin(v) + shade;
        picture.rgb.push_back(static_cast<float>(std::clamp(std::round(value), 0.0, 255.0)));
      }
    }
  }
  return picture;
}

inline Picture RandomPicture(int width, int height) {
  Picture picture{width, height, {}};
  std::mt19937_64 rng(1);
  for (int k = 0; k < 3 * width * height; ++k) {
    picture.rgb.push_back(static_cast<float>(rng() % 256));
  }
  return picture;
}

// An image file enlarged or reduced bilinearly.
inline Picture LoadPicture(const std::string& path, int width, int height) {
  const Image image = ReadImage(path);
  const std::vector<float> values = ColourValues(image);
  Picture picture{width, height, {}};
  const auto value = [&](int x, int y, int c) {
    x = std::clamp(x, 0, image.width - 1);
    y = std::clamp(y, 0, image.height - 1);
    return values[static_cast<std::size_t>((y * image.width + x) * image.channels +
                                           std::min(c, image.channels - 1))];
  };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const float fx = (static_cast<float>(x) + 0.5F) * static_cast<float>(image.width) /
                           static_cast<float>(width) -
                       0.5F;
      const float fy = (static_cast<float>(y) + 0.5F) * static_cast<float>(image.height) /
                           static_cast<float>(height) -
                       0.5F;
      const int x0 = static_cast<int>(std::floor(fx));
      const int y0 = static_cast<int>(std::floor(fy));
      const float tx = fx - static_cast<float>(x0);
      const float ty = fy - static_cast<float>(y0);
      for (int c = 0; c < 3; ++c) {
        const float top = (1.0F - tx) * value(x0, y0, c) + tx * value(x0 + 1, y0, c);
        const float bottom = (1.0F - tx) * value(x0, y0 + 1, c) + tx * value(x0 + 1, y0 + 1, c);
        picture.rgb.push_back(std::round((1.0F - ty) * top + ty * bottom));
      }
    }
  }
  return picture;
}

inline GaussianKernel Bilateral(const Picture& picture, float sigma_xy, float sigma_rgb) {
  GaussianKernel kernel;
  kernel.name = "bilateral";
  const auto n = static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.height);
  kernel.features = Matrix<double>(n, 5);
  for (std::size_t a = 0; a < n; ++a) {
    const auto width = static_cast<std::size_t>(picture.width);
    kernel.features(a, 0) = static_cast<float>(a % width) / sigma_xy;
    kernel.features(a, 1) = static_cast<float>(a / width) / sigma_xy;
    for (std::size_t c = 0; c < 3; ++c) {
      kernel.features(a, 2 + c) = picture.rgb[3 * a + c] / sigma_rgb;
    }
  }
  return kernel;
}

}  // namespace submarine::internal
