#include "apps/segment/segment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/io/file/npy.h"
#include "submarine/labels/label_cuts.h"

namespace submarine::apps {
namespace {

using internal::NpyReader;
using internal::NpyShape;
using internal::ShapeText;

Colour ColourAt(const Image& image, std::size_t pixel) {
  const auto channels = static_cast<std::size_t>(image.channels);
  Colour colour;
  for (std::size_t c = 0; c < 3; ++c) {
    const int sample = image.samples[pixel * channels + (channels == 1 ? 0 : c)];
    colour[c] = static_cast<std::uint8_t>(image.max_value == 255 ? sample : sample / 257);
  }
  return colour;
}

// Hues around the circle by the golden angle, so that few labels are far apart and many still differ.
Colour ColourOfLabel(std::size_t label) {
  const double hue = std::fmod(0.6 + 0.61803398875 * static_cast<double>(label), 1.0);
  Colour colour;
  for (std::size_t c = 0; c < 3; ++c) {
    const double k = std::fmod(static_cast<double>(c) * 4.0 + 12.0 * hue, 12.0);
    const double lightness = label % 2 == 0 ? 0.45 : 0.65;
    const double value = lightness - 0.6 * std::min(lightness, 1.0 - lightness) *
                                         std::max(-1.0, std::min({k - 3.0, 9.0 - k, 1.0}));
    colour[c] = static_cast<std::uint8_t>(std::lround(255.0 * value));
  }
  return colour;
}

}  // namespace

Segments ReadScribbles(const std::string& file, const Image& image, double confidence) {
  const Image scribbles = ReadImage(file);
  if (scribbles.width != image.width || scribbles.height != image.height) {
    throw InvalidInput(fmt::format("{} is {} x {}, expected {} x {} as the picture", file,
                                   scribbles.width, scribbles.height, image.width, image.height));
  }
  const auto pixels =
      static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height);
  std::map<Colour, int> label_of;
  for (std::size_t a = 0; a < pixels; ++a) label_of.emplace(ColourAt(scribbles, a), 0);
  label_of.erase(Colour{0, 0, 0});
  if (label_of.size() < 2 || label_of.size() > static_cast<std::size_t>(kMaxLabels)) {
    throw InvalidInput(
        fmt::format("{} has {} colours beside black, expected one for each of 2 to {} labels{}",
                    file, label_of.size(), kMaxLabels,
                    label_of.size() > 2 ? " (is it a JPEG, or drawn with soft edges?)" : ""));
  }
  const double labels = static_cast<double>(label_of.size());
  if (!(confidence > 1.0 / labels && confidence < 1.0)) {
    throw InvalidInput(fmt::format("--confidence is {:g}, expected more than 1/{} and less than 1",
                                   confidence, label_of.size()));
  }
  Segments segments{Matrix<float>(pixels, label_of.size()), {}, {}};
  int next = 0;
  for (auto& [colour, label] : label_of) {
    label = next++;
    segments.names.push_back(fmt::format("#{:02x}{:02x}{:02x}", colour[0], colour[1], colour[2]));
    segments.colours.push_back(colour);
  }
  const auto marked = static_cast<float>(-std::log(confidence));
  const auto other = static_cast<float>(-std::log((1.0 - confidence) / (labels - 1.0)));
  const auto undecided = static_cast<float>(std::log(labels));
  for (std::size_t a = 0; a < pixels; ++a) {
    const auto found = label_of.find(ColourAt(scribbles, a));
    const auto row = segments.unary.row(a);
    std::fill(row.begin(), row.end(), found == label_of.end() ? undecided : other);
    if (found != label_of.end()) row[static_cast<std::size_t>(found->second)] = marked;
  }
  return segments;
}

Segments ReadUnaries(const std::string& file, const Image& image) {
  NpyReader reader(file);
  const NpyShape& shape = reader.shape();
  if (shape.size() != 3 || shape[0] != image.height || shape[1] != image.width || shape[2] < 2 ||
      shape[2] > kMaxLabels) {
    throw InvalidInput(fmt::format("{} has shape {}, expected ({}, {}, labels) with 2 to {} labels",
                                   file, ShapeText(shape), image.height, image.width, kMaxLabels));
  }
  const auto labels = static_cast<std::size_t>(shape[2]);
  Segments segments{Matrix<float>(reader.count() / labels, labels), {}, {}};
  reader.ReadTo(std::span<float>(segments.unary.data(), segments.unary.size()));
  for (std::size_t i = 0; i < labels; ++i) {
    segments.names.push_back(fmt::format("{}", i));
    segments.colours.push_back(ColourOfLabel(i));
  }
  return segments;
}

}  // namespace submarine::apps
