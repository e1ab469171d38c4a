#include "submarine/stereo/filling/surfaces.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "submarine/stereo/filling/colour_weights.h"
#include "submarine/stereo/filling/median_kernels.h"
#include "submarine/stereo/filling/picture_rows.h"
#include "submarine/stereo/filling/plane_kernels.h"

namespace submarine::internal {
namespace {

constexpr int kMedianRadius = 2;
constexpr int kMedianSide = 2 * kMedianRadius + 1;

// Least squares, where samples count the less the further they are from `plane`, and not at all beyond the
// tolerance (Tukey's weights). False if too few do.
bool Refit(const DisparitySamples& samples, float tolerance, const PlaneOptions& options,
           std::vector<float>* scratch, Plane* plane) {
  PlaneMoments m = MomentsOf(samples, *plane, tolerance, scratch);
  if (m.n < options.support) return false;
  // Around the means.
  const float ridge = options.ridge * options.support;
  m.xx += ridge - m.x * m.x / m.n;
  m.yy += ridge - m.y * m.y / m.n;
  m.xy -= m.x * m.y / m.n;
  m.xd -= m.x * m.d / m.n;
  m.yd -= m.y * m.d / m.n;
  const float determinant = m.xx * m.yy - m.xy * m.xy;
  if (!(determinant > 0.0F)) return false;
  plane->slope_x = (m.xd * m.yy - m.yd * m.xy) / determinant;
  plane->slope_y = (m.yd * m.xx - m.xd * m.xy) / determinant;
  plane->at = (m.d - plane->slope_x * m.x - plane->slope_y * m.y) / m.n;
  return true;
}

// Every step-th pixel of a picture, in both directions.
class Planes {
 public:
  Planes(const std::vector<int>& filled, const std::vector<float>& refined,
         const std::vector<std::uint8_t>& known, const StereoView& view,
         const PlaneOptions& options)
      : filled_(filled),
        view_(view),
        options_(options),
        columns_((view.width + options.step - 1) / options.step),
        weights_(view, options.colour_scale, options.step) {
    for (int y = 0; y < view.height; y += options.step) {
      for (int x = 0; x < view.width; x += options.step) {
        refined_.push_back(refined[Pixel(x, y)]);
        known_.push_back(known[Pixel(x, y)]);
      }
    }
  }

  // Room for the samples around a pixel.
  struct Room {
    explicit Room(const PlaneOptions& options)
        : side(static_cast<std::size_t>(2 * options.radius / options.step + 1)),
          samples(side * side),
          weights(side) {}
    std::size_t side;
    DisparitySamples samples;
    std::vector<int> weights;
    std::vector<float> scratch;
  };

  // The disparity at (x, y) of the plane through those around.
  float At(int x, int y, Room* room) const {
    const auto filled = static_cast<float>(filled_[Pixel(x, y)]);
    Collect(x, y, filled, room);
    Plane plane;
    for (const float part : {1.0F, 0.5F, 1.0F / 3.0F}) {
      if (!Refit(room->samples, part * options_.reach, options_, &room->scratch, &plane)) break;
    }
    return std::max(0.0F, filled + std::clamp(plane.at, -options_.most, options_.most));
  }

 private:
  std::size_t Pixel(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(view_.width) +
           static_cast<std::size_t>(x);
  }

  void Collect(int x, int y, float filled, Room* room) const {
    constexpr int kLeastWeight = ColourWeights::kOne / 100;
    const int step = options_.step;
    const auto first = [&](int centre) {
      return (std::max(0, centre - options_.radius) + step - 1) / step;
    };
    const int begin = first(x);
    const int last = std::min(view_.width - 1, x + options_.radius) / step;
    DisparitySamples& samples = room->samples;
    std::size_t n = 0;
    for (int v = first(y); v <= std::min(view_.height - 1, y + options_.radius) / step; ++v) {
      const std::size_t from = static_cast<std::size_t>(v) * columns_ + begin;
      weights_.OfRun(Pixel(x, y), from, static_cast<std::size_t>(last + 1 - begin),
                     room->weights.data());
      for (int u = begin; u <= last; ++u) {
        const auto j = static_cast<std::size_t>(u - begin);
        const int weight = room->weights[j];
        samples.dx[n] = static_cast<float>(u * step - x);
        samples.dy[n] = static_cast<float>(v * step - y);
        samples.disparity[n] = refined_[from + j] - filled;
        samples.weight[n] = static_cast<float>(weight) / ColourWeights::kOne;
        // The next one takes its place unless it counts.
        n += (known_[from + j] != 0 && weight >= kLeastWeight) ? 1 : 0;
      }
    }
    samples.count = n;
    std::fill_n(samples.weight.begin() + static_cast<std::ptrdiff_t>(n), kSampleLanes, 0.0F);
  }

  const std::vector<int>& filled_;
  const StereoView& view_;
  const PlaneOptions& options_;
  const std::size_t columns_;
  std::vector<float> refined_;
  std::vector<std::uint8_t> known_;
  ColourWeights weights_;
};

// The median over the window around (x, y), over what of it is in the picture.
float MedianAround(const std::vector<float>& values, int width, int height, int x, int y) {
  std::array<float, std::size_t{kMedianSide} * kMedianSide> window;
  std::size_t n = 0;
  for (int v = std::max(0, y - kMedianRadius); v <= std::min(height - 1, y + kMedianRadius); ++v) {
    for (int u = std::max(0, x - kMedianRadius); u <= std::min(width - 1, x + kMedianRadius); ++u)
      window[n++] = values[static_cast<std::size_t>(v) * width + u];
  }
  const auto middle = window.begin() + static_cast<std::ptrdiff_t>((n - 1) / 2);
  std::nth_element(window.begin(), middle, window.begin() + static_cast<std::ptrdiff_t>(n));
  return *middle;
}

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
    Planes::Room room(options);
    for (int x = 0; x < view.width; ++x) {
      const std::size_t a = static_cast<std::size_t>(y) * static_cast<std::size_t>(view.width) +
                            static_cast<std::size_t>(x);
      if (known[a] == 0) fitted[a] = planes.At(x, y, &room);
    }
  });
  return fitted;
}

std::vector<float> Median5x5(const std::vector<float>& values, int width, int height) {
  std::vector<float> medians(values.size());
  ForEachRow(height, [&](int y) {
    const bool inside = y >= kMedianRadius && y + kMedianRadius < height;
    // Blocks that would read or write beyond the picture are left to the definition.
    const int blocks = inside ? std::max(0, width - 2 * kMedianSide) / int{kMedianLanes} : 0;
    const int count = blocks * int{kMedianLanes};
    if (count > 0) {
      std::array<const float*, kMedianSide> rows;
      for (int v = 0; v < kMedianSide; ++v)
        rows[v] = values.data() + static_cast<std::size_t>(y - kMedianRadius + v) * width;
      MediansOf25(rows, static_cast<std::size_t>(count),
                  medians.data() + static_cast<std::size_t>(y) * width + kMedianRadius);
    }
    for (int x = 0; x < width; ++x) {
      if (x >= kMedianRadius && x < kMedianRadius + count) continue;
      medians[static_cast<std::size_t>(y) * width + x] = MedianAround(values, width, height, x, y);
    }
  });
  return medians;
}

}  // namespace submarine::internal
