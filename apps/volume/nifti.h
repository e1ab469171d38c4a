// Volumes in files: NIfTI (.nii, .nii.gz), by libnifti, with the places of their voxels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace submarine::apps {

// Voxel (x, y, z) of part p is values[((p extent[2] + z) extent[1] + y) extent[0] + x].
struct Volume {
  std::string name;
  std::array<int, 3> extent = {};      // in the order of the file: x, y, z
  std::size_t parts = 1;               // along its fourth axis
  std::array<double, 3> spacing = {};  // mm
  // From indices of voxels to mm, each row with the origin in its last place.
  std::array<std::array<double, 4>, 3> affine = {};
  bool bytes = false;  // the file holds whole numbers from 0 to 255
  std::vector<float> values;
  std::shared_ptr<const void> header;  // what a file at the same places begins with

  std::size_t voxels() const {
    return static_cast<std::size_t>(extent[0]) * static_cast<std::size_t>(extent[1]) *
           static_cast<std::size_t>(extent[2]);
  }
  double millilitres() const {
    return spacing[0] * spacing[1] * spacing[2] / 1000.0;
  }  // of a voxel
  // "x = 3, y = 4, z = 5"
  std::string PlaceText(std::size_t voxel) const;
};

// By its ending.
bool IsVolumeName(std::string_view file);

// `before` is called before any voxel is read; what it throws ends the reading. Throws FileError for
// what is no NIfTI file, ends early, or holds colours or complex numbers, and InvalidInput for
// numbers that are not finite.
Volume ReadVolume(const std::string& file,
                  const std::function<void(const Volume& begun, double bytes)>& before);

// Throws InvalidInput unless voxels of both are at the same places.
void CheckSamePlaces(const Volume& one, const Volume& other);

// Of one or several parts at the places of `like`; values are `slope` times what is given, and bytes
// where these are below 256. Throws FileError.
void WriteVolume(const std::filesystem::path& file, const Volume& like,
                 std::span<const std::uint16_t> values, double slope = 1.0);

}  // namespace submarine::apps
