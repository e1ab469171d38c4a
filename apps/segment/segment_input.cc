#include "apps/segment/segment_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/io/file/npy.h"
#include "submarine/io/segmentation/softmax_file.h"
#include "submarine/labels/label_cuts.h"
#include "submarine/segmentation/evaluation.h"

namespace submarine::apps {
namespace {

using internal::kRowGrain;
using internal::kUnknownLabel;
using internal::NpyReader;
using internal::NpyShape;
using internal::ParallelFor;
using internal::ShapeText;

std::size_t Pixels(const Image& image) {
  return static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height);
}

Colour ColourAt(const Image& image, std::size_t pixel) {
  const auto channels = static_cast<std::size_t>(image.channels);
  Colour colour;
  for (std::size_t c = 0; c < 3; ++c) {
    const int sample = image.samples[pixel * channels + (channels == 1 ? 0 : c)];
    colour[c] = static_cast<std::uint8_t>(image.max_value == 255 ? sample : sample / 257);
  }
  return colour;
}

void ReadScribbles(const std::string& file, double confidence, const ReadingLimits& limits,
                   SegmentPicture* picture) {
  const Image& image = picture->image;
  ImageReading of_size = limits.For(file);
  of_size.expected = ImageSize{image.width, image.height};
  const Image scribbles = ReadImage(file, of_size);
  std::map<Colour, int> label_of;
  for (std::size_t a = 0; a < Pixels(image); ++a) label_of.emplace(ColourAt(scribbles, a), 0);
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
  int next = 0;
  for (auto& [colour, label] : label_of) {
    label = next++;
    picture->names.push_back(HexText(colour));
    picture->colours.push_back(colour);
  }
  picture->unary = Matrix<float>(Pixels(image), label_of.size());
  const auto marked = static_cast<float>(-std::log(confidence));
  const auto other = static_cast<float>(-std::log((1.0 - confidence) / (labels - 1.0)));
  const auto undecided = static_cast<float>(std::log(labels));
  for (std::size_t a = 0; a < Pixels(image); ++a) {
    const auto found = label_of.find(ColourAt(scribbles, a));
    const auto row = picture->unary.row(a);
    std::fill(row.begin(), row.end(), found == label_of.end() ? undecided : other);
    if (found != label_of.end()) row[static_cast<std::size_t>(found->second)] = marked;
  }
}

// The requested layout; required if the shape fits both ways.
std::optional<SoftmaxLayout> LayoutOf(const std::string& file, const SegmentReading& reading,
                                      const ImageSize& size) {
  if (reading.layout) return reading.layout;
  const NpyShape shape = NpyReader(file).shape();
  if (shape == NpyShape{size.height, size.width, size.width} && size.height == size.width) {
    throw InvalidInput(
        fmt::format("\"{}\" has shape {}, which may be (height, width, labels) or (labels, height, "
                    "width): say which by --layout labels-last or labels-first",
                    file, ShapeText(shape)));
  }
  return std::nullopt;
}

std::string LayoutNote(const std::string& file, SoftmaxLayout layout) {
  return fmt::format("\"{}\" was read as {}.", file, ToString(layout));
}

void ReadSoftmax(const std::string& file, const SegmentReading& reading, SegmentPicture* picture) {
  const ImageSize size{picture->image.width, picture->image.height};
  const internal::LoadedSoftmax softmax =
      internal::ReadSoftmax(file, size, LayoutOf(file, reading, size));
  picture->notes.push_back(LayoutNote(file, softmax.layout));
  picture->unary = UnariesFromSoftmax(softmax.rows, reading.softmax_temperature);
}

void ReadUnaries(const std::string& file, const SegmentReading& reading, SegmentPicture* picture) {
  const ImageSize size{picture->image.width, picture->image.height};
  const std::optional<SoftmaxLayout> given = LayoutOf(file, reading, size);
  NpyReader reader(file);
  const SoftmaxLayout layout =
      RecogniseSoftmaxLayout(reader.shape(), size.width, size.height, "\"" + file + "\"", given);
  std::vector<float> values(reader.count());
  reader.ReadTo(std::span<float>(values));
  const auto pixels = static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
  picture->unary = SoftmaxByPixel(values, layout, size.width, size.height, values.size() / pixels);
  picture->notes.push_back(LayoutNote(file, layout));
  if (SoftmaxProblem(picture->unary, size.width).empty()) {
    picture->warnings.push_back(
        fmt::format("\"{}\" holds probabilities by the look of it (they are from 0 to 1 and sum to "
                    "1), but --unary takes costs; use --softmax for it",
                    file));
  }
}

// Whole numbers from 0 to 255 as they are. Others, in whatever units the scanner has, so that 99% of
// the voxels lie between black and white.
Image ImageOf(const Volume& volume) {
  Image image;
  image.width = volume.extent[0];
  image.height = volume.extent[1] * volume.extent[2];
  double low = 0.0;
  double high = 255.0;
  if (!volume.bytes) {
    image.max_value = 65535;
    std::vector<float> sorted = volume.values;
    const auto at = [&](double share) {
      const auto place =
          static_cast<std::ptrdiff_t>(share * static_cast<double>(sorted.size() - 1));
      std::nth_element(sorted.begin(), sorted.begin() + place, sorted.end());
      return static_cast<double>(sorted[static_cast<std::size_t>(place)]);
    };
    low = at(0.005);
    high = at(0.995);
    if (!(high > low)) {
      low = at(0.0);
      high = std::max(at(1.0), low + 1.0);
    }
  }
  image.samples.resize(volume.values.size());
  std::transform(volume.values.begin(), volume.values.end(), image.samples.begin(), [&](float v) {
    return static_cast<std::uint16_t>(
        std::lround(std::clamp((v - low) / (high - low), 0.0, 1.0) * image.max_value));
  });
  return image;
}

std::vector<std::string> Parts(const std::string& files) {
  std::vector<std::string> parts(1);
  for (const char c : files) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The numbers of all labels, one row per voxel: from one file of four axes, or one for each label.
Matrix<float> RowsOf(const std::string& files, bool probabilities, const ReadingLimits& limits,
                     const SegmentPicture& picture) {
  std::vector<Volume> volumes;
  std::size_t labels = 0;
  for (const std::string& file : Parts(files)) {
    volumes.push_back(ReadVolume(file, limits.ForVolume()));
    CheckSamePlaces(*picture.volume, volumes.back());
    labels += volumes.back().parts;
  }
  const std::size_t voxels = picture.volume->voxels();
  Matrix<float> rows(voxels, labels);
  std::size_t label = 0;
  for (Volume& volume : volumes) {
    const auto [least, most] = std::minmax_element(volume.values.begin(), volume.values.end());
    const bool bytes = probabilities && *least >= 0.0F && *most > 2.0F && *most <= 255.0F;
    const float scale = bytes ? 1.0F / 255.0F : 1.0F;
    for (std::size_t part = 0; part < volume.parts; ++part, ++label) {
      const float* values = volume.values.data() + part * voxels;
      for (std::size_t a = 0; a < voxels; ++a) rows(a, label) = scale * values[a];
    }
    volume.values = {};
  }
  return rows;
}

// What the probabilities of a voxel leave over is that of a first label more.
Matrix<float> WithRest(const Matrix<float>& rows) {
  Matrix<float> all(rows.rows(), rows.cols() + 1);
  for (std::size_t a = 0; a < rows.rows(); ++a) {
    const auto from = rows.row(a);
    const auto to = all.row(a);
    to[0] = std::max(0.0F, 1.0F - std::accumulate(from.begin(), from.end(), 0.0F));
    std::copy(from.begin(), from.end(), to.begin() + 1);
  }
  return all;
}

void ReadVolumeSoftmax(const std::string& files, const SegmentReading& reading,
                       const ReadingLimits& limits, SegmentPicture* picture) {
  constexpr float kMostOff = 0.02F;  // bytes are rounded
  Matrix<float> rows = RowsOf(files, true, limits, *picture);
  bool sums = rows.cols() > 1;
  for (std::size_t a = 0; a < rows.rows(); ++a) {
    const auto row = rows.row(a);
    const float total = std::accumulate(row.begin(), row.end(), 0.0F);
    const float least = *std::min_element(row.begin(), row.end());
    if (least < 0.0F || total > 1.0F + kMostOff) {
      throw InvalidInput(fmt::format(
          "the probabilities of \"{}\" {} at voxel {}, expected none below 0 and a sum of 1 at "
          "most",
          files, least < 0.0F ? fmt::format("are {:g}", least) : fmt::format("sum to {:g}", total),
          picture->volume->PlaceText(a)));
    }
    sums = sums && total > 1.0F - kMostOff;
  }
  if (!sums) {
    rows = WithRest(rows);
    picture->notes.emplace_back(
        "The probabilities do not sum to 1; what is left is that of a first label more.");
  }
  for (std::size_t a = 0; a < rows.rows(); ++a) {
    const auto row = rows.row(a);
    const float total = std::accumulate(row.begin(), row.end(), 0.0F);
    for (float& value : row) value /= total;
  }
  picture->unary = UnariesFromSoftmax(rows, reading.softmax_temperature);
}

// Of a file at the places of the volume.
Volume OneOf(const std::string& file, const ReadingLimits& limits, const SegmentPicture& picture) {
  Volume found = ReadVolume(file, limits.ForVolume());
  CheckSamePlaces(*picture.volume, found);
  if (found.parts != 1)
    throw InvalidInput(
        fmt::format("\"{}\" has {} values per voxel, expected one", file, found.parts));
  return found;
}

void ReadVolumeTruth(const std::string& file, int ignore, const ReadingLimits& limits,
                     SegmentPicture* picture) {
  const Volume truth = OneOf(file, limits, *picture);
  const auto labels = static_cast<float>(picture->unary.cols());
  picture->truth.reserve(truth.values.size());
  for (std::size_t a = 0; a < truth.values.size(); ++a) {
    const float value = truth.values[a];
    const bool unknown = value == static_cast<float>(ignore);
    if (!unknown && (!(value >= 0.0F && value < labels) || value != std::floor(value))) {
      throw InvalidInput(fmt::format(
          "\"{}\" has the label {:g} at voxel {}, expected 0 to {:g}, or {} where it is unknown "
          "(--ignore)",
          file, value, truth.PlaceText(a), labels - 1.0F, ignore));
    }
    picture->truth.push_back(unknown ? kUnknownLabel : static_cast<int>(value));
  }
}

void ReadVolumeRegion(const std::string& file, const ReadingLimits& limits,
                      SegmentPicture* picture) {
  const Volume mask = OneOf(file, limits, *picture);
  picture->region.reserve(mask.values.size());
  for (const float value : mask.values) picture->region.push_back(value > 0.0F ? 1 : 0);
  if (std::find(picture->region.begin(), picture->region.end(), 1) == picture->region.end())
    throw InvalidInput(fmt::format("\"{}\" is 0 everywhere, expected 1 in a region", file));
}

void NameLabels(const SegmentReading& reading, SegmentPicture* picture) {
  const std::size_t labels = picture->unary.cols();
  if (!reading.classes.empty()) {
    if (reading.classes.size() != labels) {
      throw InvalidInput(fmt::format("--classes names {} classes, but there are {} labels",
                                     reading.classes.size(), labels));
    }
    picture->names = reading.classes;
  }
  for (std::size_t i = picture->names.size(); i < labels; ++i)
    picture->names.push_back(fmt::format("{}", i));
  if (!reading.palette.empty()) {
    if (reading.palette.size() < labels) {
      throw InvalidInput(fmt::format("--palette has {} colours, but there are {} labels",
                                     reading.palette.size(), labels));
    }
    picture->colours.assign(reading.palette.begin(),
                            reading.palette.begin() + static_cast<std::ptrdiff_t>(labels));
  }
  for (std::size_t i = picture->colours.size(); i < labels; ++i)
    picture->colours.push_back(VocColour(i));
}

std::vector<int> BestByUnaries(const Matrix<float>& unary) {
  std::vector<int> best(unary.rows());
  ParallelFor(unary.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      const auto row = unary.row(a);
      const auto [least, largest] = std::minmax_element(row.begin(), row.end());
      best[a] = *least == *largest ? kUnknownLabel : static_cast<int>(least - row.begin());
    }
  });
  return best;
}

