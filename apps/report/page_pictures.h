// Pictures small enough for a page.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace submarine::apps {

// A PNG as it is stored, with its size.
struct PngFile {
  std::string bytes;
  std::int64_t width = 0;
  std::int64_t height = 0;
};

// Throws FileError unless it is a PNG by its first bytes; the rest is for the browser.
PngFile ReadPngFile(const std::filesystem::path& path);

// How `step` x `step` pixels become one: by their mean, or, for colours that stand for labels, by the one in the middle.
enum class Shrinking { kMean, kMiddle };
PngFile ReadShrunkPng(const std::filesystem::path& path, std::int64_t step, Shrinking shrinking);

// The labels over the picture, no side longer than `side`. Throws FileError where they differ in size.
PngFile OverlayThumbnail(const std::filesystem::path& picture, const std::filesystem::path& labels,
                         std::int64_t side);

}  // namespace submarine::apps
