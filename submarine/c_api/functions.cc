// Functions on arrays: a row of the table for each; docs/c_api.md says what they take.
#include "submarine/c_api/functions.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "submarine/base/names.h"
#include "submarine/c_api/arrays.h"
#include "submarine/c_api/labelled.h"
#include "submarine/c_api/models.h"
#include "submarine/c_api/options.h"
#include "submarine/filter/gaussian_filter.h"
#include "submarine/io/image/colour_map.h"
#include "submarine/io/segmentation/segmentation_parameters.h"
#include "submarine/segmentation/calibration.h"
#include "submarine/segmentation/segmentation_model.h"
#include "submarine/segmentation/superpixels.h"
#include "submarine/solve/solve.h"
#include "submarine/stereo/disparity.h"
#include "submarine/stereo/match/match_stereo.h"
#include "submarine/stereo/match/stereo_crf.h"
#include "submarine/stereo/matching_cost.h"

namespace submarine::c_api {
namespace {

using Arrays = std::span<const sm_array>;
using Found = std::unique_ptr<sm_object>;

// Samples of a picture of shape (height, width) or (height, width, channels), kept alive with the
// view.
struct HeldView {
  explicit HeldView(const sm_array* image) : samples(ToVector<float>(image, "a view")) {
    if (image->ndim != 2 && image->ndim != 3)
      throw InvalidInput("a view has shape (height, width) or (height, width, channels)");
    view = {static_cast<int>(image->shape[1]), static_cast<int>(image->shape[0]),
            image->ndim == 3 ? static_cast<int>(image->shape[2]) : 1, samples};
  }
  std::vector<float> samples;
  StereoView view;
};

Found FindGridEdges(Options* options, Arrays /*arrays*/, const Told& /*told*/) {
  int width = 0, height = 0, connectivity = 4;
  options->Read("width", &width);
  options->Read("height", &height);
  options->Read("connectivity", &connectivity);
  options->CheckEmpty();
  const std::vector<Edge> edges = GridEdges(width, height, connectivity, 1.0);
  Matrix<std::int32_t> ends(edges.size(), 2);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    ends(e, 0) = edges[e].a;
    ends(e, 1) = edges[e].b;
  }
  return ValuesOf(std::move(ends));
}

Found FindMatchingCosts(Options* options, Arrays arrays, const Told& /*told*/) {
  const HeldView left(ArrayAt(arrays, 0));
  const HeldView right(ArrayAt(arrays, 1));
  std::string kind = "ad";
  options->Read("kind", &kind);
  MatchingOptions matching = ParseMatchingKind(kind);
  int disparities = 0;
  options->Read("disparities", &disparities);
  if (disparities == 0) disparities = GuessDisparities(left.view, right.view);
  options->Read("truncate", &matching.truncate);
  options->Read("factor", &matching.factor);
  options->CheckEmpty();
  const auto height = static_cast<std::size_t>(left.view.height);
  const auto width = static_cast<std::size_t>(left.view.width);
  return ValuesOf(MatchingCosts(left.view, right.view, disparities, matching),
                  {height, width, static_cast<std::size_t>(disparities)});
}

// What a stereo pair says: several arrays of the shape of the views.
class StereoObject final : public sm_object {
 public:
  StereoObject(const StereoView& left, const StereoView& right, const StereoGiven& given,
               Options* options)
      : height_(static_cast<std::size_t>(left.height)),
        width_(static_cast<std::size_t>(left.width)) {
    StereoMatchOptions matching{.given = given};
    options->Read("disparities", &matching.disparities);
    options->Read("fast", &matching.fast);
    double share = 0.9;
    options->Read("share", &share);
    options->CheckEmpty();
    if (!(share > 0.0 && share < 1.0))
      throw InvalidInput(fmt::format("share is {}, expected a number between 0 and 1", share));
    match_ = MatchStereo(left, right, matching);
    if (matching.fast) return;
    marginals_ = std::move(std::get<Matrix<float>>(match_.solved.marginals));
    intervals_ = StereoIntervals(marginals_, match_.disparities, share);
  }