std::vector<std::int64_t> TruthNumbers(const std::string& file, const Image& image,
                                       const ReadingLimits& limits) {
  if (!file.ends_with(".npy")) {
    ImageReading of_size = limits.For(file);
    of_size.expected = ImageSize{image.width, image.height};
    const Image truth = ReadLabelImage(file, of_size);
    return {truth.samples.begin(), truth.samples.end()};
  }
  NpyReader reader(file);
  if (reader.shape() != NpyShape{image.height, image.width}) {
    throw FileError(fmt::format("\"{}\" has shape {}, expected ({}, {}) as the picture has", file,
                                ShapeText(reader.shape()), image.height, image.width));
  }
  std::vector<std::int64_t> numbers(reader.count());
  reader.ReadTo(std::span<std::int64_t>(numbers));
  return numbers;
}

void ReadTruth(const std::string& file, int ignore, const ReadingLimits& limits,
               SegmentPicture* picture) {
  const std::vector<std::int64_t> numbers = TruthNumbers(file, picture->image, limits);
  const auto labels = static_cast<std::int64_t>(picture->unary.cols());
  const auto width = static_cast<std::size_t>(picture->image.width);
  bool known = false;
  picture->truth.reserve(numbers.size());
  for (std::size_t a = 0; a < numbers.size(); ++a) {
    if (numbers[a] != ignore && (numbers[a] < 0 || numbers[a] >= labels)) {
      throw InvalidInput(fmt::format(
          "\"{}\" has the label {} at pixel x = {}, y = {}, expected 0 to {}, or {} where it is "
          "unknown (--ignore)",
          file, numbers[a], a % width, a / width, labels - 1, ignore));
    }
    known = known || numbers[a] != ignore;
    picture->truth.push_back(numbers[a] == ignore ? kUnknownLabel : static_cast<int>(numbers[a]));
  }
  if (!known)
    throw InvalidInput(fmt::format(
        "\"{}\" is unknown ({}) at every pixel, so nothing can be compared", file, ignore));
}

