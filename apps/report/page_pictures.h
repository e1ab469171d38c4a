// Pictures small enough for a page.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace submarine::apps {

// The bytes of a PNG file, and its size.
struct PngFile {
  std::string bytes;
  std::int64_t width = 0;
  std::int64_t height = 0;
};

// Throws FileError unless its first bytes are those of a PNG; the rest is left to the browser.
PngFile ReadPngFile(const std::filesystem::path& path);

// How `step` x `step` pixels become one: by their mean, or, for colours of labels, by the one in
// the middle.
enum class Shrinking { kMean, kMiddle };
PngFile ReadShrunkPng(const std::filesystem::path& path, std::int64_t step, Shrinking shrinking);

// The labels over the picture, with no side longer than `side`. Throws FileError if their sizes
// differ.
PngFile OverlayThumbnail(const std::filesystem::path& picture, const std::filesystem::path& labels,
                         std::int64_t side);

}  // namespace submarine::apps
