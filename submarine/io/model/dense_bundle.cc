#include "submarine/io/model/dense_bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/file/input_file.h"
#include "submarine/io/image/image.h"
#include "submarine/io/model/bundle_header.h"
#include "submarine/io/model/metric_spec.h"
#include "submarine/model/image_features.h"

namespace submarine {
namespace {

using internal::BesideHeader;
using internal::BundleHeader;
using internal::CheckBundleMetric;
using internal::InputFile;
using internal::JsonFields;
using internal::kMaxBundleVariables;
using internal::kMaxHeaderBytes;
using internal::NpyShape;
using internal::ReadJsonFile;
using internal::ShapeText;
using internal::WriteCliques;
using internal::WriteFileAtomically;
using internal::WriteNpy;

using Json = nlohmann::json;

constexpr std::size_t kMaxKernels = 64;

// The layout of the variables; all 0 if they are not pixels.
struct Extent {
  int width = 0;
  int height = 0;
  int depth = 0;

  bool volume() const { return depth > 0; }
  std::size_t axes() const { return width == 0 ? 0 : volume() ? 3 : 2; }
  // (height, width) or (depth, height, width)
  NpyShape shape() const {
    return volume() ? NpyShape{depth, height, width} : NpyShape{height, width};
  }
};

// The colours of a picture, or of an array in full precision; at most one of them is present.
struct ColourView {
  int channels = 0;
  std::span<const float> values;
  std::span<const double> precise = {};
};

std::vector<double> PerAxis(const std::vector<double>& sigma, std::size_t axes) {
  return sigma.size() == 1 ? std::vector<double>(axes, sigma.front()) : sigma;
}

// Bilateral kernels use `image`.
GaussianKernel BuildUnnormalised(DenseKernelSpec spec, const Extent& extent,
                                 const ColourView& image) {
  if (spec.type == DenseKernelType::kFeatures) {
    const std::string name = fmt::format("features {:g}", fmt::join(spec.sigma, ","));
    return FeatureKernel(std::move(spec.features), spec.sigma, spec.weight, name);
  }
  if (extent.axes() == 0) {
    throw InvalidInput("kernels of positions need variables laid out by width and height");
  }
  const std::array all = {extent.width, extent.height, extent.depth};
  const auto size = std::span(all).first(extent.axes());
  const std::vector<double> sigma = PerAxis(spec.sigma, extent.axes());
  if (spec.type == DenseKernelType::kPosition) return PositionKernel(size, sigma, spec.weight);
  if (image.channels == 0) throw InvalidInput("bilateral kernels need an image, but there is none");
  const auto bilateral = [&](auto values) {
    return BilateralKernel(size, image.channels, values, sigma, spec.colour_sigma, spec.weight);
  };
  return image.precise.empty() ? bilateral(image.values) : bilateral(image.precise);
}

// The only place where kernels in files are turned into kernels of models.
GaussianKernel BuildKernel(DenseKernelSpec spec, const Extent& extent, const ColourView& image) {
  const KernelNormalisation normalisation = spec.normalisation;
  GaussianKernel kernel = BuildUnnormalised(std::move(spec), extent, image);
  kernel.normalisation = normalisation;
  return kernel;
}

// ---- Reading ----

Extent ReadExtent(const JsonFields& fields) {
  if (fields.Has("variables")) {
    for (const std::string_view key : {"width", "height", "depth", "image"}) {
      if (fields.Has(key)) fields.Refuse(key, "must be left out where \"variables\" is given");
    }
    return {};
  }
  const std::int64_t width = fields.Integer("width", 1, kMaxBundleVariables);
  const std::int64_t height = fields.Integer("height", 1, kMaxBundleVariables);
  const std::int64_t depth =
      fields.Has("depth") ? fields.Integer("depth", 1, kMaxBundleVariables) : 0;
  if (width * height > kMaxBundleVariables ||
      width * height * std::max<std::int64_t>(depth, 1) > kMaxBundleVariables) {
    fields.Refuse("width", "times height and depth must stay below 2^31");
  }
  return {static_cast<int>(width), static_cast<int>(height), static_cast<int>(depth)};
}

Matrix<float> ReadUnary(const BundleHeader& header, const Extent& extent, std::int64_t labels) {
  const auto reader = header.OpenArray("unary");
  NpyShape laid_out = extent.shape();
  std::int64_t variables = 1;
  for (const std::int64_t n : laid_out) variables *= n;
  if (extent.axes() == 0) variables = header.fields.Integer("variables", 1, kMaxBundleVariables);
  laid_out.push_back(labels);
  const NpyShape flat = {variables, labels};
  if (reader->shape() != flat && (extent.axes() == 0 || reader->shape() != laid_out)) {
    const std::string others =
        extent.axes() == 0 ? ""
                           : fmt::format("({}height, width, labels) = {} or ",
                                         extent.volume() ? "depth, " : "", ShapeText(laid_out));
    header.FailInArray("unary",
                       fmt::format("has shape {}, but {}(variables, labels) = {} was expected",
                                   ShapeText(reader->shape()), others, ShapeText(flat)));
  }
  return header.ReadUnary<float>(*reader, static_cast<std::size_t>(labels));
}

struct ColourImage {
  int channels = 0;
  std::vector<float> values;
  std::vector<double> precise = {};

