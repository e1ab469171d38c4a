#include "apps/generate/generate_softmax.h"

#include <fmt/format.h>

#include <cmath>
#include <random>
#include <vector>

#include "apps/cli/messages.h"
#include "apps/generate/patches.h"
#include "submarine/base/error.h"
#include "submarine/io/file/npy.h"
#include "submarine/io/image/image.h"
#include "submarine/io/image/png.h"
#include "submarine/io/segmentation/softmax_file.h"

namespace submarine::apps {
namespace {

constexpr int kMostLabelsOfAPng = 255;  // 255 itself means unknown

void WriteSoftmax(const std::string& file, const Matrix<float>& softmax, int width, int height) {
  internal::WriteNpy<float>(
      file, std::span<const float>(softmax.data(), softmax.size()),
      internal::NpyShape{height, width, static_cast<std::int64_t>(softmax.cols())});
}

}  // namespace

void GenerateSegmentation(const std::string& name, int width, int height, int labels,
                          const SyntheticSoftmax& options) {
  if (labels > kMostLabelsOfAPng) {
    throw InvalidInput(fmt::format("--labels is {}, expected at most {} for a picture of labels",
                                   labels, kMostLabelsOfAPng));
  }
  std::mt19937_64 rng(options.seed);
  const std::vector<Patch> patches = RandomPatches(width, height, labels, &rng);
  std::vector<std::uint8_t> picture;
  std::vector<std::uint8_t> samples;
  std::vector<int> truth;
  for (std::size_t a = 0; a < static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
       ++a) {
    const Patch& patch = PatchAt(patches, a, width);
    for (const float channel : NoisyColour(patch, &rng))
      picture.push_back(static_cast<std::uint8_t>(std::lround(channel)));
    truth.push_back(static_cast<int>(patch.label));
    samples.push_back(static_cast<std::uint8_t>(patch.label));
  }
  const Matrix<float> softmax = SoftmaxFromTruth(truth, width, height, labels, options);
  WritePng(name + ".png", width, height, 3, picture);
  WritePng(name + ".labels.png", width, height, 1, samples);
  WriteSoftmax(name + ".softmax.npy", softmax, width, height);
  PrintLine(
      fmt::format("Wrote {0}.png, {0}.labels.png and {0}.softmax.npy: {1} x {2} pixels, {3} "
                  "labels.",
                  name, width, height, labels));
}

void GenerateSoftmax(const std::string& truth, int labels, int unknown,
                     const SyntheticSoftmax& options, const std::string& output) {
  const Image image = ReadLabelImage(truth);
  const Matrix<float> softmax =
      SoftmaxFromTruth(internal::LabelsFromImage(image, labels, unknown, truth), image.width,
                       image.height, labels, options);
  WriteSoftmax(output, softmax, image.width, image.height);
  PrintLine(fmt::format("Wrote {}: {} x {} pixels, {} labels.", output, image.width, image.height,
                        labels));
}

}  // namespace submarine::apps
