// Mean field as pydensecrf makes it.
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "submarine/c_api/arrays.h"
#include "submarine/c_api/object.h"
#include "submarine/solver/mean_field/pydensecrf_mean_field.h"

namespace submarine::c_api {
namespace {

struct UpdatesObject final : public sm_object {
  UpdatesObject(std::size_t variables, std::size_t labels, std::size_t max_bytes)
      : updates(variables, labels, max_bytes) {}

  Json Description() const override {
    return {{"kind", "updates"}, {"num_terms", updates.num_terms()}};
  }
  sm_array View(std::string_view name, std::size_t index) const override {
    return name == "unary" && index == 0 ? ViewOf(updates.unary()) : sm_object::View(name, index);
  }

  PydensecrfMeanField updates;
};

PydensecrfMeanField& Updates(sm_object* object) {
  return As<UpdatesObject>(object, "the object of updates").updates;
}
const PydensecrfMeanField& Updates(const sm_object* object) {
  return As<UpdatesObject>(object, "the object of updates").updates;
}

KernelNormalisation ToNormalisation(int number) {
  constexpr std::array kNormalisations = {KernelNormalisation::kNone, KernelNormalisation::kBefore,
                                          KernelNormalisation::kAfter,
                                          KernelNormalisation::kSymmetric};
  if (number < 0 || static_cast<std::size_t>(number) >= kNormalisations.size())
    throw InvalidInput(fmt::format("the normalisation is {}, expected 0 to 3", number));
  return kNormalisations[static_cast<std::size_t>(number)];
}

// x / sigma for x = 0, 1, ..., count - 1.
std::vector<float> Scaled(std::size_t count, float sigma) {
  std::vector<float> scaled(count);
  for (std::size_t x = 0; x < count; ++x) scaled[x] = static_cast<float>(x) / sigma;
  return scaled;
}

// One row per pixel: x / sigma_x, y / sigma_y, colours / their sigmas. The few quotients of byte
// samples are looked up.
template <class Sample>
Matrix<float> PictureFeatures(std::size_t width, std::size_t height, const Sample* colours,
                              const std::vector<float>& sigma) {
  const std::size_t channels = sigma.size() - 2;
  const std::vector<float> column = Scaled(width, sigma[0]);
  const std::vector<float> line = Scaled(height, sigma[1]);
  std::vector<std::vector<float>> byte;
  if constexpr (std::is_same_v<Sample, std::uint8_t>) {
    for (std::size_t c = 0; c < channels; ++c) byte.push_back(Scaled(256, sigma[2 + c]));
  }
  Matrix<float> rows = Matrix<float>::Unset(width * height, sigma.size());
  float* row = rows.data();
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      row[0] = column[x];
      row[1] = line[y];
      for (std::size_t c = 0; c < channels; ++c) {
        if constexpr (std::is_same_v<Sample, std::uint8_t>) {
          row[2 + c] = byte[c][colours[c]];
        } else {
          row[2 + c] = colours[c] / sigma[2 + c];
        }
      }
      row += 2 + channels;
      colours += channels;
    }
  }
  return rows;
}

// Without a copy of samples that are bytes or floats without gaps.
Matrix<float> FeaturesOf(const sm_array& picture, const std::vector<float>& sigma) {
  if (picture.ndim != 3 || static_cast<std::size_t>(picture.shape[2]) + 2 != sigma.size())
    throw InvalidInput(
        "the picture has another shape than (height, width, channels), or the sigmas are not those "
        "of x, y and its channels");
  const auto height = static_cast<std::size_t>(picture.shape[0]);
  const auto width = static_cast<std::size_t>(picture.shape[1]);
  if (IsContiguous(picture) && picture.dtype == SM_UINT8)
    return PictureFeatures(width, height, static_cast<const std::uint8_t*>(picture.data), sigma);
  if (IsContiguous(picture) && picture.dtype == SM_FLOAT32)
    return PictureFeatures(width, height, static_cast<const float*>(picture.data), sigma);
  const auto samples = ToVector<float>(&picture, "the picture");
  return PictureFeatures(width, height, samples.data(), sigma);
}

}  // namespace
}  // namespace submarine::c_api

using namespace submarine::c_api;  // NOLINT(google-build-using-namespace)

sm_status sm_updates(size_t variables, size_t labels, size_t max_bytes, sm_object** updates) {
  return Made(updates,
              [&] { return std::make_unique<UpdatesObject>(variables, labels, max_bytes); });
}

sm_status sm_updates_set_threads(sm_object* updates, int threads) {
  return Guarded([&] { Updates(updates).set_threads(threads); });
}

sm_status sm_updates_set_unary(sm_object* updates, const sm_array* costs) {
  return Guarded([&] {
    const sm_array& given = Checked(costs, "the costs");
    if (given.dtype == SM_FLOAT32 && IsContiguous(given)) {
      return Updates(updates).SetUnaryByLabel(
          {static_cast<const float*>(given.data), SizeOf(given)});
    }
    const sm_array by_variable = Transposed(given);
    Updates(updates).SetUnary(ToMatrix<float>(&by_variable, "the costs"));
  });
}

sm_status sm_updates_add_term(sm_object* updates, const sm_array* features, int normalisation,
                              const sm_array* compatibility) {
  return Guarded([&] {
    const auto kind = ToNormalisation(normalisation);
    Updates(updates).AddTerm(ToMatrix<float>(features, "the features"), kind,
                             ToVector<float>(compatibility, "the compatibility"));
  });
}

sm_status sm_updates_add_picture(sm_object* updates, const sm_array* picture,
                                 const sm_array* sigmas, int normalisation,
                                 const sm_array* compatibility) {
  return Guarded([&] {
    const auto kind = ToNormalisation(normalisation);
    const auto features =
        FeaturesOf(Checked(picture, "the picture"), ToVector<float>(sigmas, "the sigmas"));
    Updates(updates).AddTerm(features, kind, ToVector<float>(compatibility, "the compatibility"));
  });
}

sm_status sm_updates_start(const sm_object* updates, sm_object** marginals) {
  return Made(marginals, [&] { return ValuesOf(Updates(updates).Start()); });
}

sm_status sm_updates_infer(sm_object* updates, int iterations, int last, sm_object** marginals) {
  return Made(marginals, [&] {
    return ValuesOf(last != 0 ? Updates(updates).InferLast(iterations)
                              : Updates(updates).Infer(iterations));
  });
}

sm_status sm_updates_step(const sm_object* updates, const sm_array* marginals,
                          sm_object** stepped) {
  return Made(stepped, [&] {
    auto rows = ToMatrix<float>(marginals, "the marginals");
    submarine::PydensecrfMeanField::Workspace workspace;
    Updates(updates).Step(&workspace, &rows);
    return ValuesOf(std::move(rows));
  });
}

sm_status sm_updates_divergence(const sm_object* updates, const sm_array* marginals,
                                double* divergence) {
  return Guarded([&] {
    Given(divergence, "the place for the divergence");
    *divergence = Updates(updates).Divergence(ToMatrix<float>(marginals, "the marginals"));
  });
}
