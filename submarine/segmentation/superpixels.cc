#include "submarine/segmentation/superpixels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/matrix.h"
#include "submarine/base/number_text.h"
#include "submarine/base/parallel.h"

namespace submarine {
namespace {

using internal::ParallelFor;

constexpr int kIterations = 10;
constexpr std::size_t kRows = 8;
// Components below this share of a region join a neighbour.
constexpr double kLeastShare = 0.25;

double Linear(double sample) {
  const double x = sample / 255.0;
  return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
}

// CIELAB of sRGB, with the white of D65.
std::array<float, 3> Lab(const std::array<double, 3>& rgb) {
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116.0; };
  const double x = f((0.4124 * rgb[0] + 0.3576 * rgb[1] + 0.1805 * rgb[2]) / 0.9505);
  const double y = f(0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]);
  const double z = f((0.0193 * rgb[0] + 0.1192 * rgb[1] + 0.9505 * rgb[2]) / 1.089);
  return {static_cast<float>(116.0 * y - 16.0), static_cast<float>(500.0 * (x - y)),
          static_cast<float>(200.0 * (y - z))};
}

Matrix<float> Colours(const PictureView& picture) {
  const auto channels = static_cast<std::size_t>(picture.channels);
  const std::size_t pixels = picture.samples.size() / channels;
  Matrix<float> colours(pixels, channels);
  std::array<double, 256> linear{};
  for (std::size_t v = 0; v < linear.size(); ++v) linear[v] = Linear(static_cast<double>(v));
  const auto to_linear = [&](float sample) {  // most samples are bytes
    const auto byte = static_cast<std::size_t>(std::clamp(sample, 0.0F, 255.0F));
    return static_cast<float>(byte) == sample ? linear[byte]
                                              : Linear(std::clamp(sample, 0.0F, 255.0F));
  };
  ParallelFor(pixels, 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      const float* from = picture.samples.data() + a * channels;
      if (channels == 3) {
        const auto lab = Lab({to_linear(from[0]), to_linear(from[1]), to_linear(from[2])});
        std::copy(lab.begin(), lab.end(), colours.row(a).begin());
      } else {
        for (std::size_t c = 0; c < channels; ++c) colours(a, c) = from[c] * (100.0F / 255.0F);
      }
    }
  });
  return colours;
}

// k-means of colours and positions, every pixel looking at the centres of its own cell of a grid and of those around it.
class Slic {
 public:
  Slic(const PictureView& picture, const SuperpixelOptions& options)
      : width_(static_cast<std::size_t>(picture.width)),
        height_(static_cast<std::size_t>(picture.height)),
        columns_(std::max<std::size_t>(1, std::llround(picture.width / options.size))),
        rows_(std::max<std::size_t>(1, std::llround(picture.height / options.size))),
        colours_(Colours(picture)),
        // Of squared distances in pixels.
        closeness_(static_cast<float>(options.compactness * options.compactness /
                                      (options.size * options.size))),
        centres_(columns_ * rows_, colours_.cols() + 2),
        region_(width_ * height_) {
    for (std::size_t y = 0; y < height_; ++y) {
      for (std::size_t x = 0; x < width_; ++x)
        region_[y * width_ + x] =
            static_cast<int>(Cell(y, rows_, height_) * columns_ + Cell(x, columns_, width_));
    }
    for (int k = 0; k < kIterations; ++k) {
      MoveCentres();
      Assign();
    }
  }

