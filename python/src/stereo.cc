// Matching costs, disparities and their evaluation.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <vector>

#include "python/src/arrays.h"
#include "python/src/bind.h"
#include "submarine/submarine.h"

namespace submarine::python {
namespace {

// Samples of a picture of shape (height, width) or (height, width, channels), kept alive with the
// view.
struct HeldView {
  explicit HeldView(const py::array& image) : samples(ToVector<float>(image)) {
    if (image.ndim() != 2 && image.ndim() != 3)
      throw InvalidInput("a view has shape (height, width) or (height, width, channels)");
    view = {static_cast<int>(image.shape(1)), static_cast<int>(image.shape(0)),
            image.ndim() == 3 ? static_cast<int>(image.shape(2)) : 1, samples};
  }
  std::vector<float> samples;
  StereoView view;
};

py::array Costs(const py::array& left, const py::array& right, int disparities,
                const std::string& kind, double truncate, double factor) {
  const HeldView held_left(left);
  const HeldView held_right(right);
  MatchingOptions options = ParseMatchingKind(kind);
  options.truncate = truncate;
  options.factor = factor;
  Matrix<float> costs = [&] {
    const py::gil_scoped_release release;
    return MatchingCosts(held_left.view, held_right.view, disparities, options);
  }();
  const Shape shape = {left.shape(0), left.shape(1), disparities};
  return ToArray(std::move(costs), shape);
}

}  // namespace

void BindStereo(py::module_& m) {
  m.def("matching_costs", &Costs, py::arg("left"), py::arg("right"), py::arg("disparities"),
        py::arg("kind"), py::arg("truncate"), py::arg("factor"));
  m.def("guess_disparities", [](const py::array& left, const py::array& right) {
    return GuessDisparities(HeldView(left).view, HeldView(right).view);
  });
  m.def("refined_disparities", [](const py::array& marginals, const py::array& labels) {
    return ToArray(RefinedDisparities(ToMatrix<float>(marginals), ToVector<int>(labels)));
  });
}

}  // namespace submarine::python