  ColourView view() const { return {channels, values, precise}; }
};

bool IsNpy(const std::filesystem::path& path) {
  InputFile file(path);
  char magic[6];
  if (file.size() < sizeof magic) return false;
  file.Read(magic, sizeof magic);
  return std::string_view(magic, sizeof magic) == "\x93NUMPY";
}

ColourImage ReadArrayImage(const BundleHeader& header, const Extent& extent) {
  const auto reader = header.OpenArray("image");
  NpyShape pixels = reader->shape();
  const std::size_t axes = extent.axes();
  const bool has_channels = pixels.size() == axes + 1;
  const std::int64_t channels = has_channels ? pixels.back() : 1;
  if (has_channels) pixels.pop_back();
  if (pixels != extent.shape()) {
    header.FailInArray(
        "image", fmt::format("has shape {}, but ({}height, width) = {}, with or without channels "
                             "behind, was expected",
                             ShapeText(reader->shape()), extent.volume() ? "depth, " : "",
                             ShapeText(extent.shape())));
  }
  const auto most = static_cast<std::int64_t>(kMaxFeatureDimension - axes);
  if (channels < 1 || channels > most) {
    header.FailInArray("image",
                       fmt::format("has {} channels, but 1 to {} were expected", channels, most));
  }
  ColourImage image{static_cast<int>(channels), {}, std::vector<double>(reader->count())};
  header.ReadFinite("image", *reader, "colours", static_cast<std::size_t>(channels),
                    std::span(image.precise));
  return image;
}

ColourImage ReadColours(const BundleHeader& header, const Extent& extent, ImageReading reading) {
  const std::filesystem::path path = header.FilePath("image");
  bool is_array = false;
  Image picture;
  reading.expected = ImageSize{extent.width, extent.height};
  try {
    is_array = IsNpy(path);
    if (!is_array && !extent.volume()) picture = ReadImage(path, reading);
  } catch (const FileError& error) {
    header.Fail("image", error.what());
  }
  if (is_array) return ReadArrayImage(header, extent);
  if (extent.volume()) header.FailInArray("image", "is not an .npy array, which a volume needs");
  return {picture.channels, ColourValues(picture)};
}

// Kernels and the pictures that they share.
class KernelReader {
 public:
  KernelReader(const BundleHeader& header, const Extent& extent, std::size_t num_variables,
               const ImageReading& picture)
      : header_(header), extent_(extent), num_variables_(num_variables), picture_(picture) {}