  std::vector<int> Connected() const {
    const double expected =
        static_cast<double>(width_ * height_) / static_cast<double>(columns_ * rows_);
    const auto least = static_cast<std::size_t>(kLeastShare * expected);
    std::vector<int> found(region_.size(), -1);
    std::vector<std::size_t> component;
    int next = 0;
    for (std::size_t first = 0; first < found.size(); ++first) {
      if (found[first] >= 0) continue;
      int neighbour = -1;  // any region beside it that is already known
      component.assign(1, first);
      found[first] = next;
      for (std::size_t k = 0; k < component.size(); ++k) {
        const std::size_t a = component[k];
        const auto visit = [&](std::size_t b) {
          if (found[b] >= 0) {
            if (found[b] != next) neighbour = found[b];
          } else if (region_[b] == region_[first]) {
            found[b] = next;
            component.push_back(b);
          }
        };
        if (a % width_ > 0) visit(a - 1);
        if (a % width_ + 1 < width_) visit(a + 1);
        if (a >= width_) visit(a - width_);
        if (a + width_ < found.size()) visit(a + width_);
      }
      if (component.size() < least && neighbour >= 0) {
        for (const std::size_t a : component) found[a] = neighbour;
      } else {
        ++next;
      }
    }
    return found;
  }

 private:
  static std::size_t Cell(std::size_t x, std::size_t cells, std::size_t extent) {
    return std::min(cells - 1, x * cells / extent);
  }

  void MoveCentres() {
    Matrix<double> sum(centres_.rows(), centres_.cols());
    std::vector<double> count(centres_.rows(), 0.0);
    const std::size_t channels = colours_.cols();
    for (std::size_t a = 0; a < region_.size(); ++a) {
      const auto c = static_cast<std::size_t>(region_[a]);
      double* const to = sum.row(c).data();
      for (std::size_t i = 0; i < channels; ++i) to[i] += colours_(a, i);
      to[channels] += static_cast<double>(a % width_);
      const std::size_t y = a / width_;
      to[channels + 1] += static_cast<double>(y);
      count[c] += 1.0;
    }
    for (std::size_t c = 0; c < centres_.rows(); ++c) {
      if (count[c] == 0.0) continue;  // stays where it was
      for (std::size_t i = 0; i < centres_.cols(); ++i)
        centres_(c, i) = static_cast<float>(sum(c, i) / count[c]);
    }
  }

  void Assign() {
    ParallelFor(height_, kRows, [&](std::size_t begin, std::size_t end) {
      for (std::size_t y = begin; y < end; ++y) {
        const std::size_t row = Cell(y, rows_, height_);
        for (std::size_t x = 0; x < width_; ++x)
          region_[y * width_ + x] = Nearest(x, y, Cell(x, columns_, width_), row);
      }
    });
  }

  int Nearest(std::size_t x, std::size_t y, std::size_t column, std::size_t row) const {
    const std::size_t channels = colours_.cols();
    const float* const colour = colours_.row(y * width_ + x).data();
    float least = std::numeric_limits<float>::infinity();
    std::size_t nearest = 0;
    for (std::size_t r = row - std::min<std::size_t>(row, 1); r < std::min(rows_, row + 2); ++r) {
      for (std::size_t c = column - std::min<std::size_t>(column, 1);
           c < std::min(columns_, column + 2); ++c) {
        const float* const centre = centres_.row(r * columns_ + c).data();
        const float dx = static_cast<float>(x) - centre[channels];
        const float dy = static_cast<float>(y) - centre[channels + 1];
        float distance = closeness_ * (dx * dx + dy * dy);
        for (std::size_t i = 0; i < channels; ++i)
          distance += (colour[i] - centre[i]) * (colour[i] - centre[i]);
        if (distance < least) {
          least = distance;
          nearest = r * columns_ + c;
        }
      }
    }
    return static_cast<int>(nearest);
  }

  std::size_t width_, height_;
  std::size_t columns_, rows_;  // of centres
  Matrix<float> colours_;
  float closeness_;
  Matrix<float> centres_;  // colours, x, y
  std::vector<int> region_;
};

void CheckTerms(const RegionTerms& terms) {
  if (!std::isfinite(terms.gamma) || terms.gamma < 0.0) {
    throw InvalidInput(
        fmt::format("the gamma of superpixels is {}, expected a finite number >= 0", terms.gamma));
  }
  if (!(terms.share > 0.0 && terms.share <= 0.5)) {
    throw InvalidInput(fmt::format(
        "the Q of superpixels is {}, expected a share above 0 and at most 0.5", terms.share));
  }
}

}  // namespace

