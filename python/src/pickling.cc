#include "python/src/pickling.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "python/src/arrays.h"

namespace submarine::python {

py::tuple StateOf(const LabelSpace& labels) {
  std::vector<std::vector<int>> composite;
  for (int c = labels.num_labels(); c < labels.cuts->num_cuts(); ++c)
    composite.push_back(labels.cuts->set(c));
  py::list metrics;
  for (const LabelMetric& metric : labels.metrics) {
    metrics.append(py::make_tuple(metric.name, ToArray(Matrix<double>(metric.distance)),
                                  metric.length, metric.distortion));
  }
  return py::make_tuple(labels.num_labels(), composite, metrics);
}

LabelSpace LabelsFromState(const py::tuple& state) {
  LabelSpace labels;
  labels.cuts = std::make_shared<LabelCuts>(state[0].cast<int>(),
                                            state[1].cast<std::vector<std::vector<int>>>());
  for (const py::handle item : state[2].cast<py::list>()) {
    const auto metric = item.cast<py::tuple>();
    labels.metrics.push_back({metric[0].cast<std::string>(),
                              ToMatrix<double>(metric[1].cast<py::array>()),
                              metric[2].cast<std::vector<double>>(), metric[3].cast<double>()});
  }
  CheckLabelSpace(labels);
  return labels;
}

py::tuple StateOf(const GaussianKernel& kernel) {
  return py::make_tuple(kernel.name, ToArray(Matrix<double>(kernel.features)), kernel.weight,
                        kernel.scale, static_cast<int>(kernel.normalisation), kernel.scale_error,
                        kernel.scale_source, kernel.feature_error);
}

GaussianKernel KernelFromState(const py::tuple& state) {
  GaussianKernel kernel{.name = state[0].cast<std::string>(),
                        .features = ToMatrix<double>(state[1].cast<py::array>()),
                        .weight = state[2].cast<double>()};
  kernel.scale = state[3].cast<std::vector<double>>();
  kernel.normalisation = static_cast<KernelNormalisation>(state[4].cast<int>());
  kernel.scale_error = state[5].cast<double>();
  kernel.scale_source = state[6].cast<std::string>();
  kernel.feature_error = state[7].cast<double>();
  CheckKernel(kernel);
  return kernel;
}

}  // namespace submarine::python
