#include "apps/generate/scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <random>
#include <utility>

#include "apps/generate/scene_texture.h"
#include "submarine/base/error.h"
#include "submarine/base/parallel.h"

namespace submarine::apps {
namespace {

using internal::ParallelFor;

constexpr int kMinSide = 16;
constexpr int kMaxSide = 16384;
constexpr std::int64_t kMaxPixels = std::int64_t{1} << 26;
constexpr int kSamplesPerAxis = 2;  // per pixel, against jagged borders
constexpr double kMaxSlope =
    0.25;  // |b|: x - d(x, y) must grow with x, and textures not be crushed

// Uniform numbers from the bits of the generator, as the distributions of <random> may differ
// between libraries.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  std::uint64_t Bits() { return random_(); }
  double Uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(random_() >> 11) * 0x1p-53);
  }
  int Below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  // A unit vector at most 45 degrees from the x axis.
  std::array<double, 2> Direction() {
    const double slope = Uniform(-1.0, 1.0);
    const double length = std::sqrt(1.0 + slope * slope);
    return {1.0 / length, slope / length};
  }

 private:
  std::mt19937_64 random_;
};

enum class Shape { kEverywhere, kBall, kPanel };

// A surface in coordinates of the left view.
struct Layer {
  double a = 0.0, b = 0.0, c = 0.0;  // d = a + b x + c y
  Shape shape = Shape::kEverywhere;
  double centre_x = 0.0, centre_y = 0.0;
  double half_width = 1.0, half_height = 1.0;
  std::array<double, 2> axis = {1.0, 0.0};  // of the width
  Texture texture;

  double Disparity(double x, double y) const { return a + b * x + c * y; }
  // Solves x_left - d(x_left, y) = x_right.
  double LeftColumn(double x_right, double y) const { return (x_right + a + c * y) / (1.0 - b); }

  // An upper bound on the distance of the shape's points from its centre.
  double Radius() const { return std::sqrt(half_width * half_width + half_height * half_height); }
  // Coordinates relative to centre and half sizes: the shape lies within [-1, 1]^2.
  std::array<double, 2> Local(double x, double y) const {
    const double dx = x - centre_x;
    const double dy = y - centre_y;
    return {(dx * axis[0] + dy * axis[1]) / half_width,
            (dy * axis[0] - dx * axis[1]) / half_height};
  }
  bool Covers(double x, double y) const {
    if (shape == Shape::kEverywhere) return true;
    const auto [u, v] = Local(x, y);
    if (shape == Shape::kBall) return u * u + v * v <= 1.0;
    return std::abs(u) <= 1.0 && std::abs(v) <= 1.0;
  }
  // Light comes from the upper left.
  double Brightness(double x, double y) const {
    if (shape == Shape::kEverywhere) return 1.0;
    const auto [u, v] = Local(x, y);
    if (shape == Shape::kPanel) return 1.0 - 0.10 * v - 0.05 * u;
    const double out = u * u + v * v;
    return std::max(0.25, 1.08 - 0.30 * out * out - 0.22 * (u + 1.4 * v) * (0.4 + 0.6 * out));
  }
};

struct Views {
  int width, height;
  std::vector<Layer> layers;

  // The first layer covers everything, so there always is a nearest one.
  const Layer& NearestOnTheLeft(double x, double y) const {
    const Layer* nearest = &layers.front();
    for (const Layer& layer : layers) {
      if (layer.Disparity(x, y) > nearest->Disparity(x, y) && layer.Covers(x, y)) nearest = &layer;
    }
    return *nearest;
  }
  // Also returns the column of the point in the left view.
  std::pair<const Layer*, double> NearestOnTheRight(double x_right, double y) const {
    const Layer* nearest = nullptr;
    double nearest_x = 0.0;
    for (const Layer& layer : layers) {
      const double x = layer.LeftColumn(x_right, y);
      // d = x - x_right: the largest column in the left view is the largest disparity.
      if ((nearest == nullptr || x > nearest_x) && layer.Covers(x, y)) {
        nearest = &layer;
        nearest_x = x;
      }
    }
    return {nearest, nearest_x};
  }
};