std::vector<int> Superpixels(const PictureView& picture, const SuperpixelOptions& options) {
  if (picture.width < 1 || picture.height < 1 || picture.channels < 1 ||
      picture.samples.size() != static_cast<std::size_t>(picture.width) *
                                    static_cast<std::size_t>(picture.height) *
                                    static_cast<std::size_t>(picture.channels)) {
    throw InvalidInput(fmt::format(
        "superpixels need a picture of width x height x channels, but there are {} samples for {} "
        "x {} x {}",
        picture.samples.size(), picture.width, picture.height, picture.channels));
  }
  const int longest = std::max(picture.width, picture.height);
  if (!(options.size >= 2.0 && options.size <= std::max(2, longest))) {
    throw InvalidInput(
        fmt::format("the size of superpixels is {}, expected a number from 2 to {}, the longer "
                    "side of the picture",
                    options.size, longest));
  }
  if (!(options.compactness > 0.0) || !std::isfinite(options.compactness)) {
    throw InvalidInput(fmt::format(
        "the compactness of superpixels is {}, expected a finite number > 0", options.compactness));
  }
  for (const float sample : picture.samples) {
    if (!std::isfinite(sample)) throw InvalidInput("superpixels need a picture of finite samples");
  }
  return Slic(picture, options).Connected();
}

std::vector<Clique> RegionCliques(std::span<const int> regions, const RegionTerms& terms) {
  CheckTerms(terms);
  std::vector<Clique> cliques;
  if (terms.gamma == 0.0) return cliques;
  std::map<int, std::vector<int>> members;
  for (std::size_t a = 0; a < regions.size(); ++a)
    members[regions[a]].push_back(static_cast<int>(a));
  for (auto& [number, pixels] : members) {
    const auto size = static_cast<double>(pixels.size());
    if (size < 2.0) continue;
    cliques.push_back({.members = std::move(pixels),
                       .gamma = terms.gamma * size,
                       .truncation = terms.share * size});
  }
  return cliques;
}

std::vector<Clique> SegmentationCliques(const PictureView& picture,
                                        const SegmentationParameters& parameters) {
  std::vector<Clique> cliques;
  for (const double size : parameters.superpixel_sizes) {
    for (Clique& clique : RegionCliques(Superpixels(picture, {.size = size}),
                                        {parameters.superpixel_gamma, parameters.superpixel_share}))
      cliques.push_back(std::move(clique));
  }
  return cliques;
}

SuperpixelSpec ParseSuperpixels(const std::string& text) {
  const auto refuse = [&]() -> InvalidInput {
    return InvalidInput(fmt::format(
        "superpixels \"{}\": expected SLIC[:SIZE[,COMPACTNESS]],GAMMA,Q or FILE,GAMMA,Q, such as "
        "SLIC:20,0.2,0.1",
        text));
  };
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  const auto number = [&](const std::string& part) {
    double value = 0.0;
    const char* const end = part.data() + part.size();
    const auto [stop, error] = internal::FromChars(part.data(), end, value);
    if (error != std::errc() || stop != end) throw refuse();
    return value;
  };
  if (parts.size() < 3 || parts.front().empty()) throw refuse();
  SuperpixelSpec spec;
  spec.terms.share = number(parts.back());
  parts.pop_back();
  spec.terms.gamma = number(parts.back());
  parts.pop_back();
  CheckTerms(spec.terms);
  if (!parts.front().starts_with("SLIC")) {  // the name of a file may have commas
    spec.file = fmt::format("{}", fmt::join(parts, ","));
    return spec;
  }
  spec.slic.emplace();
  const std::string head = parts.front();
  if (parts.size() > 2 || (head == "SLIC" && parts.size() > 1)) throw refuse();
  if (head != "SLIC") {
    if (head[4] != ':') throw refuse();
    spec.slic->size = number(head.substr(5));
  }
  if (parts.size() == 2) spec.slic->compactness = number(parts[1]);
  return spec;
}

}  // namespace submarine
