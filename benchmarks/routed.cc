// Certified intervals of the routed bound, on models whose unaries are weak:
//
//   routed SEGMENTATION [STEREO] [MODEL...]    directories with im1.png and anno1.png; left.png and right.png
//
// im1-WxH    picture of pydensecrf's examples and the kernels of its README, resampled by area: position
//            3 W/320 px weight 3, bilateral 80 W/320 px / 13 weight 10, both normalised, pairs once; scribbles
//            0.7 against 0.3, else 0.5
// tsukuba    crop 150..197 x 120..159, 16 labels, min(sum of differences / 8, 10), truncated:2, kernels 0.5
//            (1.5 px) + 0.1 (6 px, 10 grey), ordered pairs
// weak       the same crop, min(sum / 20, 3), Potts, kernels 0.5 (3 px) + 0.2 (12 px, 15 grey)
//
// What we promise: widths of at most 6% on im1 at 320x240 within 60 s on 2 cores, 3% at 160x120.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/io/image/image.h"
#include "submarine/model/image_features.h"
#include "submarine/solve/solve.h"

namespace submarine::internal {
namespace {

using Colour = std::array<int, 3>;

Colour ColourAt(const Image& image, int x, int y) {
  Colour colour{};
  for (int k = 0; k < 3; ++k) {
    const int channel = image.channels == 3 ? k : 0;
    colour[static_cast<std::size_t>(k)] =
        image.samples[static_cast<std::size_t>((y * image.width + x) * image.channels + channel)];
  }
  return colour;
}

// Means over areas.
std::vector<float> Resampled(const Image& image, int width, int height) {
  const std::vector<float> values = ColourValues(image);
  std::vector<float> result;
  const double step_x = static_cast<double>(image.width) / width;
  const double step_y = static_cast<double>(image.height) / height;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      std::array<double, 3> sum{};
      double area = 0.0;
      for (int v = static_cast<int>(y * step_y); v < std::ceil((y + 1) * step_y - 1e-9); ++v) {
        for (int u = static_cast<int>(x * step_x); u < std::ceil((x + 1) * step_x - 1e-9); ++u) {
          const double part =
              (std::min<double>(u + 1, (x + 1) * step_x) - std::max<double>(u, x * step_x)) *
              (std::min<double>(v + 1, (y + 1) * step_y) - std::max<double>(v, y * step_y));
          area += part;
          for (int k = 0; k < 3; ++k) {
            const int channel = image.channels == 3 ? k : 0;
            sum[static_cast<std::size_t>(k)] +=
                part *
                values[static_cast<std::size_t>((v * image.width + u) * image.channels + channel)];
          }
        }
      }
      for (const double value : sum) result.push_back(static_cast<float>(value / area));
    }
  }
  return result;
}

DenseCrf Scribbled(const std::string& directory, int width, int height) {
  const Image image = ReadImage(directory + "/im1.png");
  const Image scribbles = ReadImage(directory + "/anno1.png");
  std::map<Colour, int> label_of;
  for (int y = 0; y < scribbles.height; ++y) {
    for (int x = 0; x < scribbles.width; ++x) {
      const Colour colour = ColourAt(scribbles, x, y);
      if (colour != Colour{}) label_of.emplace(colour, 0);
    }
  }
  int labels = 0;
  for (auto& [colour, label] : label_of) label = labels++;
  Matrix<float> unary(static_cast<std::size_t>(width * height), static_cast<std::size_t>(labels),
                      static_cast<float>(std::log(labels)));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const auto found =
          label_of.find(ColourAt(scribbles, static_cast<int>((x + 0.5) * scribbles.width / width),
                                 static_cast<int>((y + 0.5) * scribbles.height / height)));
      if (found == label_of.end()) continue;
      for (int i = 0; i < labels; ++i) {
        const double probability = i == found->second ? 0.7 : 0.3 / (labels - 1);
        unary(static_cast<std::size_t>(y * width + x), static_cast<std::size_t>(i)) =
            static_cast<float>(-std::log(probability));
      }
    }
  }
  const double scale = static_cast<double>(width) / image.width;
  const double colour = 13.0;
  std::vector<GaussianKernel> kernels = {
      PositionKernel(width, height, 3.0 * scale, 3.0 * scale, 3.0),
      BilateralKernel(width, height, 3, Resampled(image, width, height), 80.0 * scale, 80.0 * scale,
                      {&colour, 1}, 10.0)};
  for (GaussianKernel& kernel : kernels) kernel.normalisation = KernelNormalisation::kSymmetric;
  return {std::move(unary), std::move(kernels), PottsLabels(labels), PairCounting::kOnce};
}

