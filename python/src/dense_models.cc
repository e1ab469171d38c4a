// Gaussian kernels and dense models.
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
#include "python/src/models.h"
#include "python/src/pickling.h"
#include "submarine/submarine.h"

namespace submarine::python {
namespace {

KernelNormalisation ToNormalisation(const std::string& name) {
  if (name == "none") return KernelNormalisation::kNone;
  if (name == "symmetric") return KernelNormalisation::kSymmetric;
  throw InvalidInput(
      fmt::format("the normalisation of a kernel is \"{}\", expected none or symmetric", name));
}

using Kernel = std::shared_ptr<GaussianKernel>;

Kernel Share(GaussianKernel kernel) { return std::make_shared<GaussianKernel>(std::move(kernel)); }

// `size` is (width, height) or (width, height, depth), and so is sigma.
void CheckAxes(const std::vector<int>& size, const std::vector<double>& sigma) {
  if ((size.size() != 2 && size.size() != 3) || sigma.size() != size.size()) {
    throw InvalidInput(fmt::format("{} sigmas were given for {} axes", sigma.size(), size.size()));
  }
}

Kernel MakePosition(const std::vector<int>& size, const std::vector<double>& sigma, double weight) {
  CheckAxes(size, sigma);
  if (size.size() == 2) return Share(PositionKernel(size[0], size[1], sigma[0], sigma[1], weight));
  return Share(
      VolumePositionKernel(size[0], size[1], size[2], {sigma[0], sigma[1], sigma[2]}, weight));
}

template <class T>
Kernel BilateralFrom(const std::vector<int>& size, int channels, const py::array& image,
                     const std::vector<double>& sigma, const std::vector<double>& colour,
                     double weight) {
  const auto values = ToVector<T>(image);
  const py::gil_scoped_release release;
  if (size.size() == 2) {
    return Share(BilateralKernel(size[0], size[1], channels, std::span<const T>(values), sigma[0],
                                 sigma[1], colour, weight));
  }
  return Share(VolumeBilateralKernel(size[0], size[1], size[2], channels,
                                     std::span<const T>(values), {sigma[0], sigma[1], sigma[2]},
                                     colour, weight));
}

// Whether single precision holds the values without rounding, as for bytes; then they are read as
// floats.
bool FitsFloat(const py::array& values) {
  return values.itemsize() <= (values.dtype().kind() == 'f' ? 4 : 2);
}

Kernel MakeBilateral(const std::vector<int>& size, int channels, const py::array& image,
                     const std::vector<double>& sigma, const std::vector<double>& colour,
                     double weight) {
  CheckAxes(size, sigma);
  return FitsFloat(image) ? BilateralFrom<float>(size, channels, image, sigma, colour, weight)
                          : BilateralFrom<double>(size, channels, image, sigma, colour, weight);
}

Kernel MakeFeatures(const py::array& features, const std::vector<double>& sigmas, double weight,
                    const std::string& name) {
  return Share(FeatureKernel(ToMatrix<double>(features), sigmas, weight, name));
}

// Takes the kernels, so that their features are not copied.
std::shared_ptr<DenseModel> MakeDense(const py::array& unary, const std::vector<Kernel>& kernels,
                                      const std::vector<std::string>& normalisations,
                                      const Labels& labels, bool ordered, double constant) {
  if (normalisations.size() != kernels.size())
    throw InvalidInput(fmt::format("there are {} normalisations for {} kernels",
                                   normalisations.size(), kernels.size()));
  Matrix<float> costs = ToMatrix<float>(unary);
  const py::gil_scoped_release release;
  std::vector<GaussianKernel> taken;
  taken.reserve(kernels.size());
  for (std::size_t m = 0; m < kernels.size(); ++m) {
    taken.push_back(std::move(*kernels[m]));
    taken.back().normalisation = ToNormalisation(normalisations[m]);
  }
  return std::make_shared<DenseModel>(
      DenseCrf(std::move(costs), std::move(taken), labels.space,
               ordered ? PairCounting::kOrdered : PairCounting::kOnce, constant));
}

}  // namespace

void BindDense(py::module_& m) {
  py::class_<GaussianKernel, Kernel>(m, "Kernel")
      .def_static("position", &MakePosition, py::arg("size"), py::arg("sigma"), py::arg("weight"))
      .def_static("bilateral", &MakeBilateral, py::arg("size"), py::arg("channels"),
                  py::arg("image"), py::arg("sigma"), py::arg("colour_sigma"), py::arg("weight"))
      .def_static("features", &MakeFeatures, py::arg("features"), py::arg("sigmas"),
                  py::arg("weight"), py::arg("name"))
      .def_readonly("name", &GaussianKernel::name)
      .def_readonly("weight", &GaussianKernel::weight)
      .def_property_readonly("normalised",
                             [](const GaussianKernel& kernel) {
                               return kernel.normalisation != KernelNormalisation::kNone;
                             })
      .def(py::pickle([](const GaussianKernel& kernel) { return StateOf(kernel); },
                      [](const py::tuple& state) { return Share(KernelFromState(state)); }))
      .def_property_readonly("features_array", [](const py::object& self) {
        const Matrix<double>& features = self.cast<const GaussianKernel&>().features;
        return ReadOnlyViewOf(
            features.data(),
            {static_cast<py::ssize_t>(features.rows()), static_cast<py::ssize_t>(features.cols())},
            self);
      });

  // `costs` with the labels in the last axis; the others lie as in one block.
  m.def(
      "parameters_for",
      [](const std::vector<int>& extent, const py::array_t<float>& costs) {
        const auto last = costs.ndim() - 1;
        const auto size = static_cast<std::ptrdiff_t>(sizeof(float));
        const SegmentationParameters found = ParametersFor(
            extent, ProfileOf(costs.data(), extent, static_cast<std::size_t>(costs.shape(last)),
                              costs.strides(last - 1) / size, costs.strides(last) / size));
        return py::make_tuple(found.position_sigma, found.position_weight, found.bilateral_sigma,
                              found.colour_sigma, found.bilateral_weight);
      },
      py::arg("extent"), py::arg("costs"));
  py::class_<DenseModel, std::shared_ptr<DenseModel>>(m, "DenseModel")
      .def(py::init(&MakeDense), py::arg("unary"), py::arg("kernels"), py::arg("normalisations"),
           py::arg("labels"), py::arg("ordered"), py::arg("constant"))
      .def_property_readonly("num_variables",
                             [](const DenseModel& self) { return self.model().num_variables(); })
      .def_property_readonly("num_labels",
                             [](const DenseModel& self) { return self.model().num_labels(); })
      .def_property_readonly("constant",
                             [](const DenseModel& self) { return self.model().constant(); })
      .def_property_readonly("labels",
                             [](const DenseModel& self) { return Labels{self.model().labels()}; })
      .def_property_readonly(
          "unary",
          [](const py::object& self) {
            const Matrix<float>& unary = self.cast<const DenseModel&>().model().unary();
            return ReadOnlyViewOf(
                unary.data(),
                {static_cast<py::ssize_t>(unary.rows()), static_cast<py::ssize_t>(unary.cols())},
                self);
          })
      .def("energy",
           [](const DenseModel& self, const py::array& labels, double tolerance) {
             const auto labeling = ToVector<int>(labels);
             const py::gil_scoped_release release;
             return EnergyBound(self.Normalised(), labeling, tolerance).value();
           })
      .def("lower_bound",
           [](const DenseModel& self, const py::array& marginals, double temperature,
              double tolerance) {
             const auto y = ToMatrix<float>(marginals);
             const py::gil_scoped_release release;
             const DenseLowerBound point =
                 LowerBoundAt(self.Normalised(), y, temperature, tolerance);
             return std::pair(point.lower.value(), point.loss);
           })
      .def_property_readonly(
          "ordered",
          [](const DenseModel& self) { return self.model().counting() == PairCounting::kOrdered; })
      .def("kernels",
           [](const DenseModel& self) {
             std::vector<Kernel> kernels;
             for (const GaussianKernel& kernel : self.model().kernels())
               kernels.push_back(Share(kernel));
             return kernels;
           })
      .def("description", [](const DenseModel& self) { return self.model().Description(); })
      .def(py::pickle(
          [](const py::object& self) {
            const DenseCrf& model = self.cast<const DenseModel&>().model();
            py::list kernels;
            for (const GaussianKernel& kernel : model.kernels()) kernels.append(StateOf(kernel));
            return py::make_tuple(self.attr("unary"), kernels, StateOf(model.labels()),
                                  model.counting() == PairCounting::kOrdered, model.constant());
          },
          [](const py::tuple& state) {
            std::vector<GaussianKernel> kernels;
            for (const py::handle kernel : state[1].cast<py::list>())
              kernels.push_back(KernelFromState(kernel.cast<py::tuple>()));
            return std::make_shared<DenseModel>(
                DenseCrf(ToMatrix<float>(state[0].cast<py::array>()), std::move(kernels),
                         LabelsFromState(state[2].cast<py::tuple>()),
                         state[3].cast<bool>() ? PairCounting::kOrdered : PairCounting::kOnce,
                         state[4].cast<double>()));
          }));
}

}  // namespace submarine::python
