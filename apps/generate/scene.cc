#include "apps/generate/scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <utility>

#include "apps/generate/random_numbers.h"
#include "submarine/base/error.h"
#include "submarine/base/parallel.h"

namespace submarine::apps {
namespace {

using Colour = std::array<double, 3>;

constexpr int kMinSide = 16;
constexpr int kMaxSide = 16384;
constexpr std::int64_t kMaxPixels = std::int64_t{1} << 26;
constexpr double kMaxSlope = 0.25;  // |b|: x - d(x, y) must grow with x

// 64 well mixed bits (the finaliser of splitmix64).
std::uint64_t Mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// Random numbers in [0, 1) on the integer grid, interpolated smoothly.
double ValueNoise(std::uint64_t seed, double x, double y) {
  const auto at = [seed](double i, double j) {
    const auto bits =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(i)) * 0x8cb92ba72f3d8dd7u +
        static_cast<std::uint64_t>(static_cast<std::int64_t>(j)) * 0xd6e8feb86659fd93u;
    return static_cast<double>(Mixed(seed ^ bits) >> 11) * 0x1p-53;
  };
  const double i = std::floor(x);
  const double j = std::floor(y);
  const auto smooth = [](double t) { return t * t * (3.0 - 2.0 * t); };
  const double u = smooth(x - i);
  const double v = smooth(y - j);
  return (1.0 - v) * ((1.0 - u) * at(i, j) + u * at(i + 1.0, j)) +
         v * ((1.0 - u) * at(i, j + 1.0) + u * at(i + 1.0, j + 1.0));
}

// A surface in coordinates of the left view: a plane of disparities over everything, an ellipse or a
// rectangle, with a texture.
struct Layer {
  double a = 0.0, b = 0.0, c = 0.0;  // d = a + b x + c y
  enum class Shape { kEverywhere, kEllipse, kRectangle } shape = Shape::kEverywhere;
  double centre_x = 0.0, centre_y = 0.0, half_width = 1.0, half_height = 1.0;
  Colour colour = {};
  std::uint64_t seed = 0;