  Json Description() const override { return {{"kind", "values"}, {"labels", marginals_.cols()}}; }
  sm_array View(std::string_view name, std::size_t index) const override {
    if (index == 0 && name == "occluded") return ViewOf(match_.occluded.data(), {height_, width_});
    if (index == 0 && name == "raw") return ViewOf(match_.raw.data(), {height_, width_});
    if (index == 0 && name == "disparities")
      return ViewOf(match_.disparities.data(), {height_, width_});
    if (index == 0 && marginals_.size() > 0) {
      if (name == "uncertainty") return ViewOf(match_.uncertainty.data(), {height_, width_});
      if (name == "low") return ViewOf(intervals_.low.data(), {height_, width_});
      if (name == "high") return ViewOf(intervals_.high.data(), {height_, width_});
      if (name == "marginals")
        return ViewOf(marginals_.data(), {height_, width_, marginals_.cols()});
    }
    return sm_object::View(name, index);
  }

 private:
  std::size_t height_, width_;
  StereoMatch match_;
  DisparityIntervals intervals_;
  Matrix<float> marginals_;
};

Found FindStereo(Options* options, Arrays arrays, const Told& /*told*/) {
  const HeldView left(ArrayAt(arrays, 0));
  const HeldView right(ArrayAt(arrays, 1));
  // Which of the arrays that follow are costs, low and high ends.
  std::array<std::vector<float>, 3> given;
  for (const auto& [name, values] :
       {std::pair("costs", &given[0]), std::pair("low", &given[1]), std::pair("high", &given[2])}) {
    int at = -1;
    options->Read(name, &at);
    if (at >= 0) *values = ToVector<float>(ArrayAt(arrays, static_cast<std::size_t>(at)), name);
  }
  return std::make_unique<StereoObject>(left.view, right.view,
                                        StereoGiven{given[0], given[1], given[2]}, options);
}

// Of a picture or volume, with the labels in the last axis. The pixels lie as in one block, whatever
// that axis is in memory.
struct PictureCosts {
  explicit PictureCosts(const sm_array* given) {
    const sm_array& costs = Checked(given, "costs");
    if (costs.dtype != SM_FLOAT32 || costs.ndim < 2)
      throw InvalidInput(
          "costs are of single precision and have the labels in the last of their axes");
    const std::vector<std::int64_t> strides = StridesOf(costs);
    const auto last = static_cast<std::size_t>(costs.ndim - 1);
    constexpr std::int64_t kSize = sizeof(float);
    values = static_cast<const float*>(costs.data);
    extent.assign(costs.shape, costs.shape + last);
    labels = static_cast<std::size_t>(costs.shape[last]);
    pixel_stride = strides[last - 1] / kSize;
    label_stride = strides[last] / kSize;
  }
  std::size_t pixels() const {
    std::size_t count = 1;
    for (const int side : extent) count *= static_cast<std::size_t>(side);
    return count;
  }
  const float* values = nullptr;
  std::vector<int> extent;
  std::size_t labels = 0;
  std::ptrdiff_t pixel_stride = 0;
  std::ptrdiff_t label_stride = 0;
};

Found FindParametersFor(Options* options, Arrays arrays, const Told& /*told*/) {
  options->CheckEmpty();
  const PictureCosts costs(ArrayAt(arrays, 0));
  return ValuesOf(ParametersJson(
      ParametersFor(costs.extent, ProfileOf(costs.values, costs.extent, costs.labels,
                                            costs.pixel_stride, costs.label_stride))));
}

Found FindCalibratedMarginals(Options* options, Arrays arrays, const Told& /*told*/) {
  options->CheckEmpty();
  const PictureCosts costs(ArrayAt(arrays, 0));
  auto marginals = ToMatrix<float>(ArrayAt(arrays, 1), "the marginals");
  if (marginals.rows() != costs.pixels() || marginals.cols() != costs.labels)
    throw InvalidInput(
        fmt::format("the marginals have {} rows of {}, expected {} of {} as the costs",
                    marginals.rows(), marginals.cols(), costs.pixels(), costs.labels));
  CalibrateMarginals(costs.values, costs.pixel_stride, costs.label_stride, costs.labels,
                     {marginals.data(), marginals.size()});
  return ValuesOf(std::move(marginals));
}

Found FindLatticeFactors(Options* options, Arrays arrays, const Told& /*told*/) {
  options->CheckEmpty();
  std::vector<double> factors = LatticeFactors(
      {.name = "features", .features = ToMatrix<double>(ArrayAt(arrays, 0), "the features")});
  const std::size_t size = factors.size();
  return ValuesOf(std::move(factors), {size});
}

Found FindParametersIn(Options* options, Arrays /*arrays*/, const Told& /*told*/) {
  std::string path;
  options->Read("path", &path);
  options->CheckEmpty();
  return ValuesOf(ParametersJson(ReadSegmentationParameters(path)));
}

Found FindColours(Options* options, Arrays arrays, const Told& /*told*/) {
  options->CheckEmpty();
  const sm_array* values = ArrayAt(arrays, 0);
  std::vector<std::uint8_t> bytes;
  for (const double value : ToVector<double>(values, "the values")) {
    for (const std::uint8_t sample : ColourMap(value)) bytes.push_back(sample);
  }
  std::vector<std::size_t> shape(values->shape, values->shape + values->ndim);
  if (shape.size() == SM_MAX_AXES) throw InvalidInput("the values have too many axes");
  shape.push_back(3);
  return ValuesOf(std::move(bytes), std::move(shape));
}

// Of a picture (height, width) or (height, width, channels), samples from 0 to 255.
Found FindSuperpixels(Options* options, Arrays arrays, const Told& /*told*/) {
  const HeldView picture(ArrayAt(arrays, 0));
  SuperpixelOptions slic;
  options->Read("size", &slic.size);
  options->Read("compactness", &slic.compactness);
  options->CheckEmpty();
  const StereoView& view = picture.view;
  std::vector<std::int32_t> regions =
      Superpixels({view.width, view.height, view.channels, picture.samples}, slic);
  return ValuesOf(std::move(regions),
                  {static_cast<std::size_t>(view.height), static_cast<std::size_t>(view.width)});
}

// What a text of the command's --superpixels says.
Found FindSuperpixelSpec(Options* options, Arrays /*arrays*/, const Told& /*told*/) {
  std::string text;
  options->Read("text", &text);
  options->CheckEmpty();
  const SuperpixelSpec spec = ParseSuperpixels(text);
  Json found = {{"gamma", spec.terms.gamma}, {"share", spec.terms.share}, {"file", spec.file}};
  if (spec.slic) {
    found["size"] = spec.slic->size;
    found["compactness"] = spec.slic->compactness;
  }
  return ValuesOf(std::move(found));
}

struct Function {
  std::string_view name;
  Found (*run)(Options* options, Arrays arrays, const Told& told);
};

constexpr Function kFunctions[] = {
    {"calibrated_marginals", &FindCalibratedMarginals},
    {"colour_map", &FindColours},
    {"compare_labels", &FindComparison},
    {"fit", &FindFit},
    {"grid_edges", &FindGridEdges},
    {"lattice_factors", &FindLatticeFactors},
    {"matching_costs", &FindMatchingCosts},
    {"parameters_for", &FindParametersFor},
    {"read_parameters", &FindParametersIn},
    {"stereo", &FindStereo},
    {"superpixel_spec", &FindSuperpixelSpec},
    {"superpixels", &FindSuperpixels},
};

const Function& FunctionOf(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Function& function : kFunctions) {
    if (function.name == name) return function;
    names.push_back(function.name);
  }
  RefuseName(name, names, "the function");
}