Colour Shaded(const Layer& layer, double x, double y) {
  Colour colour = ColourAt(layer.texture, x, y);
  const double brightness = layer.Brightness(x, y);
  for (double& channel : colour) channel *= brightness;
  return colour;
}

// Simulates one camera: 8-bit samples of gain * colour + noise.
class Camera {
 public:
  Camera(Colour gain, std::uint64_t noise_seed) : gain_(gain), noise_seed_(noise_seed) {}

  void Expose(const Colour& colour, std::size_t pixel, std::uint8_t* samples) const {
    for (std::size_t c = 0; c < 3; ++c) {
      const double value = gain_[c] * colour[c] + kSceneNoise * Noise(3 * pixel + c);
      samples[c] = static_cast<std::uint8_t>(std::floor(std::clamp(value, 0.0, 255.0) + 0.5));
    }
  }

 private:
  // The sum of 12 uniform numbers has variance 1 and is nearly normal. Three hashes give four each.
  double Noise(std::size_t sample) const {
    double sum = 0.0;
    for (std::int64_t k = 0; k < 3; ++k) {
      std::uint64_t bits = MixBits(noise_seed_ ^ MixBits(3 * sample + static_cast<std::size_t>(k)));
      for (int part = 0; part < 4; ++part, bits >>= 16) {
        sum += (static_cast<double>(bits & 0xffff) + 0.5) / 65536.0 - 0.5;
      }
    }
    return sum;
  }

  Colour gain_;
  std::uint64_t noise_seed_;
};

// The mean of `sample` over the area of the pixel around (x, y).
template <class Sample>
Colour PixelMean(const Sample& sample, double x, double y) {
  constexpr double kStep = 1.0 / kSamplesPerAxis;
  Colour mean = {};
  for (int j = 0; j < kSamplesPerAxis; ++j) {
    for (int i = 0; i < kSamplesPerAxis; ++i) {
      const Colour colour = sample(x + (i + 0.5) * kStep - 0.5, y + (j + 0.5) * kStep - 0.5);
      for (std::size_t c = 0; c < 3; ++c) mean[c] += kStep * kStep * colour[c];
    }
  }
  return mean;
}

// `sample(x, y)` is the colour of a view at a point.
template <class Sample>
std::vector<std::uint8_t> Render(const Views& views, const Camera& camera, const Sample& sample) {
  const auto width = static_cast<std::size_t>(views.width);
  const auto height = static_cast<std::size_t>(views.height);
  std::vector<std::uint8_t> image(3 * width * height);
  ParallelFor(height, 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t y = begin; y < end; ++y) {
      for (std::size_t x = 0; x < width; ++x) {
        const std::size_t pixel = y * width + x;
        const Colour mean = PixelMean(sample, static_cast<double>(x), static_cast<double>(y));
        camera.Expose(mean, pixel, &image[3 * pixel]);
      }
    }
  });
  return image;
}

std::vector<float> TrueDisparities(const Views& views) {
  std::vector<float> disparity;
  disparity.reserve(static_cast<std::size_t>(views.width) * static_cast<std::size_t>(views.height));
  for (int y = 0; y < views.height; ++y) {
    for (int x = 0; x < views.width; ++x) {
      const Layer& layer = views.NearestOnTheLeft(x, y);
      const double d = layer.Disparity(x, y);
      const bool visible = x - d >= 0.0 && views.NearestOnTheRight(x - d, y).first == &layer;
      disparity.push_back(visible ? static_cast<float>(d)
                                  : std::numeric_limits<float>::quiet_NaN());
    }
  }
  return disparity;
}

