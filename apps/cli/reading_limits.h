// Keeps the limits of a call while its pictures are decoded: a file of a few kilobytes may hold
// gigabytes of pixels.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "apps/volume/nifti.h"
#include "submarine/base/stopwatch.h"
#include "submarine/io/image/image.h"
#include "submarine/solve/solve.h"

namespace submarine::apps {

// What a solve at least holds for every pixel, beside the picture: unaries, marginals and features.
double LeastBytesPerPixel(std::size_t num_labels);

class ReadingLimits {
 public:
  // `clock` has run since the start of the call. For every pixel at least `pixel_bytes` will be
  // held; if the command can shrink pictures, only for one in shrink x shrink.
  ReadingLimits(const SolveOptions& solve, const internal::Stopwatch& clock, double pixel_bytes,
                std::optional<int> shrink = {});

  // For reading a picture, by its name in messages: throws TooLarge before it is decoded if decoding
  // it or holding its pixels takes more memory than the limit; TooLarge when the time limit passes
  // meanwhile, Interrupted at an interrupt. Must not outlive this object.
  ImageReading For(const std::string& picture) const;
  // The same for volumes.
  std::function<void(const Volume& begun, double bytes)> ForVolume() const;

 private:
  void RequireMemory(const std::string& picture, const ImageHeader& header) const;

  const internal::Stopwatch& clock_;
  double seconds_;
  double max_bytes_;
  double pixel_bytes_;
  std::optional<int> shrink_;
};

}  // namespace submarine::apps