void ReadRegion(const std::string& file, const ReadingLimits& limits, SegmentPicture* picture) {
  ImageReading of_size = limits.For(file);
  of_size.expected = ImageSize{picture->image.width, picture->image.height};
  const Image mask = ReadImage(file, of_size);
  const auto channels = static_cast<std::size_t>(mask.channels);
  picture->region.resize(Pixels(mask));
  for (std::size_t a = 0; a < picture->region.size(); ++a)
    picture->region[a] = 2 * mask.samples[a * channels] > mask.max_value ? 1 : 0;
  if (std::find(picture->region.begin(), picture->region.end(), 1) == picture->region.end())
    throw InvalidInput(fmt::format("\"{}\" is black everywhere, expected a region in white", file));
}

SegmentPicture ReadSegmentVolume(const SegmentFiles& files, const SegmentReading& reading,
                                 const ReadingLimits& limits) {
  if (!files.scribbles.empty())
    throw InvalidInput("--scribbles are for pictures; volumes need --softmax or --unary");
  SegmentPicture picture;
  Volume volume = ReadVolume(files.image, limits.ForVolume());
  if (volume.parts != 1)
    throw InvalidInput(fmt::format(
        "\"{}\" has {} values per voxel, expected one: the fourth axis is for --softmax",
        files.image, volume.parts));
  picture.image = ImageOf(volume);
  volume.values = {};
  picture.volume = std::make_shared<const Volume>(std::move(volume));
  if (!files.softmax.empty()) {
    ReadVolumeSoftmax(files.softmax, reading, limits, &picture);
  } else {
    picture.unary = RowsOf(files.unary, false, limits, picture);
  }
  if (picture.unary.cols() < 2 || picture.unary.cols() > static_cast<std::size_t>(kMaxLabels)) {
    throw InvalidInput(fmt::format("\"{}\" has {} labels, expected 2 to {} along its fourth axis",
                                   files.softmax + files.unary, picture.unary.cols(), kMaxLabels));
  }
  NameLabels(reading, &picture);
  picture.before = BestByUnaries(picture.unary);
  if (!files.truth.empty()) ReadVolumeTruth(files.truth, reading.ignore, limits, &picture);
  if (!files.region.empty()) ReadVolumeRegion(files.region, limits, &picture);
  return picture;
}

}  // namespace