DenseCrf Tsukuba(const std::string& directory, bool weak) {
  constexpr int kLeft = 150;
  constexpr int kTop = 120;
  constexpr int kWidth = 48;
  constexpr int kHeight = 40;
  constexpr int kLabels = 16;
  const Image left = ReadImage(directory + "/left.png");
  const Image right = ReadImage(directory + "/right.png");
  Matrix<float> unary(std::size_t{kWidth} * kHeight, kLabels);
  std::vector<float> crop;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const Colour here = ColourAt(left, kLeft + x, kTop + y);
      for (const int value : here) crop.push_back(static_cast<float>(value));
      for (int i = 0; i < kLabels; ++i) {
        const Colour there = ColourAt(right, kLeft + x - i, kTop + y);
        double sum = 0.0;
        for (std::size_t k = 0; k < 3; ++k) sum += std::abs(here[k] - there[k]);
        unary(static_cast<std::size_t>(y * kWidth + x), static_cast<std::size_t>(i)) =
            static_cast<float>(weak ? std::min(sum / 20.0, 3.0) : std::min(sum / 8.0, 10.0));
      }
    }
  }
  const double grey = weak ? 15.0 : 10.0;
  const double near = weak ? 3.0 : 1.5;
  const double far = weak ? 12.0 : 6.0;
  return {std::move(unary),
          {PositionKernel(kWidth, kHeight, near, near, 0.5),
           BilateralKernel(kWidth, kHeight, 3, crop, far, far, {&grey, 1}, weak ? 0.2 : 0.1)},
          weak ? PottsLabels(kLabels) : TruncatedLinearLabels(kLabels, 2)};
}

void Run(const std::string& name, const DenseCrf& model, Method method) {
  SolveOptions options;
  options.method = method;
  options.limits.gap = 1e-3;
  const SolveResult result = submarine::Solve(model, options);
  const Certificate& certificate = result.certificate;
  const double lower = certificate.lower->value();
  const double upper = certificate.upper->value();
  fmt::print(
      "{:14}  {:6}  lower {:12.1f}  upper {:12.1f}  width {:6.2f}%  {:.4f} nats per variable  "
      "{:6.1f} s\n",
      name, ToString(method), lower, upper,
      100.0 * (upper - lower) / std::max(1.0, std::abs(lower)),
      (upper - lower) / static_cast<double>(model.num_variables()), result.seconds);
  for (const std::string& note : result.notes) fmt::print("{:14}  {}\n", "", note);
}

DenseCrf Picture(const std::string& directory, const std::string& name) {
  int width = 0;
  int height = 0;
  if (std::sscanf(name.c_str(), "im1-%dx%d", &width, &height) != 2 || width < 1 || height < 1)
    throw InvalidInput(fmt::format("there is no model \"{}\"", name));
  return Scribbled(directory, width, height);
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: routed SEGMENTATION [STEREO [MODEL...]]\n");
    return 2;
  }
  std::vector<std::string> names(argv + std::min(argc, 3), argv + argc);
  if (names.empty()) names = {"im1-80x60", "im1-160x120", "im1-320x240", "tsukuba", "weak"};
  for (const std::string& name : names) {
    if (name == "tsukuba" || name == "weak") {
      // Pairs are few enough to be listed: `auto` routes what its plain bound leaves.
      for (const Method method : {Method::kRouted, Method::kAuto}) {
        if (argc > 2) Run(name, Tsukuba(argv[2], name == "weak"), method);
      }
      continue;
    }
    Run(name, Picture(argv[1], name), Method::kRouted);
  }
  return 0;
}

}  // namespace
}  // namespace submarine::internal

int main(int argc, char** argv) {
  try {
    return submarine::internal::Main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "routed: {}\n", error.what());
    return 1;
  }
}
