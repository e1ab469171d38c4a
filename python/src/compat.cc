// The engines below submarine.compat and submarine.torch: filters and their mean field with numpy's arrays.
#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "python/src/arrays.h"
#include "python/src/bind.h"
#include "submarine/submarine.h"

namespace submarine::python {
namespace {

constexpr std::array kNormalisations = {KernelNormalisation::kNone, KernelNormalisation::kBefore,
                                        KernelNormalisation::kAfter,
                                        KernelNormalisation::kSymmetric};

// Costs (labels, variables) of any kind; those that are already laid out in single precision are read where they are.
void SetUnary(FilteredMeanField& self, const py::array& costs) {
  if (py::isinstance<py::array_t<float, py::array::c_style>>(costs)) {
    const std::span<const float> values(static_cast<const float*>(costs.data()),
                                        static_cast<std::size_t>(costs.size()));
    const py::gil_scoped_release release;
    self.SetUnaryByLabel(values);
    return;
  }
  Matrix<float> rows = ToMatrix<float>(costs.attr("T").cast<py::array>());
  const py::gil_scoped_release release;
  self.SetUnary(std::move(rows));
}

KernelNormalisation ToNormalisation(std::size_t number) {
  if (number >= kNormalisations.size())
    throw InvalidInput(fmt::format("the normalisation is {}, expected 0 to 3", number));
  return kNormalisations[number];
}

void AddTerm(FilteredMeanField& self, const py::array& features, std::size_t normalisation,
             std::vector<float> compatibility) {
  const KernelNormalisation kind = ToNormalisation(normalisation);
  const Matrix<float> rows = ToMatrix<float>(features);
  const py::gil_scoped_release release;
  self.AddTerm(rows, kind, std::move(compatibility));
}

// The same with positions x / sigma_x, y / sigma_y and, where there is a picture (height, width, channels), its
// colours, each divided by its sigma in single precision.
void AddPictureTerm(FilteredMeanField& self, std::size_t width, std::size_t height,
                    const py::array_t<float, py::array::c_style | py::array::forcecast>& colours,
                    const std::vector<float>& sigma, std::size_t normalisation,
                    std::vector<float> compatibility) {
  const KernelNormalisation kind = ToNormalisation(normalisation);
  const std::size_t channels = sigma.size() - 2;
  const float* colour = colours.data();
  const py::gil_scoped_release release;
  Matrix<float> rows = Matrix<float>::Unset(width * height, sigma.size());
  float* row = rows.data();
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      *row++ = static_cast<float>(x) / sigma[0];
      *row++ = static_cast<float>(y) / sigma[1];
      for (std::size_t c = 0; c < channels; ++c) *row++ = *colour++ / sigma[2 + c];
    }
  }
  self.AddTerm(rows, kind, std::move(compatibility));
}

// One step in place on an array of shape (variables, labels).
void StepInPlace(const FilteredMeanField& self, py::array_t<float, py::array::c_style>& q) {
  Matrix<float> rows = ToMatrix<float>(q);
  {
    const py::gil_scoped_release release;
    FilteredMeanField::Workspace workspace;
    self.Step(&workspace, &rows);
  }
  CopyTo(q, ToArray(std::move(rows)));
}

py::array Filtered(const GaussianFilter& filter, const py::array& x) {
  const Matrix<float> rows = ToMatrix<float>(x);
  Matrix<float> product = [&] {
    const py::gil_scoped_release release;
    return filter(rows);
  }();
  return ToArray(std::move(product));
}

}  // namespace

void BindCompat(py::module_& m) {
  py::class_<GaussianFilter>(m, "Filter")
      .def(py::init([](const py::array& features, std::size_t max_bytes) {
             Matrix<double> rows = ToMatrix<double>(features);
             const py::gil_scoped_release release;
             return std::make_unique<GaussianFilter>(std::move(rows), max_bytes);
           }),
           py::arg("features"), py::arg("max_bytes"))
      .def("__call__", &Filtered, py::arg("x"));
  py::class_<FilteredMeanField>(m, "FilteredMeanField")
      .def(py::init<std::size_t, std::size_t, std::size_t>(), py::arg("variables"),
           py::arg("labels"), py::arg("max_bytes"))
      .def("set_threads", &FilteredMeanField::set_threads, py::arg("threads"))
      .def_property_readonly("num_terms", &FilteredMeanField::num_terms)
      .def("set_unary", &SetUnary)
      .def("add_term", &AddTerm)
      .def("add_picture_term", &AddPictureTerm)
      .def_property_readonly(
          "unary",
          [](const py::object& self) {
            const Matrix<float>& unary = self.cast<const FilteredMeanField&>().unary();
            return ReadOnlyViewOf(
                unary.data(),
                {static_cast<py::ssize_t>(unary.rows()), static_cast<py::ssize_t>(unary.cols())},
                self);
          })
      .def("start", [](const FilteredMeanField& self) { return ToArray(self.Start()); })
      .def("infer",
           [](const FilteredMeanField& self, int iterations) {
             Matrix<float> q = [&] {
               const py::gil_scoped_release release;
               return self.Infer(iterations);
             }();
             return ToArray(std::move(q));
           })
      .def("step", &StepInPlace)
      .def("divergence", [](const FilteredMeanField& self, const py::array& q) {
        const Matrix<float> rows = ToMatrix<float>(q);
        const py::gil_scoped_release release;
        return self.Divergence(rows);
      });
}

}  // namespace submarine::python
