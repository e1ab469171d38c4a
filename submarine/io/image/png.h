// Writes pictures of labelings and marginals.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace submarine {

// Row-major 8-bit samples, `channels` 1 (grey) or 3 (RGB). Throws InvalidInput when the sizes
// disagree, FileError when the file cannot be written.
void WritePng(const std::filesystem::path& path, int width, int height, int channels,
              std::span<const std::uint8_t> samples);

// The bytes of such a file. Throws InvalidInput likewise.
std::string EncodePng(int width, int height, int channels, std::span<const std::uint8_t> samples);

// Row-major 16-bit grey samples, for values such as disparities that 8 bits cannot hold. Throws
// likewise.
void WritePng16(const std::filesystem::path& path, int width, int height,
                std::span<const std::uint16_t> samples);

// One index per pixel into at most 256 colours, the usual form of label maps. Throws likewise.
void WriteIndexedPng(const std::filesystem::path& path, int width, int height,
                     std::span<const std::uint8_t> indices,
                     std::span<const std::array<std::uint8_t, 3>> palette);

}  // namespace submarine
