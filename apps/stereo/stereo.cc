#include "apps/stereo/stereo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "apps/cli/option_checks.h"
#include "submarine/base/error.h"
#include "submarine/io/file/npy.h"
#include "submarine/io/image/image.h"
#include "submarine/io/model/dense_bundle.h"
#include "submarine/io/model/metric_spec.h"
#include "submarine/stereo/disparity.h"
#include "submarine/stereo/match/match_stereo.h"
#include "submarine/stereo/shrink.h"

namespace submarine::apps {
namespace {

using internal::Calibrate;
using internal::CompareDisparities;
using internal::NpyReader;
using internal::ShapeText;
using internal::ShrinkImage;
using internal::ShrinkTruth;
using internal::Sparsify;

constexpr int kFewestDisparities = 2;
constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

// Rec. 601 luma.
std::vector<float> Grey(const std::vector<float>& rgb) {
  std::vector<float> grey(rgb.size() / 3);
  for (std::size_t a = 0; a < grey.size(); ++a)
    grey[a] = 0.299F * rgb[3 * a] + 0.587F * rgb[3 * a + 1] + 0.114F * rgb[3 * a + 2];
  return grey;
}

void RequireSize(const std::string& file, int width, int height, const StereoPair& pair,
                 int shrink) {
  // The size that shrinking dropped at the right and at the bottom is not known here.
  if (width / shrink != pair.width || height / shrink != pair.height) {
    throw InvalidInput(fmt::format("{} is {} x {}, expected {} x {} as the views", file, width,
                                   height, pair.width * shrink, pair.height * shrink));
  }
}

// A picture at 1/shrink of its resolution: its size before, and samples from 0 to 255.
struct View {
  ImageSize size;
  int channels = 1;
  std::vector<float> values;
};

void Append(const std::vector<float>& row, std::vector<float>* values) {
  values->insert(values->end(), row.begin(), row.end());
}

// In strips of one row of the result: the whole picture may not fit into memory.
View ReadView(const std::string& file, int shrink, ImageReading reading) {
  View view;
  reading.before = [&view, shrink, before = std::move(reading.before)](const ImageHeader& header) {
    before(header);
    view.size = header.size;
    view.channels = header.channels;
    view.values.reserve(static_cast<std::size_t>(header.size.width / shrink) *
                        static_cast<std::size_t>(header.size.height / shrink) *
                        static_cast<std::size_t>(header.channels));
  };
  ReadImageStrips(file, shrink, reading, [&](const Image& strip) {
    if (std::min(strip.width, strip.height) < shrink) return;
    Append(ShrinkImage(ColourValues(strip), strip.width, strip.height, strip.channels, shrink),
           &view.values);
  });
  return view;
}

// Pictures of another size than the views are refused before they are decoded.
ImageReading OfSize(ImageReading reading, const std::string& file, const StereoPair& pair,
                    int shrink) {
  reading.before = [&, shrink, before = std::move(reading.before)](const ImageHeader& header) {
    RequireSize(file, header.size.width, header.size.height, pair, shrink);
    before(header);
  };
  return reading;
}

struct TruthSpec {
  std::string file;
  std::optional<double> factor;
};

// A comma may be part of the file name: it separates a factor only if a number follows.
TruthSpec ParseTruth(const std::string& spec) {
  const std::size_t comma = spec.rfind(',');
  if (comma == std::string::npos) return {spec, {}};
  const std::string text = spec.substr(comma + 1);
  const double factor = ParseNumber(text);
  if (std::isnan(factor)) return {spec, {}};
  if (!(factor > 0.0 && std::isfinite(factor)))
    throw InvalidInput(fmt::format("the factor of --truth is {}, expected a number above 0", text));
  return {spec.substr(0, comma), factor};
}

std::vector<float> ReadTruthArray(const std::string& file, const StereoPair& pair, int shrink) {
  NpyReader reader(file);
  if (reader.shape().size() != 2) {
    throw InvalidInput(
        fmt::format("{} has shape {}, expected (height, width)", file, ShapeText(reader.shape())));
  }
  RequireSize(file, static_cast<int>(reader.shape()[1]), static_cast<int>(reader.shape()[0]), pair,
              shrink);
  std::vector<double> values(reader.count());
  reader.ReadTo(std::span<double>(values));
  std::vector<float> truth(values.size());
  for (std::size_t a = 0; a < values.size(); ++a)
    truth[a] = std::isfinite(values[a]) ? static_cast<float>(values[a]) : kUnknown;
  return ShrinkTruth(truth, static_cast<int>(reader.shape()[1]),
                     static_cast<int>(reader.shape()[0]), shrink);
}

// One end of the ranges of disparities.
std::vector<float> ReadRangeEnd(const std::string& text, const StereoPair& pair) {
  const auto pixels = static_cast<std::size_t>(pair.width) * static_cast<std::size_t>(pair.height);
  const double number = ParseNumber(text);
  if (!std::isnan(number)) return std::vector<float>(pixels, static_cast<float>(number));
  if (std::filesystem::path(text).extension() != ".npy")
    throw InvalidInput(fmt::format("--range names \"{}\", expected a number or a .npy file", text));
  NpyReader reader(text);
  const internal::NpyShape expected = {pair.height, pair.width};
  if (reader.shape() != expected) {
    throw InvalidInput(fmt::format("{} has shape {}, expected {} as the views", text,
                                   ShapeText(reader.shape()), ShapeText(expected)));
  }
  std::vector<float> ends(pixels);
  reader.ReadTo(std::span<float>(ends));
  return ends;
}

DenseKernelSpec Kernel(DenseKernelType type, double sigma, double colour_sigma, double weight) {
  DenseKernelSpec kernel;
  kernel.type = type;
  kernel.sigma = {sigma};
  if (type == DenseKernelType::kBilateral) kernel.colour_sigma = {colour_sigma};
  kernel.weight = weight;
  return kernel;
}

}  // namespace

StereoPair ReadStereoPair(const std::string& left, const std::string& right, int shrink,
                          const ReadingLimits& limits) {
  View l = ReadView(left, shrink, limits.For(left));
  View r = ReadView(right, shrink, limits.For(right));
  const auto& [width, height] = l.size;
  if (width != r.size.width || height != r.size.height) {
    throw InvalidInput(
        fmt::format("{} is {} x {}, but {} is {} x {}; expected two views of one size", left, width,
                    height, right, r.size.width, r.size.height));
  }
  if (width / shrink < 2 || height / shrink < 1) {
    throw InvalidInput(fmt::format("{} is {} x {} pixels{}, too small for any disparity", left,
                                   width, height,
                                   shrink > 1 ? fmt::format(" and is shrunk by {}", shrink) : ""));
  }
  if (l.channels != r.channels) {
    View& coloured = l.channels == 3 ? l : r;
    coloured.values = Grey(coloured.values);
    l.channels = 1;
  }
  return {width / shrink, height / shrink, l.channels, std::move(l.values), std::move(r.values)};
}

std::vector<float> ReadTruth(const std::string& spec, const StereoPair& pair, int shrink,
                             const ReadingLimits& limits) {
  const TruthSpec parsed = ParseTruth(spec);
  if (std::filesystem::path(parsed.file).extension() == ".npy")
    return ReadTruthArray(parsed.file, pair, shrink);
  std::vector<float> truth;
  const ImageReading reading = OfSize(limits.For(parsed.file), parsed.file, pair, shrink);
  ReadImageStrips(parsed.file, shrink, reading, [&](const Image& strip) {
    if (strip.height < shrink) return;
    const double factor = parsed.factor.value_or(strip.max_value > 255 ? 256.0 : 1.0);
    const auto channels = static_cast<std::size_t>(strip.channels);
    std::vector<float> rows(strip.samples.size() / channels);
    for (std::size_t a = 0; a < rows.size(); ++a) {
      const int sample = strip.samples[a * channels];
      rows[a] = sample == 0 ? kUnknown : static_cast<float>(sample / factor);
    }
    Append(ShrinkTruth(rows, strip.width, strip.height, shrink), &truth);
  });
  return truth;
}

std::vector<std::uint8_t> ReadMask(const std::string& file, const StereoPair& pair, int shrink,
                                   const ReadingLimits& limits) {
  const View view = ReadView(file, shrink, OfSize(limits.For(file), file, pair, shrink));
  const auto channels = static_cast<std::size_t>(view.channels);
  std::vector<std::uint8_t> mask(view.values.size() / channels);
  for (std::size_t a = 0; a < mask.size(); ++a)
    mask[a] = view.values[a * channels] > 127.0F ? 1 : 0;
  return mask;
}

GivenArrays ReadGiven(const std::string& costs, const std::vector<std::string>& range,
                      const StereoPair& pair, std::size_t max_bytes) {
  GivenArrays given;
  if (!costs.empty()) {
    NpyReader reader(costs);
    const internal::NpyShape& shape = reader.shape();
    if (shape.size() != 3 || shape[0] != pair.height || shape[1] != pair.width || shape[2] < 2) {
      throw InvalidInput(fmt::format("{} has shape {}, expected ({}, {}, disparities) as the views",
                                     costs, ShapeText(shape), pair.height, pair.width));
    }
    const auto limit = static_cast<double>(max_bytes > 0 ? max_bytes : DefaultMemory());
    const double bytes = static_cast<double>(sizeof(float)) * static_cast<double>(reader.count());
    if (bytes > limit) {
      throw TooLarge(
          fmt::format("reading {} takes {:.3g} MB of memory, more than the limit of {:.3g} MB",
                      costs, bytes / 1e6, limit / 1e6),
          {.bytes = bytes});
    }
    given.costs.resize(reader.count());
    reader.ReadTo(std::span<float>(given.costs));
  }
  if (!range.empty()) {
    given.low = ReadRangeEnd(range[0], pair);
    given.high = ReadRangeEnd(range[1], pair);
  }
  return given;
}

StereoSettings DefaultStereoSettings() {
  StereoSettings settings;
  settings.matching = {.kind = MatchingKind::kCensus, .truncate = 22.0};
  settings.metric = "truncated:2";
  settings.position_sigma = 1.5;
  settings.position_weight = 0.5;
  settings.bilateral_sigma = 6.0;
  settings.bilateral_colour_sigma = 10.0;
  settings.bilateral_weight = 0.1;
  return settings;
}

StereoSettings SemiGlobalSettings() {
  StereoSettings settings = DefaultStereoSettings();
  settings.semi_global = StereoCrfOptions();
  return settings;
}

internal::SemiGlobalMatch MatchStereoPair(const StereoPair& pair, const StereoGiven& given,
                                          StereoSettings* settings,
                                          const std::function<void(int disparities)>& check) {
  if (settings->disparities == 0)
    settings->disparities = DisparitiesOf(pair.LeftView(), pair.RightView(), given);
  if (check) check(settings->disparities);
  return MatchSemiGlobal(pair.LeftView(), pair.RightView(), settings->disparities,
                         internal::SemiGlobalOptions(), given);
}

DenseCrf BuildStereoModel(const StereoPair& pair, StereoSettings* settings,
                          const StereoCheck& check) {
  DenseSpec spec;
  spec.width = pair.width;
  spec.height = pair.height;
  spec.metric = settings->metric;
  spec.channels = pair.channels;
  spec.image = settings->guide_by_right ? pair.right : pair.left;
  if (settings->position_weight > 0.0) {
    spec.kernels.push_back(Kernel(DenseKernelType::kPosition, settings->position_sigma, 0.0,
                                  settings->position_weight));
  }
  if (settings->bilateral_weight > 0.0) {
    spec.kernels.push_back(Kernel(DenseKernelType::kBilateral, settings->bilateral_sigma,
                                  settings->bilateral_colour_sigma, settings->bilateral_weight));
  }
  const auto check_for = [&](int labels) {
    if (check) check(BuildKernels(spec), ParseMetricSpec(spec.metric, labels, false, nullptr));
  };
  if (settings->disparities == 0) {
    // A metric from a file has its own number of labels.
    if (!MetricFileOf(spec.metric)) check_for(kFewestDisparities);
    settings->disparities = GuessDisparities(pair.LeftView(), pair.RightView());
  }
  check_for(settings->disparities);
  spec.unary =
      MatchingCosts(pair.LeftView(), pair.RightView(), settings->disparities, settings->matching);
  return BuildDenseCrf(spec);
}

StereoEvaluation EvaluateStereo(const std::vector<float>& disparities,
                                const Matrix<float>* marginals,
                                const std::vector<float>& uncertainty,
                                const std::vector<float>& truth,
                                const std::vector<std::uint8_t>& mask) {
  StereoEvaluation evaluation{.all = CompareDisparities(disparities, truth)};
  if (marginals != nullptr) {
    evaluation.sparsification = Sparsify(disparities, truth, uncertainty);
    evaluation.calibration = Calibrate(*marginals, disparities, truth);
  }
  if (mask.empty()) return evaluation;
  evaluation.visible = CompareDisparities(disparities, truth, mask);
  std::vector<std::uint8_t> hidden(mask.size());
  bool any = false;
  for (std::size_t a = 0; a < mask.size(); ++a) {
    hidden[a] = mask[a] == 0 ? 1 : 0;
    any = any || (hidden[a] != 0 && !std::isnan(truth[a]));
  }
  if (any) evaluation.occluded = CompareDisparities(disparities, truth, hidden);
  return evaluation;
}

}  // namespace submarine::apps