// Dark, middle and light colours of natural materials.
constexpr std::array<Colour, 3> kPalettes[] = {
    {{{52, 38, 30}, {150, 104, 66}, {224, 186, 136}}},   // wood
    {{{40, 58, 70}, {104, 140, 152}, {214, 226, 220}}},  // slate
    {{{70, 28, 24}, {176, 74, 50}, {238, 166, 116}}},    // brick
    {{{30, 52, 30}, {98, 132, 60}, {206, 214, 128}}},    // moss
    {{{34, 38, 78}, {88, 104, 172}, {190, 206, 240}}},   // indigo
    {{{84, 62, 20}, {204, 160, 58}, {250, 232, 160}}},   // ochre
    {{{70, 30, 62}, {166, 84, 134}, {240, 190, 206}}},   // heather
    {{{24, 66, 70}, {54, 150, 146}, {186, 232, 208}}},   // sea
    {{{58, 56, 54}, {136, 132, 126}, {232, 228, 218}}},  // stone
};
constexpr int kPaletteCount = static_cast<int>(std::size(kPalettes));

Texture MakeTexture(Material material, int palette, double size, Dice& dice) {
  Texture texture{.material = material,
                  .seed = dice.Bits(),
                  .size = size,
                  .direction = dice.Direction(),
                  .palette = kPalettes[palette % kPaletteCount]};
  const double brightness = dice.Uniform(0.85, 1.05);
  for (Colour& colour : texture.palette) {
    for (double& channel : colour) channel *= brightness * dice.Uniform(0.95, 1.05);
  }
  return texture;
}

// Sets d at the centre of the shape, and slopes that keep it within `reach` of that over the shape.
void Tilt(Layer& layer, double disparity, double reach, double turn_x, double turn_y) {
  const double radius = layer.Radius();
  layer.b = std::clamp(turn_x * reach / radius, -kMaxSlope, kMaxSlope);
  layer.c = turn_y * reach / radius;
  layer.a = disparity - layer.b * layer.centre_x - layer.c * layer.centre_y;
}

// The wall is the first layer: between a twentieth and a third of the largest disparity over the
// left view and as far to its right as the right view can see.
Layer MakeWall(const Views& views, double max_disparity, int palette, Dice& dice) {
  Layer wall;
  const double seen_width = 1.5 * views.width;
  const double left = dice.Uniform(0.06, 0.30);
  const double right = dice.Uniform(0.06, 0.30);
  wall.b = max_disparity * (right - left) / seen_width;
  wall.c = max_disparity * 0.03 / views.height;
  wall.a = max_disparity * left;
  wall.texture = MakeTexture(Material::kClouds, palette, 0.3 * views.height, dice);
  return wall;
}

// Meets the wall at about two thirds of the height and comes nearer towards the lower border.
Layer MakeFloor(const Views& views, double max_disparity, int palette, Dice& dice) {
  Layer floor;
  const double horizon = views.height * dice.Uniform(0.45, 0.55);
  floor.c = max_disparity * dice.Uniform(0.55, 0.70) / (views.height - horizon);
  floor.a = -floor.c * horizon;
  floor.texture = MakeTexture(Material::kTiles, palette, 0.35 * views.height, dice);
  return floor;
}

// Object k of n: further right for larger k, at its own depth out of n.
Layer MakeObject(const Views& views, double max_disparity, int k, int n, int depth, int palette,
                 Dice& dice) {
  static constexpr Material kMaterials[] = {Material::kClouds, Material::kMarble, Material::kWood,
                                            Material::kTiles};
  Layer object;
  object.shape = dice.Below(5) < 2 ? Shape::kBall : Shape::kPanel;
  object.centre_x = views.width * ((k + dice.Uniform(0.25, 0.75)) / n * 1.04 - 0.02);
  object.centre_y = views.height * dice.Uniform(0.18, 0.82);
  const double unit = std::sqrt(static_cast<double>(views.width) * views.height / n);
  object.half_width = unit * dice.Uniform(0.24, 0.40);
  object.half_height = object.half_width;
  if (object.shape == Shape::kPanel) {
    object.half_height *= dice.Uniform(0.6, 1.5);
    object.axis = dice.Direction();
  }
  const double disparity = max_disparity * (0.36 + 0.54 * (depth + dice.Uniform(0.1, 0.9)) / n);
  // Balls face the camera; panels lean, but not into the wall or out of the range.
  const double lean = (object.shape == Shape::kBall ? 0.02 : 0.14) * max_disparity;
  const double reach =
      std::min({lean, disparity - 0.34 * max_disparity, 0.98 * max_disparity - disparity});
  const std::array<double, 2> turn = dice.Direction();
  Tilt(object, disparity, reach, turn[0] * (dice.Below(2) == 0 ? 1.0 : -1.0), turn[1]);
  object.texture = MakeTexture(kMaterials[dice.Below(4)], palette,
                               object.half_width * dice.Uniform(0.5, 1.0), dice);
  return object;
}