  GaussianKernel Read(const Json& json, std::size_t index) {
    const std::string where = fmt::format("{}: kernel {}", header_.fields.where(), index);
    const DenseKernelType type = TypeOf(json, where);
    const JsonFields fields = FieldsOf(json, where, type);
    const BundleHeader kernel{fields, header_.directory};
    DenseKernelSpec spec{
        .type = type, .sigma = Sigmas(fields, "sigma"), .normalisation = NormalisationOf(fields)};
    if (fields.Has("weight")) spec.weight = fields.Number("weight");
    if (spec.weight < 0.0) fields.Refuse("weight", "must not be negative");
    if (type != DenseKernelType::kFeatures && extent_.axes() == 0) {
      fields.Refuse("type", "must be \"features\" in a model without width and height");
    }
    ColourView image;
    if (type == DenseKernelType::kBilateral) {
      spec.colour_sigma = Sigmas(fields, "colour_sigma");
      image = ImageOf(kernel).view();
    }
    if (type == DenseKernelType::kFeatures) spec.features = Features(kernel);
    try {
      return BuildKernel(std::move(spec), extent_, image);
    } catch (const InvalidInput& error) {
      throw FileError(fmt::format("{}: {}", where, error.what()));
    }
  }

 private:
  static DenseKernelType TypeOf(const Json& json, const std::string& where) {
    const Json type = json.is_object() ? json.value("type", Json()) : Json();
    if (type == "position") return DenseKernelType::kPosition;
    if (type == "bilateral") return DenseKernelType::kBilateral;
    if (type == "features") return DenseKernelType::kFeatures;
    throw FileError(
        fmt::format("{}: key \"type\" must be \"position\", \"bilateral\" or \"features\"", where));
  }
  static JsonFields FieldsOf(const Json& json, const std::string& where, DenseKernelType type) {
    switch (type) {
      case DenseKernelType::kPosition:
        return {json, where, {"type", "sigma", "weight", "normalisation"}};
      case DenseKernelType::kBilateral:
        return {json, where, {"type", "sigma", "colour_sigma", "weight", "image", "normalisation"}};
      default:
        return {json, where, {"type", "features", "sigma", "weight", "normalisation"}};
    }
  }
  static KernelNormalisation NormalisationOf(const JsonFields& fields) {
    const std::string text = fields.Has("normalisation") ? fields.String("normalisation") : "none";
    if (text == "none") return KernelNormalisation::kNone;
    if (text != "symmetric") fields.Refuse("normalisation", "must be \"none\" or \"symmetric\"");
    return KernelNormalisation::kSymmetric;
  }
  static std::vector<double> Sigmas(const JsonFields& fields, std::string_view key) {
    std::vector<double> sigmas = fields.Numbers(key);
    if (sigmas.empty() || *std::min_element(sigmas.begin(), sigmas.end()) <= 0.0) {
      fields.Refuse(key, "must be a number > 0 or a list of such numbers");
    }
    return sigmas;
  }
  const ColourImage& ImageOf(const BundleHeader& kernel) {
    const BundleHeader& source = kernel.fields.Has("image") ? kernel : header_;
    const std::string name = source.fields.String("image");
    const auto found = images_.find(name);
    if (found != images_.end()) return found->second;
    return images_.emplace(name, ReadColours(source, extent_, picture_)).first->second;
  }
  Matrix<double> Features(const BundleHeader& kernel) const {
    const auto reader = kernel.OpenArray("features");
    const NpyShape& shape = reader->shape();
    if (shape.size() != 2 || shape[0] != static_cast<std::int64_t>(num_variables_) ||
        shape[1] < 1 || shape[1] > static_cast<std::int64_t>(kMaxFeatureDimension)) {
      kernel.FailInArray("features",
                         fmt::format("has shape {}, but (variables, dimension) = ({}, 1 to {}) was "
                                     "expected",
                                     ShapeText(shape), num_variables_, kMaxFeatureDimension));
    }
    Matrix<double> features(num_variables_, static_cast<std::size_t>(shape[1]));
    kernel.ReadFinite("features", *reader, "features", features.cols(),
                      std::span<double>(features.data(), features.size()));
    return features;
  }

