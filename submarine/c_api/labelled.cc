#include "submarine/c_api/labelled.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "submarine/base/names.h"
#include "submarine/base/parallel.h"
#include "submarine/c_api/arrays.h"
#include "submarine/c_api/models.h"
#include "submarine/fit/fit.h"
#include "submarine/io/model/metric_spec.h"
#include "submarine/labels/metric_fit.h"
#include "submarine/segmentation/comparison.h"
#include "submarine/segmentation/softmax.h"

namespace submarine::c_api {
namespace {

using internal::Change;
using internal::Comparison;
using internal::FitOptions;
using internal::FitScore;
using internal::LabelledPicture;

using Arrays = std::span<const sm_array>;

constexpr std::size_t kEach = 3;  // arrays of a picture

std::size_t PicturesIn(Arrays arrays) {
  if (arrays.empty() || arrays.size() % kEach != 0) {
    throw InvalidInput(
        fmt::format("{} arrays were given, expected three of every picture", arrays.size()));
  }
  return arrays.size() / kEach;
}

struct Extent {
  int width, height;
};
Extent ExtentOf(const sm_array& array, std::size_t picture) {
  if (array.ndim < 2)
    throw InvalidInput(fmt::format("picture {} has an array without height and width", picture));
  return {static_cast<int>(array.shape[1]), static_cast<int>(array.shape[0])};
}
void CheckExtent(const sm_array& array, const Extent& expected, std::size_t picture,
                 const char* what) {
  const Extent found = ExtentOf(array, picture);
  if (found.width == expected.width && found.height == expected.height) return;
  throw InvalidInput(fmt::format("{} of picture {} has {} x {} pixels, expected {} x {}", what,
                                 picture, found.width, found.height, expected.width,
                                 expected.height));
}

// What is negative is unknown.
std::vector<int> TruthOf(const sm_array& array) {
  std::vector<std::int32_t> truth = ToVector<std::int32_t>(&array, "the truth");
  for (std::int32_t& label : truth) label = std::max(label, internal::kUnknownLabel);
  return {truth.begin(), truth.end()};
}

Json ToJson(const Change& change) {
  Json json = {{"before", change.before}, {"after", change.after}, {"interval", nullptr}};
  if (change.interval) json["interval"] = *change.interval;
  return json;
}

Json ToJson(const Comparison& comparison, const std::vector<std::string>& names) {
  Json iou = Json::array();
  for (const auto& change : comparison.iou) iou.push_back(change ? ToJson(*change) : Json());
  return {{"pictures", comparison.pictures},
          {"better", comparison.better},
          {"worse", comparison.worse},
          {"mean_iou", ToJson(comparison.mean_iou)},
          {"accuracy", ToJson(comparison.accuracy)},
          {"iou", iou},
          {"thin", comparison.thin ? ToJson(*comparison.thin) : Json()},
          {"text", ComparisonText(comparison, names)}};
}

std::vector<std::string> NumberNames(std::size_t labels) {
  std::vector<std::string> names;
  for (std::size_t l = 0; l < labels; ++l) names.push_back(fmt::format("label {}", l));
  return names;
}

LabelledPicture PictureOf(Arrays arrays, std::size_t number) {
  const sm_array& picture = arrays[0];
  const sm_array& softmax = arrays[1];
  const Extent extent = ExtentOf(picture, number);
  CheckExtent(softmax, extent, number, "the softmax");
  CheckExtent(arrays[2], extent, number, "the truth");
  if (softmax.ndim != 3)
    throw InvalidInput(
        fmt::format("the softmax of picture {} has {} axes, expected height, width and labels",
                    number, softmax.ndim));
  LabelledPicture labelled{.name = fmt::format("picture {}", number),
                           .width = extent.width,
                           .height = extent.height,
                           .channels = picture.ndim == 3 ? static_cast<int>(picture.shape[2]) : 1,
                           .samples = ToVector<float>(&picture, "a picture"),
                           .softmax = ToMatrix<float>(&softmax, "a softmax"),
                           .truth = TruthOf(arrays[2])};
  CheckSoftmax(labelled.softmax, extent.width, fmt::format("the softmax of picture {}", number));
  for (const int label : labelled.truth) {
    if (label >= labelled.num_labels())
      throw InvalidInput(fmt::format("the truth of picture {} has the label {}, expected 0 to {}",
                                     number, label, labelled.num_labels() - 1));
  }
  return labelled;
}

}  // namespace

Json ParametersJson(const SegmentationParameters& found) {
  return {{"position_sigma", found.position_sigma},
          {"position_weight", found.position_weight},
          {"bilateral_sigma", found.bilateral_sigma},
          {"colour_sigma", found.colour_sigma},
          {"bilateral_weight", found.bilateral_weight},
          {"updates", found.updates},
          {"normalised", found.normalisation == KernelNormalisation::kSymmetric},
          {"softmax_temperature", found.softmax_temperature},
          {"superpixel_sizes", found.superpixel_sizes},
          {"superpixel_gamma", found.superpixel_gamma},
          {"superpixel_share", found.superpixel_share}};
}

std::unique_ptr<sm_object> FindComparison(Options* options, Arrays arrays, const Told& /*told*/) {
  int labels = 0;
  std::vector<std::string> names;
  options->Read("num_labels", &labels);
  for (Options& name : options->ReadList("names")) {
    std::string text;
    name.Read("name", &text);
    names.push_back(text);
  }
  options->CheckEmpty();
  if (names.empty()) names = NumberNames(static_cast<std::size_t>(std::max(0, labels)));
  if (names.size() != static_cast<std::size_t>(labels))
    throw InvalidInput(fmt::format("there are {} names for {} labels", names.size(), labels));
  std::vector<internal::ComparedPicture> pictures;
  for (std::size_t p = 0; p < PicturesIn(arrays); ++p) {
    const Arrays of = arrays.subspan(kEach * p, kEach);
    const Extent extent = ExtentOf(of[0], p);
    CheckExtent(of[1], extent, p, "the labeling before");
    CheckExtent(of[2], extent, p, "the labeling after");
    pictures.push_back(internal::ComparePicture(
        TruthOf(of[0]), ToVector<std::int32_t>(&of[1], "the labels before"),
        ToVector<std::int32_t>(&of[2], "the labels after"), extent.width, extent.height, labels));
  }
  return ValuesOf(ToJson(internal::Compare(pictures), names));
}

std::unique_ptr<sm_object> FindFit(Options* options, Arrays arrays, const Told& told) {
  FitOptions fit;
  std::string score = "iou";
  int threads = 0;
  std::string metric, no_metric = "refuse";
  std::vector<double> table;
  options->Read("metric", &metric);
  options->Read("table", &table);
  options->Read("no_metric", &no_metric);
  options->Read("superpixels", &fit.superpixel_sizes);
  options->Read("score", &score);
  options->Read("folds", &fit.folds);
  options->Read("evaluations", &fit.evaluations);
  options->Read("updates", &fit.updates);
  options->Read("pixels", &fit.pixels);
  options->Read("seed", &fit.seed);
  options->Read("threads", &threads);
  options->CheckEmpty();
  constexpr std::array<std::string_view, 3> kScores = {"iou", "accuracy", "nll"};
  if (score == kScores[0]) {
    fit.score = FitScore::kMeanIou;
  } else if (score == kScores[1]) {
    fit.score = FitScore::kAccuracy;
  } else if (score == kScores[2]) {
    fit.score = FitScore::kLikelihood;
  } else {
    RefuseName(score, kScores, "score");
  }
  const internal::ThreadLimit limit(threads);
  std::vector<LabelledPicture> pictures;
  for (std::size_t p = 0; p < PicturesIn(arrays); ++p)
    pictures.push_back(PictureOf(arrays.subspan(kEach * p, kEach), p));
  const int labels = pictures.empty() ? 0 : pictures.front().num_labels();
  if (!metric.empty()) {
    fit.labels = ParseMetricSpec(metric, labels, false, nullptr);
  } else if (!table.empty()) {
    const auto rows = static_cast<std::size_t>(labels);
    if (table.size() != rows * rows)
      throw InvalidInput(
          fmt::format("the metric has {} numbers, expected {} x {}", table.size(), labels, labels));
    Matrix<double> distance(rows, rows);
    std::copy(table.begin(), table.end(), distance.data());
    fit.labels = MetricLabels(distance, NoMetricNamed(no_metric));
  }
  const internal::FitResult found = internal::FitParameters(pictures, fit, nullptr, told);
  const auto names = NumberNames(static_cast<std::size_t>(pictures.front().num_labels()));
  return ValuesOf(Json{{"parameters", ParametersJson(found.Advised())},
                       {"advice", internal::ToString(found.advice)},
                       {"fitted", ToJson(found.fitted, names)},
                       {"defaults", ToJson(found.defaults, names)}});
}

}  // namespace submarine::c_api