// Whether two objects intersect: which of them is nearer changes from place to place.
bool Cross(const Layer& p, const Layer& q) {
  constexpr int kPoints = 48;  // on either side of the centre: finds all but tiny overlaps
  bool p_in_front = false;
  bool q_in_front = false;
  for (int j = -kPoints; j <= kPoints; ++j) {
    for (int i = -kPoints; i <= kPoints; ++i) {
      const double x = p.centre_x + p.Radius() * i / kPoints;
      const double y = p.centre_y + p.Radius() * j / kPoints;
      if (!p.Covers(x, y) || !q.Covers(x, y)) continue;
      (p.Disparity(x, y) > q.Disparity(x, y) ? p_in_front : q_in_front) = true;
    }
  }
  return p_in_front && q_in_front;
}

std::vector<int> Shuffled(int n, Dice& dice) {
  std::vector<int> order(static_cast<std::size_t>(n));
  for (int k = 0; k < n; ++k) {
    const auto other = static_cast<std::size_t>(dice.Below(k + 1));
    order[static_cast<std::size_t>(k)] = order[other];
    order[other] = k;
  }
  return order;
}

void AddLayers(Views& views, double max_disparity, Dice& dice) {
  const std::vector<int> palettes = Shuffled(kPaletteCount, dice);
  views.layers.push_back(MakeWall(views, max_disparity, palettes[0], dice));
  views.layers.push_back(MakeFloor(views, max_disparity, palettes[1], dice));
  const int objects = 6 + dice.Below(3);
  const std::vector<int> depths = Shuffled(objects, dice);
  for (int k = 0; k < objects; ++k) {
    const int depth = depths[static_cast<std::size_t>(k)];
    const int palette = palettes[static_cast<std::size_t>(2 + k % (kPaletteCount - 2))];
    Layer object;
    bool crosses = true;
    for (int attempt = 0; attempt < 20 && crosses; ++attempt) {
      object = MakeObject(views, max_disparity, k, objects, depth, palette, dice);
      crosses = std::any_of(views.layers.begin() + 2, views.layers.end(),
                            [&](const Layer& other) { return Cross(object, other); });
    }
    views.layers.push_back(object);
  }
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
  Dice dice(seed);
  Views views{.width = width, .height = height, .layers = {}};
  AddLayers(views, max_disparity, dice);
  const Camera left_camera({1.0, 1.0, 1.0}, dice.Bits());
  Colour gain;
  for (double& channel : gain) channel = dice.Uniform(1.0 - kSceneExposure, 1.0 + kSceneExposure);
  const Camera right_camera(gain, dice.Bits());

  return {.width = width,
          .height = height,
          .left = Render(
              views, left_camera,
              [&](double x, double y) { return Shaded(views.NearestOnTheLeft(x, y), x, y); }),
          .right = Render(views, right_camera,
                          [&](double x_right, double y) {
                            const auto [layer, x] = views.NearestOnTheRight(x_right, y);
                            return Shaded(*layer, x, y);
                          }),
          .disparity = TrueDisparities(views)};
}

}  // namespace submarine::apps