  const BundleHeader& header_;
  const Extent& extent_;
  std::size_t num_variables_;
  const ImageReading& picture_;
  std::map<std::string, ColourImage> images_;  // by name
};

PairCounting ReadCounting(const JsonFields& fields) {
  const std::string text = fields.Has("pairs") ? fields.String("pairs") : "ordered";
  if (text == "ordered") return PairCounting::kOrdered;
  if (text != "once") fields.Refuse("pairs", "must be \"ordered\" or \"once\"");
  return PairCounting::kOnce;
}

// ---- Writing ----

constexpr std::string_view TypeText(DenseKernelType type) {
  return type == DenseKernelType::kPosition    ? "position"
         : type == DenseKernelType::kBilateral ? "bilateral"
                                               : "features";
}

Json KernelHeader(const std::filesystem::path& path, const DenseKernelSpec& kernel,
                  std::size_t index) {
  Json json = {{"type", TypeText(kernel.type)}, {"weight", kernel.weight}};
  const auto put = [&](const char* key, const std::vector<double>& sigma) {
    json[key] = sigma.size() == 1 ? Json(sigma.front()) : Json(sigma);
  };
  put("sigma", kernel.sigma);
  if (kernel.type == DenseKernelType::kBilateral) put("colour_sigma", kernel.colour_sigma);
  if (kernel.normalisation == KernelNormalisation::kSymmetric) json["normalisation"] = "symmetric";
  if (kernel.type == DenseKernelType::kFeatures) {
    const Matrix<double>& features = kernel.features;
    const std::filesystem::path file = BesideHeader(path, fmt::format("features{}", index));
    WriteNpy(file, features);
    json["features"] = file.filename().string();
  }
  return json;
}

}  // namespace

std::string ReadBundleKind(const std::filesystem::path& path) {
  const Json json = ReadJsonFile(path, kMaxHeaderBytes);
  const Json kind = json.is_object() ? json.value("submarine", Json()) : Json();
  for (const char* known : {"grid", "graph", "dense"}) {
    if (kind == known) return known;
  }
  throw FileError(fmt::format(
      "{} is not a model bundle: its key \"submarine\" must be \"grid\", \"graph\" or \"dense\"",
      path.string()));
}

LoadedDense ReadDenseBundle(const std::filesystem::path& path, bool strict_hst,
                            const ImageReading& picture) {
  const Json json = ReadJsonFile(path, kMaxHeaderBytes);
  if (!json.is_object() || json.value("submarine", Json()) != "dense") {
    throw FileError(
        fmt::format("{} is not a bundle of a dense model: its key \"submarine\" must be \"dense\"",
                    path.string()));
  }
  const JsonFields fields(json, path.string(),
                          {"submarine", "width", "height", "depth", "variables", "labels", "unary",
                           "metric", "pairs", "constant", "image", "kernels", "cliques"});
  const BundleHeader header{fields, path.parent_path()};
  const Extent extent = ReadExtent(fields);
  const std::int64_t labels = fields.Integer("labels", 2, kMaxLabels);
  const PairCounting counting = ReadCounting(fields);
  const double constant = header.ReadConstant();
  const Json& list = fields.At("kernels");
  if (!list.is_array()) fields.Refuse("kernels", "must be a list of kernels");
  if (list.size() > kMaxKernels) {
    header.Fail("kernels",
                fmt::format("the list has {} entries, but at most {} kernels are allowed",
                            list.size(), kMaxKernels));
  }
  std::vector<std::string> warnings;
  LabelSpace space = header.ReadMetric(static_cast<int>(labels), strict_hst, &warnings);
  Matrix<float> unary = ReadUnary(header, extent, labels);
  std::vector<Clique> cliques = header.ReadCliques(unary.rows());

  KernelReader reader(header, extent, unary.rows(), picture);
  std::vector<GaussianKernel> kernels;
  for (std::size_t m = 0; m < list.size(); ++m) kernels.push_back(reader.Read(list[m], m));
  try {
    return {DenseCrf(std::move(unary), std::move(kernels), std::move(space), counting, constant),
            extent.width,
            extent.height,
            extent.depth,
            std::move(warnings),
            std::move(cliques)};
  } catch (const InvalidInput& error) {
    throw InvalidInput(fmt::format("{}: {}", path.string(), error.what()));
  }
}

std::vector<GaussianKernel> BuildKernels(const DenseSpec& spec) {
  const bool flat = spec.width == 0 && spec.height == 0 && spec.depth == 0;
  if (!flat && (spec.width < 1 || spec.height < 1 || spec.depth < 0)) {
    throw InvalidInput(
        fmt::format("a dense model cannot be laid out as width {}, height {}, depth {}", spec.width,
                    spec.height, spec.depth));
  }
  const Extent extent{spec.width, spec.height, spec.depth};
  const ColourView image{spec.channels, spec.image};
  if (spec.kernels.size() > kMaxKernels) {
    throw InvalidInput(
        fmt::format("a bundle holds at most {} kernels, not {}", kMaxKernels, spec.kernels.size()));
  }
  std::vector<GaussianKernel> kernels;
  for (std::size_t m = 0; m < spec.kernels.size(); ++m) {
    const KernelNormalisation normalisation = spec.kernels[m].normalisation;
    try {
      if (normalisation != KernelNormalisation::kNone &&
          normalisation != KernelNormalisation::kSymmetric) {
        throw InvalidInput("the normalisation must be none or symmetric");
      }
      kernels.push_back(BuildKernel(spec.kernels[m], extent, image));
    } catch (const InvalidInput& error) {
      throw InvalidInput(fmt::format("kernel {}: {}", m, error.what()));
    }
  }
  return kernels;
}

DenseCrf BuildDenseCrf(const DenseSpec& spec, const std::filesystem::path& directory) {
  std::vector<GaussianKernel> kernels = BuildKernels(spec);
  const Extent extent{spec.width, spec.height, spec.depth};
  const bool flat = spec.width == 0 && spec.height == 0 && spec.depth == 0;
  LabelSpace space =
      ParseMetricSpec(spec.metric, static_cast<int>(spec.unary.cols()), false, nullptr, directory);
  DenseCrf model(spec.unary, std::move(kernels), std::move(space), spec.counting, spec.constant);
  double laid_out = flat ? static_cast<double>(spec.unary.rows()) : 1.0;
  for (const std::int64_t n : flat ? NpyShape{} : extent.shape()) {
    laid_out *= static_cast<double>(n);
  }
  if (laid_out != static_cast<double>(spec.unary.rows())) {
    throw InvalidInput(fmt::format("unaries of {} variables cannot be laid out as {}",
                                   spec.unary.rows(), ShapeText(extent.shape())));
  }
  return model;
}

void WriteDenseBundle(const std::filesystem::path& path, const DenseSpec& spec) {
  CheckBundleMetric(spec.metric, path.parent_path());
  BuildDenseCrf(spec, path.parent_path());
  CheckCliques(spec.cliques, spec.unary.rows());
  const Extent extent{spec.width, spec.height, spec.depth};
  const bool flat = extent.axes() == 0;
  const auto variables = static_cast<std::int64_t>(spec.unary.rows());
  const auto labels = static_cast<std::int64_t>(spec.unary.cols());
  NpyShape shape = flat ? NpyShape{variables} : extent.shape();
  shape.push_back(labels);

  Json header = {{"submarine", "dense"}, {"labels", labels}, {"metric", spec.metric}};
  if (flat) {
    header["variables"] = variables;
  } else {
    header["width"] = spec.width;
    header["height"] = spec.height;
    if (extent.volume()) header["depth"] = spec.depth;
  }
  header["pairs"] = spec.counting == PairCounting::kOrdered ? "ordered" : "once";
  if (spec.constant != 0.0) header["constant"] = spec.constant;
  const std::filesystem::path unary = BesideHeader(path, "unary");
  WriteNpy(unary, std::span<const float>(spec.unary.data(), spec.unary.size()), shape);
  header["unary"] = unary.filename().string();
  if (spec.channels > 0 && !flat) {
    shape.back() = spec.channels;
    const std::filesystem::path image = BesideHeader(path, "image");
    WriteNpy(image, std::span<const float>(spec.image), shape);
    header["image"] = image.filename().string();
  }
  header["kernels"] = Json::array();
  for (std::size_t m = 0; m < spec.kernels.size(); ++m) {
    header["kernels"].push_back(KernelHeader(path, spec.kernels[m], m));
  }
  if (!spec.cliques.empty()) header["cliques"] = WriteCliques(path, spec.cliques);
  WriteFileAtomically(path, header.dump(2) + "\n");
}

}  // namespace submarine
