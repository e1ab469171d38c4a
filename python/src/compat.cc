// The C++ side of submarine.compat and submarine.torch: filters and their mean field on numpy
// arrays.
#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
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

// Costs (labels, variables) of any dtype; contiguous single-precision arrays are read without a
// copy.
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

// The same with positions and, if there is a picture (height, width, channels), its colours, each
// divided by its sigma in single precision.
void AddPictureTerm(FilteredMeanField& self, std::size_t width, std::size_t height,
                    const py::array& colours, const std::vector<float>& sigma,
                    std::size_t normalisation, std::vector<float> compatibility) {
  const KernelNormalisation kind = ToNormalisation(normalisation);
  const auto add = [&](const auto& samples) {
    const auto* first = samples.data();
    const py::gil_scoped_release release;
    self.AddTerm(PictureFeatures(width, height, first, sigma), kind, std::move(compatibility));
  };
  if (py::isinstance<py::array_t<std::uint8_t, py::array::c_style>>(colours)) {
    add(py::array_t<std::uint8_t, py::array::c_style>(colours));
  } else {
    add(py::array_t<float, py::array::c_style | py::array::forcecast>(colours));
  }
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
      .def(
          "infer",
          [](FilteredMeanField& self, int iterations, bool last) {
            Matrix<float> q = [&] {
              const py::gil_scoped_release release;
              return last ? self.InferLast(iterations) : self.Infer(iterations);
            }();
            return ToArray(std::move(q));
          },
          py::arg("iterations"), py::arg("last"))
      .def("step", &StepInPlace)
      .def("divergence", [](const FilteredMeanField& self, const py::array& q) {
        const Matrix<float> rows = ToMatrix<float>(q);
        const py::gil_scoped_release release;
        return self.Divergence(rows);
      });
}

}  // namespace submarine::python
