#include "submarine/stereo/filling/surfaces.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "submarine/stereo/filling/colour_weights.h"
#include "submarine/stereo/filling/picture_rows.h"

namespace submarine::internal {
namespace {

struct Sample {
  float dx;
  float dy;
  float disparity;
  float weight;
};

// A plane over (dx, dy).
struct Plane {
  float at = 0.0F;
  float slope_x = 0.0F;
  float slope_y = 0.0F;
};

// Least squares, where samples count the less the further they are from `plane`, and not at all beyond the
// tolerance (Tukey's weights). False if too few do.
bool Refit(const std::vector<Sample>& samples, float tolerance, const PlaneOptions& options,
           Plane* plane) {
  float n = 0.0F;
  float x = 0.0F;
  float y = 0.0F;
  float xx = 0.0F;
  float xy = 0.0F;
  float yy = 0.0F;
  float d = 0.0F;
  float xd = 0.0F;
  float yd = 0.0F;
  for (const Sample& s : samples) {
    const float residual =
        (s.disparity - plane->at - plane->slope_x * s.dx - plane->slope_y * s.dy) / tolerance;
    const float rest = std::max(0.0F, 1.0F - residual * residual);
    const float w = s.weight * rest * rest;
    n += w;
    x += w * s.dx;
    y += w * s.dy;
    xx += w * s.dx * s.dx;
    xy += w * s.dx * s.dy;
    yy += w * s.dy * s.dy;
    d += w * s.disparity;
    xd += w * s.dx * s.disparity;
    yd += w * s.dy * s.disparity;
  }
  if (n < options.support) return false;
  // Around the means.
  const float ridge = options.ridge * options.support;
  xx += ridge - x * x / n;
  yy += ridge - y * y / n;
  xy -= x * y / n;
  xd -= x * d / n;
  yd -= y * d / n;
  const float determinant = xx * yy - xy * xy;
  if (!(determinant > 0.0F)) return false;
  plane->slope_x = (xd * yy - yd * xy) / determinant;
  plane->slope_y = (yd * xx - xd * xy) / determinant;
  plane->at = (d - plane->slope_x * x - plane->slope_y * y) / n;
  return true;
}

class Planes {
 public:
  Planes(const std::vector<int>& filled, const std::vector<float>& refined,
         const std::vector<std::uint8_t>& known, const StereoView& view,
         const PlaneOptions& options)
      : filled_(filled),
        refined_(refined),
        known_(known),
        view_(view),
        options_(options),
        weights_(view, options.colour_scale) {}

  // The disparity at (x, y) of the plane through those around.
  float At(int x, int y, std::vector<Sample>* samples) const {
    const std::size_t a = Pixel(x, y);
    const auto filled = static_cast<float>(filled_[a]);
    Collect(x, y, filled, samples);
    Plane plane;
    for (const float part : {1.0F, 0.5F, 1.0F / 3.0F}) {
      if (!Refit(*samples, part * options_.reach, options_, &plane)) break;
    }
    return std::max(0.0F, filled + std::clamp(plane.at, -options_.most, options_.most));
  }

 private:
  std::size_t Pixel(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(view_.width) +
           static_cast<std::size_t>(x);
  }

  void Collect(int x, int y, float filled, std::vector<Sample>* samples) const {
    constexpr int kLeastWeight = ColourWeights::kOne / 100;
    const int step = options_.step;
    const auto first = [&](int centre) {
      return (std::max(0, centre - options_.radius) + step - 1) / step * step;
    };
    samples->clear();
    const std::size_t a = Pixel(x, y);
    for (int y2 = first(y); y2 <= std::min(view_.height - 1, y + options_.radius); y2 += step) {
      for (int x2 = first(x); x2 <= std::min(view_.width - 1, x + options_.radius); x2 += step) {
        const std::size_t b = Pixel(x2, y2);
        if (known_[b] == 0) continue;
        const int weight = weights_.Of(a, b);
        if (weight < kLeastWeight) continue;
        samples->push_back({static_cast<float>(x2 - x), static_cast<float>(y2 - y),
                            refined_[b] - filled,
                            static_cast<float>(weight) / ColourWeights::kOne});
      }
    }
  }

  const std::vector<int>& filled_;
  const std::vector<float>& refined_;
  const std::vector<std::uint8_t>& known_;
  const StereoView& view_;
  const PlaneOptions& options_;
  ColourWeights weights_;
};

}  // namespace

std::vector<float> RefineByCosts(const CostVolume& sums, const std::vector<int>& disparities) {
  std::vector<float> refined(disparities.size());
  ParallelFor(refined.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      const int k = disparities[a];
      refined[a] = static_cast<float>(k);
      if (k < 1 || k + 1 >= sums.disparities) continue;
      const std::uint16_t* costs = sums.cells.row(a).data() + k;
      const int before = costs[-1] - costs[0];
      const int after = costs[1] - costs[0];
      if (before < 0 || after < 0 || before + after == 0) continue;
      refined[a] +=
          static_cast<float>(before - after) / (2.0F * static_cast<float>(std::max(before, after)));
    }
  });
  return refined;
}

std::vector<float> FitPlanes(const std::vector<int>& filled, const std::vector<float>& refined,
                             const std::vector<std::uint8_t>& known, const StereoView& view,
                             const PlaneOptions& options) {
  const Planes planes(filled, refined, known, view, options);
  std::vector<float> fitted = refined;
  ForEachRow(view.height, [&](int y) {
    std::vector<Sample> samples;
    for (int x = 0; x < view.width; ++x) {
      const std::size_t a = static_cast<std::size_t>(y) * static_cast<std::size_t>(view.width) +
                            static_cast<std::size_t>(x);
      if (known[a] == 0) fitted[a] = planes.At(x, y, &samples);
    }
  });
  return fitted;
}

std::vector<float> Median5x5(const std::vector<float>& values, int width, int height) {
  constexpr int kRadius = 2;
  std::vector<float> medians(values.size());
  ForEachRow(height, [&](int y) {
    std::array<float, (2 * kRadius + 1) * (2 * kRadius + 1)> window;
    for (int x = 0; x < width; ++x) {
      std::size_t n = 0;
      for (int y2 = std::max(0, y - kRadius); y2 <= std::min(height - 1, y + kRadius); ++y2) {
        for (int x2 = std::max(0, x - kRadius); x2 <= std::min(width - 1, x + kRadius); ++x2)
          window[n++] = values[static_cast<std::size_t>(y2) * width + x2];
      }
      const auto middle = window.begin() + static_cast<std::ptrdiff_t>((n - 1) / 2);
      std::nth_element(window.begin(), middle, window.begin() + static_cast<std::ptrdiff_t>(n));
      medians[static_cast<std::size_t>(y) * width + x] = *middle;
    }
  });
  return medians;
}

}  // namespace submarine::internal
