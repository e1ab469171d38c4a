#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/volume/nifti.h"
#include "submarine/base/error.h"

namespace submarine::apps {
namespace {

template <class T>
std::string Text(const std::array<T, 3>& sides) {
  return fmt::format("{:.4g} x {:.4g} x {:.4g}", static_cast<double>(sides[0]),
                     static_cast<double>(sides[1]), static_cast<double>(sides[2]));
}

// How far apart the two say that a voxel is, at most: at one of the corners.
double Apart(const Volume& one, const Volume& other) {
  double largest = 0.0;
  for (unsigned corner = 0; corner < 8; ++corner) {
    for (std::size_t i = 0; i < 3; ++i) {
      double apart = one.affine[i][3] - other.affine[i][3];
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double place = (corner >> axis & 1U) != 0 ? one.extent[axis] - 1 : 0;
        apart += place * (one.affine[i][axis] - other.affine[i][axis]);
      }
      largest = std::max(largest, std::abs(apart));
    }
  }
  return largest;
}

}  // namespace

bool IsVolumeName(std::string_view file) {
  return file.ends_with(".nii") || file.ends_with(".nii.gz");
}

void CheckSamePlaces(const Volume& one, const Volume& other) {
  if (one.extent != other.extent) {
    throw InvalidInput(fmt::format("\"{}\" has {} voxels, \"{}\" has {}", one.name,
                                   Text(one.extent), other.name, Text(other.extent)));
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (std::abs(one.spacing[axis] - other.spacing[axis]) > 1e-3 * one.spacing[axis]) {
      throw InvalidInput(fmt::format("\"{}\" has voxels of {} mm, \"{}\" of {} mm", one.name,
                                     Text(one.spacing), other.name, Text(other.spacing)));
    }
  }
  const double apart = Apart(one, other);
  if (apart > 0.1 * *std::min_element(one.spacing.begin(), one.spacing.end())) {
    throw InvalidInput(
        fmt::format("the voxels of \"{}\" and \"{}\" are up to {:.3g} mm apart: they differ in "
                    "orientation or origin",
                    one.name, other.name, apart));
  }
}

}  // namespace submarine::apps
