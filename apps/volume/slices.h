// A volume on a page: slices in its three directions, side by side in one picture.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "apps/volume/nifti.h"

namespace submarine::apps {

struct Slices {
  int width = 0;
  int height = 0;
  std::vector<std::size_t> voxels;  // that the pixels show
  std::string text;                 // what they are
};

// Through the middle of what has another label than the most frequent one. Pixels are square, slices
// of one height and the right way up for axes that run to the right, the front or the top; a
// direction in which the volume is very thin is left out.
Slices SlicesOf(const Volume& volume, const std::vector<int>& labels, std::size_t num_labels);

// The value of every pixel.
template <class T>
std::vector<T> OnSlices(const Slices& slices, const std::vector<T>& values) {
  std::vector<T> shown;
  shown.reserve(slices.voxels.size());
  for (const std::size_t voxel : slices.voxels) shown.push_back(values[voxel]);
  return shown;
}

}  // namespace submarine::apps
