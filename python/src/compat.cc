// The engines below submarine.compat and submarine.torch: filters and their mean field with numpy's arrays.
#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <memory>
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
      .def("set_unary",
           [](FilteredMeanField& self, const py::array& unary) {
             Matrix<float> costs = ToMatrix<float>(unary);
             const py::gil_scoped_release release;
             self.SetUnary(std::move(costs));
           })
      .def("add_term",
           [](FilteredMeanField& self, const py::array& features, std::size_t normalisation,
              std::vector<float> compatibility) {
             if (normalisation >= kNormalisations.size())
               throw InvalidInput(
                   fmt::format("the normalisation is {}, expected 0 to 3", normalisation));
             const Matrix<float> rows = ToMatrix<float>(features);
             const py::gil_scoped_release release;
             self.AddTerm(rows, kNormalisations[normalisation], std::move(compatibility));
           })
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
