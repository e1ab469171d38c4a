// Internal to ReadImage: one decoder per format, and what they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "submarine/io/image/image.h"

namespace submarine::internal {

// The bytes of a picture and the name for messages.
struct EncodedImage {
  std::filesystem::path path;
  std::string_view bytes;
  ImageReading reading = {};
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

// Where decoders put pixels, which passes them on in strips.
class ImageStrips {
 public:
  using Take = std::function<void(Image& strip)>;  // may move the samples away

  ImageStrips(const EncodedImage& file, int rows, const Take& take)
      : file_(file), most_rows_(static_cast<std::size_t>(rows)), take_(take) {}

  // What a decoder holds beside the file and the rows that it has put here.
  struct Held {
    bool picture = false;  // all of it, as an Image
    std::uint64_t bytes = 0;
  };
  // First of all; `header` has no samples.
  void Begin(const Image& header, const Held& held);
  // Then either every row from the top: EndRow() after NextRow() has been filled,
  std::uint16_t* NextRow();
  void EndRow();
  // or all rows at once.
  void PutAll(Image image);
  // Passes control to reading.meanwhile after every few of these calls, by the number of samples
  // decoded since the last. EndRow() does so itself.
  void Decoded(std::size_t samples);

  const ImageHeader& header() const { return header_; }

 private:
  std::size_t width() const { return static_cast<std::size_t>(header_.size.width); }
  std::size_t height() const { return static_cast<std::size_t>(header_.size.height); }
  std::size_t row_samples() const { return width() * static_cast<std::size_t>(header_.channels); }
  void StartStrip();

  const EncodedImage& file_;
  const std::size_t most_rows_;
  const Take& take_;
  ImageHeader header_;
  Image strip_;
  std::size_t strip_row_ = 0;  // rows of the strip that are complete
  std::size_t row_ = 0;        // rows of the picture that are complete
  std::size_t unseen_ = 0;     // samples since the last call of reading.meanwhile
};

void DecodePng(const EncodedImage& file, ImageStrips& strips);
void DecodeJpeg(const EncodedImage& file, ImageStrips& strips);
void DecodeTiff(const EncodedImage& file, ImageStrips& strips);
void DecodePnm(const EncodedImage& file, ImageStrips& strips);
void DecodeBmp(const EncodedImage& file, ImageStrips& strips);

}  // namespace submarine::internal
