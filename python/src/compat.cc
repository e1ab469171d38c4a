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
#include "submarine/base/error.h"
#include "submarine/dense/filtered_mean_field.h"
#include "submarine/filter/lattice.h"

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

// A Gaussian filter without self terms, by the lattice: symmetric, so that it is its own transpose.
std::unique_ptr<LatticeOperator> MakeFilter(const py::array& features, std::size_t max_bytes) {
  GaussianKernel kernel{.name = "features", .features = ToMatrix<double>(features)};
  LatticeOptions options;
  options.max_bytes = max_bytes;
  const py::gil_scoped_release release;
  return std::make_unique<LatticeOperator>(kernel, options);
}

py::array Filtered(const LatticeOperator& filter, const py::array& x) {
  const Matrix<float> rows = ToMatrix<float>(x);
  Matrix<float> product(rows.rows(), rows.cols());
  {
    const py::gil_scoped_release release;
    filter.AddProduct(rows, 1.0F, &product);
  }
  return ToArray(std::move(product));
}

}  // namespace

void BindCompat(py::module_& m) {
  py::class_<LatticeOperator>(m, "Filter")
      .def(py::init(&MakeFilter), py::arg("features"), py::arg("max_bytes"))
      .def("__call__", &Filtered, py::arg("x"));
  py::class_<FilteredMeanField>(m, "FilteredMeanField")
      .def(py::init<std::size_t, std::size_t, std::size_t>(), py::arg("variables"),
           py::arg("labels"), py::arg("max_bytes"))
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
