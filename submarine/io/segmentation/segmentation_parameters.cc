#include "submarine/io/segmentation/segmentation_parameters.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "submarine/base/error.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/file/json_file.h"
#include "submarine/io/segmentation/parameters_json.h"

namespace submarine {
namespace {

using internal::JsonFields;
using internal::ReadJsonFile;
using internal::WriteFileAtomically;

constexpr const char* kKind = "segmentation";
constexpr std::int64_t kMaxUpdates = 1000000;

}  // namespace

SegmentationParameters ReadSegmentationParameters(const std::filesystem::path& path) {
  const nlohmann::json object = ReadJsonFile(path);
  const JsonFields fields(
      object, path.string(),
      {"submarine", "position_sigma", "position_weight", "bilateral_sigma", "colour_sigma",
       "bilateral_weight", "updates", "iterations", "normalisation", "softmax_temperature",
       "superpixel_sizes", "superpixel_gamma", "superpixel_share", "fit"});
  if (fields.String("submarine") != kKind)
    fields.Refuse("submarine", "must be \"segmentation\" in a file of segmentation parameters");
  SegmentationParameters parameters;
  const auto read = [&fields](const char* key, double* value) {
    if (fields.Has(key)) *value = fields.Number(key);
  };
  read("position_sigma", &parameters.position_sigma);
  read("position_weight", &parameters.position_weight);
  read("bilateral_sigma", &parameters.bilateral_sigma);
  read("colour_sigma", &parameters.colour_sigma);
  read("bilateral_weight", &parameters.bilateral_weight);
  read("softmax_temperature", &parameters.softmax_temperature);
  if (fields.Has("superpixel_sizes"))
    parameters.superpixel_sizes = fields.Numbers("superpixel_sizes");
  read("superpixel_gamma", &parameters.superpixel_gamma);
  read("superpixel_share", &parameters.superpixel_share);
  for (const char* key : {"iterations", "updates"}) {  // the first is what older files call it
    if (fields.Has(key)) parameters.updates = static_cast<int>(fields.Integer(key, 0, kMaxUpdates));
  }
  if (fields.Has("normalisation")) {
    const std::string text = fields.String("normalisation");
    if (text != "none" && text != "symmetric")
      fields.Refuse("normalisation", "must be \"none\" or \"symmetric\"");
    parameters.normalisation =
        text == "none" ? KernelNormalisation::kNone : KernelNormalisation::kSymmetric;
  }
  try {
    CheckParameters(parameters);
  } catch (const InvalidInput& error) {
    throw FileError(fmt::format("{}: {}", path.string(), error.what()));
  }
  return parameters;
}

nlohmann::ordered_json internal::ToJson(const SegmentationParameters& parameters) {
  nlohmann::ordered_json json = {
      {"position_sigma", parameters.position_sigma},
      {"position_weight", parameters.position_weight},
      {"bilateral_sigma", parameters.bilateral_sigma},
      {"colour_sigma", parameters.colour_sigma},
      {"bilateral_weight", parameters.bilateral_weight},
      {"updates", parameters.updates},
      {"normalisation",
       parameters.normalisation == KernelNormalisation::kNone ? "none" : "symmetric"},
      {"softmax_temperature", parameters.softmax_temperature}};
  if (!parameters.superpixel_sizes.empty()) {
    json["superpixel_sizes"] = parameters.superpixel_sizes;
    json["superpixel_gamma"] = parameters.superpixel_gamma;
    json["superpixel_share"] = parameters.superpixel_share;
  }
  return json;
}

void WriteSegmentationParameters(const std::filesystem::path& path,
                                 const SegmentationParameters& parameters, const std::string& fit) {
  CheckParameters(parameters);
  nlohmann::ordered_json json = {{"submarine", kKind}};
  json.update(internal::ToJson(parameters));
  if (!fit.empty()) {
    json["fit"] = nlohmann::ordered_json::parse(fit, nullptr, /*allow_exceptions=*/false);
    if (json["fit"].is_discarded())
      throw InvalidInput("segmentation parameters: what is to be written as \"fit\" is not JSON");
  }
  WriteFileAtomically(path, json.dump(2) + "\n");
}

}  // namespace submarine