std::size_t LeastLabels(const SegmentFiles& files) {
  constexpr std::int64_t kFewest = 2;
  const std::string& file = files.softmax.empty() ? files.unary : files.softmax;
  if (file.empty() || IsVolumeName(file)) return kFewest;
  try {
    const NpyShape shape = NpyReader(file).shape();
    const std::int64_t least = shape.empty() ? 0 : std::min(shape.front(), shape.back());
    return static_cast<std::size_t>(std::max(kFewest, least));
  } catch (const FileError&) {  // which its reader will throw again, after the picture's
    return kFewest;
  }
}

std::vector<int> SegmentPicture::extent() const {
  if (volume) return {volume->extent[2], volume->extent[1], volume->extent[0]};
  return {image.height, image.width};
}

SegmentPicture ReadSegmentPicture(const SegmentFiles& files, const SegmentReading& reading,
                                  const ReadingLimits& limits) {
  if (IsVolumeName(files.image)) return ReadSegmentVolume(files, reading, limits);
  SegmentPicture picture;
  picture.image = ReadImage(files.image, limits.For(files.image));
  if (!files.softmax.empty()) {
    ReadSoftmax(files.softmax, reading, &picture);
  } else if (!files.unary.empty()) {
    ReadUnaries(files.unary, reading, &picture);
  } else {
    picture.scribbled = true;
    ReadScribbles(files.scribbles, reading.confidence, limits, &picture);
  }
  NameLabels(reading, &picture);
  picture.before = BestByUnaries(picture.unary);
  if (!files.truth.empty()) ReadTruth(files.truth, reading.ignore, limits, &picture);
  if (!files.region.empty()) ReadRegion(files.region, limits, &picture);
  return picture;
}

}  // namespace submarine::apps
