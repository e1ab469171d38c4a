#include "apps/cli/picture_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "submarine/base/error.h"

namespace submarine::apps {
namespace fs = std::filesystem;
namespace {

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

bool IsPictureName(const fs::path& path) {
  const std::string ending = LowerCase(path.extension().string());
  return !path.filename().string().starts_with('.') &&
         std::find(kPictureEndings.begin(), kPictureEndings.end(), ending) != kPictureEndings.end();
}

}  // namespace

std::vector<std::string> PicturesIn(const fs::path& directory) {
  std::vector<std::string> pictures;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (IsPictureName(entry->path())) pictures.push_back(entry->path().string());
  }
  if (error) throw FileError(fmt::format("{}: {}", directory.string(), error.message()));
  if (pictures.empty()) {
    throw InvalidInput(fmt::format(
        "\"{}\" holds no picture, expected files that end in .png, .jpg, .bmp, .tif, .pgm or .ppm",
        directory.string()));
  }
  std::sort(pictures.begin(), pictures.end());
  return pictures;
}

}  // namespace submarine::apps
