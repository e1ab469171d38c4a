#include "apps/volume/slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace submarine::apps {
namespace {

constexpr double kThinnest = 1.0 / 12.0;  // of the other side of a slice
constexpr int kLeastHeight = 192;
constexpr int kMostHeight = 512;

// Of each axis, the median place of voxels that have not the most frequent label; the middle of the
// volume if there are none.
std::array<int, 3> Centre(const Volume& volume, const std::vector<int>& labels,
                          std::size_t num_labels) {
  std::vector<std::size_t> counts(num_labels, 0);
  for (const int label : labels) ++counts[static_cast<std::size_t>(label)];
  const auto most =
      static_cast<int>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  std::array<std::vector<std::size_t>, 3> at;
  for (std::size_t axis = 0; axis < 3; ++axis)
    at[axis].assign(static_cast<std::size_t>(volume.extent[axis]), 0);
  const auto nx = static_cast<std::size_t>(volume.extent[0]);
  const auto ny = static_cast<std::size_t>(volume.extent[1]);
  std::size_t others = 0;
  for (std::size_t a = 0; a < labels.size(); ++a) {
    if (labels[a] == most) continue;
    ++others;
    ++at[0][a % nx];
    ++at[1][a / nx % ny];
    ++at[2][a / nx / ny];
  }
  std::array<int, 3> centre;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    int place = volume.extent[axis] / 2;
    if (others > 0) {
      place = 0;
      for (std::size_t passed = at[axis][0]; 2 * passed < others;)
        passed += at[axis][static_cast<std::size_t>(++place)];
    }
    centre[axis] = place;
  }
  return centre;
}

// Whether indices along an axis rise to the right, the front or the top.
bool Rises(const Volume& volume, std::size_t axis) {
  double largest = 0.0;
  for (const auto& row : volume.affine) {
    if (std::abs(row[axis]) > std::abs(largest)) largest = row[axis];
  }
  return largest > 0.0;
}

struct Direction {
  std::size_t across, right, up;  // axes
};

}  // namespace

Slices SlicesOf(const Volume& volume, const std::vector<int>& labels, std::size_t num_labels) {
  const std::array<int, 3> centre = Centre(volume, labels, num_labels);
  const auto length = [&](std::size_t axis) { return volume.extent[axis] * volume.spacing[axis]; };
  std::vector<Direction> shown;
  int height = kLeastHeight;
  for (const Direction& d : {Direction{2, 0, 1}, Direction{1, 0, 2}, Direction{0, 1, 2}}) {
    const auto [least, most] = std::minmax(length(d.right), length(d.up));
    if (least < kThinnest * most) continue;
    shown.push_back(d);
    height = std::max(height, volume.extent[d.up]);
  }
  if (shown.empty()) {  // thin in two directions
    shown.push_back({2, 0, 1});
  }
  Slices slices;
  slices.height = std::min(height, kMostHeight);
  std::vector<std::vector<std::size_t>> columns;  // of pixels
  std::string which;
  for (const Direction& d : shown) {
    // At most, where a volume is thin in two directions, a picture as long as the page is wide.
    const double wide = std::clamp(slices.height * length(d.right) / length(d.up), 1.0, 4096.0);
    const auto width = static_cast<int>(std::lround(wide));
    for (int x = 0; x < width; ++x) {
      std::vector<std::size_t> column;
      for (int y = 0; y < slices.height; ++y) {
        std::array<int, 3> at = centre;
        at[d.right] = std::min(static_cast<int>((x + 0.5) * volume.extent[d.right] / width),
                               volume.extent[d.right] - 1);
        const int row = Rises(volume, d.up) ? slices.height - 1 - y : y;
        at[d.up] = std::min(static_cast<int>((row + 0.5) * volume.extent[d.up] / slices.height),
                            volume.extent[d.up] - 1);
        column.push_back((static_cast<std::size_t>(at[2]) * volume.extent[1] + at[1]) *
                             static_cast<std::size_t>(volume.extent[0]) +
                         static_cast<std::size_t>(at[0]));
      }
      columns.push_back(std::move(column));
    }
    which += fmt::format("{}{} = {}", which.empty() ? "" : ", ", "xyz"[d.across], centre[d.across]);
  }
  slices.width = static_cast<int>(columns.size());
  for (std::size_t y = 0; y < static_cast<std::size_t>(slices.height); ++y) {
    for (const auto& column : columns) slices.voxels.push_back(column[y]);
  }
  slices.text = fmt::format("Slices of {} x {} x {} voxels of {:.4g} x {:.4g} x {:.4g} mm: {}",
                            volume.extent[0], volume.extent[1], volume.extent[2], volume.spacing[0],
                            volume.spacing[1], volume.spacing[2], which);
  return slices;
}

}  // namespace submarine::apps
