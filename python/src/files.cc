// Reading and writing models.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/src/arrays.h"
#include "python/src/bind.h"
#include "python/src/models.h"
#include "submarine/io/image/colour_map.h"
#include "submarine/io/model/dense_bundle.h"
#include "submarine/io/model/fg.h"
#include "submarine/io/model/grid_bundle.h"
#include "submarine/io/model/uai.h"
#include "submarine/io/segmentation/segmentation_parameters.h"
#include "submarine/submarine.h"

namespace submarine::python {
namespace {

// (kind, model, width, height, depth, warnings)
py::tuple ReadAnyBundle(const std::string& path) {
  const std::string kind = ReadBundleKind(path);
  if (kind == "dense") {
    LoadedDense loaded = [&] {
      const py::gil_scoped_release release;
      return ReadDenseBundle(path);
    }();
    return py::make_tuple(kind, std::make_shared<DenseModel>(std::move(loaded.model)), loaded.width,
                          loaded.height, loaded.depth, loaded.warnings);
  }
  LoadedModel loaded = [&] {
    const py::gil_scoped_release release;
    return ReadBundle(path);
  }();
  return py::make_tuple(kind, std::make_shared<SparseCrf>(std::move(loaded.model)), loaded.width,
                        loaded.height, 0, loaded.warnings);
}

DenseKernelSpec ToKernelSpec(const py::dict& given) {
  DenseKernelSpec spec;
  const auto type = given["type"].cast<std::string>();
  spec.type = type == "position"    ? DenseKernelType::kPosition
              : type == "bilateral" ? DenseKernelType::kBilateral
                                    : DenseKernelType::kFeatures;
  spec.sigma = given["sigma"].cast<std::vector<double>>();
  spec.colour_sigma = given["colour_sigma"].cast<std::vector<double>>();
  spec.weight = given["weight"].cast<double>();
  spec.normalisation = given["normalised"].cast<bool>() ? KernelNormalisation::kSymmetric
                                                        : KernelNormalisation::kNone;
  if (spec.type == DenseKernelType::kFeatures)
    spec.features = ToMatrix<double>(given["features"].cast<py::array>());
  return spec;
}

void WriteDense(const std::string& path, const DenseModel& model, const std::vector<int>& size,
                const std::string& metric, bool ordered, int channels, const py::array& image,
                const std::vector<py::dict>& kernels) {
  DenseSpec spec;
  if (size.size() >= 2) {
    spec.width = size[0];
    spec.height = size[1];
    spec.depth = size.size() > 2 ? size[2] : 0;
  }
  spec.unary = model.model().unary();
  spec.metric = metric;
  spec.counting = ordered ? PairCounting::kOrdered : PairCounting::kOnce;
  spec.constant = model.model().constant();
  spec.channels = channels;
  spec.image = ToVector<float>(image);
  for (const py::dict& kernel : kernels) spec.kernels.push_back(ToKernelSpec(kernel));
  const py::gil_scoped_release release;
  WriteDenseBundle(path, spec);
}

std::shared_ptr<FactorGraph> ReadGraph(const std::string& path, const std::string& evidence) {
  const py::gil_scoped_release release;
  auto graph = std::make_shared<FactorGraph>(path.ends_with(".fg") ? ReadFg(path) : ReadUai(path));
  if (!evidence.empty()) ApplyEvidence(*graph, ReadUaiEvidence(evidence));
  return graph;
}

py::dict ReadParameters(const std::string& path) {
  const SegmentationParameters parameters = ReadSegmentationParameters(path);
  py::dict dict;
  dict["position_sigma"] = parameters.position_sigma;
  dict["position_weight"] = parameters.position_weight;
  dict["bilateral_sigma"] = parameters.bilateral_sigma;
  dict["colour_sigma"] = parameters.colour_sigma;
  dict["bilateral_weight"] = parameters.bilateral_weight;
  dict["iterations"] = parameters.iterations;
  dict["normalised"] = parameters.normalisation == KernelNormalisation::kSymmetric;
  dict["softmax_temperature"] = parameters.softmax_temperature;
  return dict;
}

// The colour of every value, as bytes of shape (..., 3).
py::array ColoursOf(const py::array& values) {
  const std::vector<double> t = ToVector<double>(values);
  std::vector<std::uint8_t> bytes;
  bytes.reserve(3 * t.size());
  for (const double value : t) {
    for (const std::uint8_t sample : ColourMap(value)) bytes.push_back(sample);
  }
  Shape shape = ShapeOf(values);
  shape.push_back(3);
  return ToArray(std::move(bytes), shape);
}

}  // namespace

void BindFiles(py::module_& m) {
  m.def("read_bundle", &ReadAnyBundle, py::arg("path"));
  m.def(
      "write_grid",
      [](const std::string& path, const SparseCrf& model, int width, int height, int connectivity,
         const std::string& metric) {
        WriteGridBundle(path, model, width, height, connectivity, metric);
      },
      py::arg("path"), py::arg("model"), py::arg("width"), py::arg("height"),
      py::arg("connectivity"), py::arg("metric"));
  m.def(
      "write_graph",
      [](const std::string& path, const SparseCrf& model, const std::string& metric) {
        WriteGraphBundle(path, model, metric);
      },
      py::arg("path"), py::arg("model"), py::arg("metric"));
  m.def("write_dense", &WriteDense, py::arg("path"), py::arg("model"), py::arg("size"),
        py::arg("metric"), py::arg("ordered"), py::arg("channels"), py::arg("image"),
        py::arg("kernels"));
  m.def("read_segmentation_parameters", &ReadParameters, py::arg("path"));
  m.def("colour_map", &ColoursOf, py::arg("values"));
  m.def("read_graph", &ReadGraph, py::arg("path"), py::arg("evidence") = "");
  m.def("write_graph_uai",
        [](const std::string& path, const FactorGraph& graph) { WriteUai(path, graph); });
  m.def("write_sparse_uai", [](const std::string& path, const SparseCrf& model) {
    WriteUai(path, ToFactorGraph(model));
  });
}

}  // namespace submarine::python
