// The pictures of a directory.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace submarine::apps {

inline constexpr std::array<std::string_view, 9> kPictureEndings = {
    ".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".pgm", ".ppm", ".pnm"};

// Their paths, sorted. Throws FileError if the directory cannot be read, InvalidInput if it holds none.
std::vector<std::string> PicturesIn(const std::filesystem::path& directory);

}  // namespace submarine::apps
