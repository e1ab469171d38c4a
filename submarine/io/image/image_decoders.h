// Internal to ReadImage: one decoder per format, and what they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "submarine/io/image/image.h"

namespace submarine::internal {

// The bytes of a picture and the name for messages.
struct EncodedImage {
  std::filesystem::path path;
  std::string_view bytes;
  std::optional<ImageSize> expected = {};
  // Return numbers as stored: palette indices instead of colours, and no stretching.
  bool raw = false;

  // Throws FileError "path" + problem.
  [[noreturn]] void Fail(std::string_view problem) const;
  // "is damaged or truncated: <reason of the library>"; `reason` may come from the file and contain
  // anything.
  [[noreturn]] void FailToDecode(std::string_view format, std::string_view reason) const;

  // Refuses sizes that are not positive, differ from the expected one, exceed kMaxImagePixels, or
  // need more memory than a file of this length can fill, so that a header alone never causes a
  // large allocation. `bits_per_pixel` is that of the stored data.
  void CheckSize(std::int64_t width, std::int64_t height, std::size_t bits_per_pixel) const;
  void CheckDecodedBytes(std::uint64_t bytes) const;
  std::uint64_t max_decoded_bytes() const;
};

Image DecodePng(const EncodedImage& file);
Image DecodeJpeg(const EncodedImage& file);
Image DecodeTiff(const EncodedImage& file);
Image DecodePnm(const EncodedImage& file);
Image DecodeBmp(const EncodedImage& file);

}  // namespace submarine::internal
