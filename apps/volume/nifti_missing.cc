// Where libnifti is not there.
#include <fmt/format.h>

#include "apps/volume/nifti.h"
#include "submarine/base/error.h"

namespace submarine::apps {

std::string Volume::PlaceText(std::size_t voxel) const { return fmt::format("{}", voxel); }

Volume ReadVolume(const std::string& file,
                  const std::function<void(const Volume& begun, double bytes)>& /*before*/) {
  throw FileError(fmt::format(
      "\"{}\" is a volume, and this submarine was built without NIfTI (libnifti2-dev)", file));
}

void WriteVolume(const std::filesystem::path& file, const Volume& /*like*/,
                 std::span<const std::uint16_t> /*values*/, double /*slope*/) {
  throw FileError(fmt::format("\"{}\" cannot be written without NIfTI", file.string()));
}

}  // namespace submarine::apps