struct FilterObject final : public sm_object {
  FilterObject(Matrix<double> features, std::size_t max_bytes)
      : filter(std::move(features), max_bytes) {}
  Json Description() const override { return {{"kind", "filter"}}; }
  GaussianFilter filter;
};

}  // namespace

std::vector<std::string> FunctionNames() {
  std::vector<std::string> names;
  for (const Function& function : kFunctions) names.emplace_back(function.name);
  return names;
}

}  // namespace submarine::c_api

using namespace submarine::c_api;  // NOLINT(google-build-using-namespace)

sm_status sm_call(const char* function, const char* options, const sm_array* arrays,
                  size_t num_arrays, sm_watch watch, void* context, sm_object** found) {
  return Made(found, [&] {
    const Function& called = FunctionOf(Text(function, "the function"));
    for (std::size_t a = 0; a < num_arrays; ++a)
      Checked(&Given(arrays, "the arrays") + a, "an array");
    Options given(options);
    const Told told = [&](const std::string& doing) {
      const sm_record none{
          .k = -1, .seconds = NAN, .upper = NAN, .dual = NAN, .lower = NAN, .done = NAN};
      return watch == nullptr || watch(doing.c_str(), &none, context) == 0;
    };
    return called.run(&given, {arrays, num_arrays}, told);
  });
}

sm_status sm_filter(const sm_array* features, size_t max_bytes, sm_object** filter) {
  return Made(filter, [&] {
    return std::make_unique<FilterObject>(
        submarine::c_api::ToMatrix<double>(features, "the features"), max_bytes);
  });
}

sm_status sm_filter_apply(const sm_object* filter, const sm_array* x, sm_object** product) {
  return Made(product, [&] {
    return ValuesOf(As<FilterObject>(filter, "the filter").filter(ToMatrix<float>(x, "x")));
  });
}