  double Disparity(double x, double y) const { return a + b * x + c * y; }
  // Solves x_left - d(x_left, y) = x_right.
  double LeftColumn(double x_right, double y) const { return (x_right + a + c * y) / (1.0 - b); }
  bool Covers(double x, double y) const {
    const double u = (x - centre_x) / half_width;
    const double v = (y - centre_y) / half_height;
    return shape == Shape::kEverywhere ||
           (shape == Shape::kEllipse ? u * u + v * v <= 1.0
                                     : std::abs(u) <= 1.0 && std::abs(v) <= 1.0);
  }
  // Octaves of noise, the finest of which leave something to match at every pixel.
  Colour ColourAt(double x, double y) const {
    double tone = 0.25;
    double amplitude = 0.6;
    for (double wavelength = 40.0; wavelength > 2.4; wavelength /= 2.0, amplitude *= 0.8)
      tone += amplitude * (ValueNoise(Mixed(seed ^ static_cast<std::uint64_t>(wavelength)),
                                      x / wavelength, y / wavelength) -
                           0.3);
    Colour shaded = colour;
    for (double& channel : shaded) channel *= std::clamp(tone, 0.1, 1.0);
    return shaded;
  }
};

using Layers = std::vector<Layer>;  // the first covers everything, so there always is a nearest one

const Layer& NearestOnTheLeft(const Layers& layers, double x, double y) {
  const Layer* nearest = &layers.front();
  for (const Layer& layer : layers) {
    if (layer.Disparity(x, y) > nearest->Disparity(x, y) && layer.Covers(x, y)) nearest = &layer;
  }
  return *nearest;
}

// Also returns the column of the point in the left view: as d = x - x_right, the largest one is the
// largest disparity.
std::pair<const Layer*, double> NearestOnTheRight(const Layers& layers, double x_right, double y) {
  std::pair<const Layer*, double> nearest = {nullptr, 0.0};
  for (const Layer& layer : layers) {
    const double x = layer.LeftColumn(x_right, y);
    if ((nearest.first == nullptr || x > nearest.second) && layer.Covers(x, y))
      nearest = {&layer, x};
  }
  return nearest;
}

// Noise of variance 1 that is nearly normal: the sum of 12 uniform numbers.
double Noise(std::uint64_t seed, std::size_t sample) {
  double sum = 0.0;
  for (std::uint64_t k = 0; k < 3; ++k) {
    std::uint64_t bits = Mixed(seed ^ Mixed(3 * sample + k));
    for (int part = 0; part < 4; ++part, bits >>= 16)
      sum += (static_cast<double>(bits & 0xffff) + 0.5) / 65536.0 - 0.5;
  }
  return sum;
}

// `colour_at(x, y)` is the colour of the view at a point. A pixel is the mean of 2 x 2 points, against
// jagged borders.
template <class ColourAt>
std::vector<std::uint8_t> Render(int width, int height, const Colour& gain,
                                 std::uint64_t noise_seed, const ColourAt& colour_at) {
  const auto columns = static_cast<std::size_t>(width);
  std::vector<std::uint8_t> image(3 * columns * static_cast<std::size_t>(height));
  internal::ParallelFor(
      static_cast<std::size_t>(height), 8, [&](std::size_t begin, std::size_t end) {
        for (std::size_t a = begin * columns; a < end * columns; ++a) {
          const auto x = static_cast<double>(a % columns);
          const std::size_t row = a / columns;
          const auto y = static_cast<double>(row);
          Colour mean = {};
          for (const double dx : {-0.25, 0.25}) {
            for (const double dy : {-0.25, 0.25}) {
              const Colour colour = colour_at(x + dx, y + dy);
              for (std::size_t k = 0; k < 3; ++k) mean[k] += 0.25 * colour[k];
            }
          }
          for (std::size_t k = 0; k < 3; ++k) {
            const double value = gain[k] * mean[k] + kSceneNoise * Noise(noise_seed, 3 * a + k);
            image[3 * a + k] =
                static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
          }
        }
      });
  return image;
}

Layers MakeLayers(int width, int height, double most, std::mt19937_64* rng) {
  const auto between = [rng](double low, double high) { return low + (high - low) * Uniform(rng); };
  const auto add_texture = [&](Layer* layer) {
    for (double& channel : layer->colour) channel = between(120.0, 245.0);
    layer->seed = (*rng)();
  };
  // A wall, and a floor that comes nearer towards the lower border.
  Layer wall{.a = most * between(0.06, 0.3), .c = most * 0.03 / height};
  wall.b = (most * between(0.06, 0.3) - wall.a) / (1.5 * width);
  Layer floor;
  const double horizon = height * between(0.45, 0.55);
  floor.c = most * between(0.55, 0.7) / (height - horizon);
  floor.a = -floor.c * horizon;
  Layers layers = {wall, floor};
  constexpr int kObjects = 7;
  const double unit = std::sqrt(static_cast<double>(width) * height / kObjects);
  for (int k = 0; k < kObjects; ++k) {
    Layer object{.shape = k % 2 == 0 ? Layer::Shape::kRectangle : Layer::Shape::kEllipse,
                 .centre_x = width * (k + between(0.25, 0.75)) / kObjects,
                 .centre_y = height * between(0.18, 0.82),
                 .half_width = unit * between(0.24, 0.4),
                 .half_height = unit * between(0.2, 0.5)};
    // The nearest one is at 0.9 of the range. All lean a little, but not out of it.
    const double disparity = most * (0.4 + 0.5 * ((3 * k + 2) % kObjects) / (kObjects - 1));
    const double lean = 0.04 * most;
    object.b = std::clamp(between(-lean, lean) / object.half_width, -kMaxSlope, kMaxSlope);
    object.c = between(-lean, lean) / object.half_height;
    object.a = disparity - object.b * object.centre_x - object.c * object.centre_y;
    layers.push_back(object);
  }
  for (Layer& layer : layers) add_texture(&layer);
  return layers;
}

void CheckArguments(int width, int height, int max_disparity) {
  for (const auto& [name, side] : {std::pair("width", width), std::pair("height", height)}) {
    if (side < kMinSide || side > kMaxSide) {
      throw InvalidInput(fmt::format("stereo scene: the {} is {}, expected {} to {}", name, side,
                                     kMinSide, kMaxSide));
    }
  }
  if (std::int64_t{width} * height > kMaxPixels) {
    throw InvalidInput(
        fmt::format("stereo scene: {} x {} pixels were asked for, expected at most {}", width,
                    height, kMaxPixels));
  }
  if (max_disparity < 1 || max_disparity > width / 2) {
    throw InvalidInput(
        fmt::format("stereo scene: max_disparity is {}, expected 1 to half the width, {}",
                    max_disparity, width / 2));
  }
}

}  // namespace

StereoScene MakeScene(int width, int height, int max_disparity, std::uint64_t seed) {
  CheckArguments(width, height, max_disparity);
  std::mt19937_64 rng(seed);
  const Layers layers = MakeLayers(width, height, max_disparity, &rng);
  Colour gain;
  for (double& channel : gain) channel = 1.0 + kSceneExposure * (2.0 * Uniform(&rng) - 1.0);
  StereoScene scene{.width = width, .height = height};
  scene.left = Render(width, height, {1.0, 1.0, 1.0}, rng(), [&](double x, double y) {
    return NearestOnTheLeft(layers, x, y).ColourAt(x, y);
  });
  scene.right = Render(width, height, gain, rng(), [&](double x_right, double y) {
    const auto [layer, x] = NearestOnTheRight(layers, x_right, y);
    return layer->ColourAt(x, y);
  });
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const Layer& layer = NearestOnTheLeft(layers, x, y);
      const double d = layer.Disparity(x, y);
      const bool visible = x - d >= 0.0 && NearestOnTheRight(layers, x - d, y).first == &layer;
      scene.disparity.push_back(visible ? static_cast<float>(d)
                                        : std::numeric_limits<float>::quiet_NaN());
    }
  }
  return scene;
}

}  // namespace submarine::apps
