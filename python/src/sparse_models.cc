// Label spaces, sparse models and factor graphs.
#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "python/src/arrays.h"
#include "python/src/bind.h"
#include "python/src/models.h"
#include "python/src/pickling.h"
#include "submarine/io/model/metric_spec.h"
#include "submarine/submarine.h"

namespace submarine::python {
namespace {

Labels LabelsFromSpec(const std::string& spec, int num_labels, const std::string& directory) {
  Labels labels;
  labels.space = ParseMetricSpec(spec, num_labels, false, &labels.warnings, directory);
  return labels;
}

Labels LabelsFromTables(const std::vector<py::array>& tables) {
  std::vector<Matrix<double>> distances;
  distances.reserve(tables.size());
  for (const py::array& table : tables) distances.push_back(ToMatrix<double>(table));
  const py::gil_scoped_release release;
  return {FitMetrics(distances), {}};
}

std::vector<Edge> ToEdges(const py::array& ends, const py::array& weights,
                          const py::array& metrics) {
  const auto end = ToVector<std::int32_t>(ends);
  const auto weight = ToVector<double>(weights);
  const auto metric = ToVector<std::int32_t>(metrics);
  const std::size_t count = end.size() / 2;
  if (weight.size() != count || (!metric.empty() && metric.size() != count)) {
    throw InvalidInput(fmt::format("there are {} weights and {} metric numbers for {} edges",
                                   weight.size(), metric.size(), count));
  }
  std::vector<Edge> edges(count);
  for (std::size_t e = 0; e < count; ++e) {
    edges[e] = {end[2 * e], end[2 * e + 1], weight[e], metric.empty() ? 0 : metric[e]};
  }
  return edges;
}

std::shared_ptr<SparseCrf> MakeSparse(const py::array& unary, const py::array& ends,
                                      const py::array& weights, const py::array& metrics,
                                      const Labels& labels, double constant) {
  Matrix<double> costs = ToMatrix<double>(unary);
  std::vector<Edge> edges = ToEdges(ends, weights, metrics);
  const py::gil_scoped_release release;
  return std::make_shared<SparseCrf>(std::move(costs), std::move(edges), labels.space, constant);
}

template <class T, class Get>
py::array EdgeValues(const SparseCrf& model, const Get& get) {
  std::vector<T> values;
  values.reserve(model.num_edges());
  for (const Edge& edge : model.edges()) values.push_back(static_cast<T>(get(edge)));
  return ToArray(std::move(values));
}

py::array EdgeEnds(const SparseCrf& model) {
  Matrix<std::int32_t> ends(model.num_edges(), 2);
  for (std::size_t e = 0; e < model.num_edges(); ++e) {
    ends(e, 0) = model.edges()[e].a;
    ends(e, 1) = model.edges()[e].b;
  }
  return ToArray(std::move(ends));
}

std::shared_ptr<FactorGraph> MakeGraph(std::vector<int> cardinality,
                                       const std::vector<std::vector<int>>& scopes,
                                       const std::vector<py::array>& energies) {
  auto graph = std::make_shared<FactorGraph>();
  graph->cardinality = std::move(cardinality);
  graph->factors.resize(scopes.size());
  if (energies.size() != scopes.size()) {
    throw InvalidInput(
        fmt::format("there are {} tables for {} scopes", energies.size(), scopes.size()));
  }
  for (std::size_t f = 0; f < scopes.size(); ++f) {
    graph->factors[f] = {scopes[f], ToVector<double>(energies[f])};
  }
  Validate(*graph);
  return graph;
}

// The plain sum, once the verifier has checked that it is a labeling.
double EnergyOf(const SparseCrf& model, const std::vector<int>& labels) {
  EnergyBound(model, labels);
  return model.Energy(labels);
}
double EnergyOf(const FactorGraph& graph, const std::vector<int>& labels) {
  EnergyBound(graph, labels);
  return Energy(graph, labels);
}

void BindLabels(py::module_& m) {
  py::class_<Labels, std::shared_ptr<Labels>>(m, "Labels")
      .def_static("from_spec", &LabelsFromSpec, py::arg("spec"), py::arg("num_labels"),
                  py::arg("directory") = "")
      .def_static("from_tables", &LabelsFromTables, py::arg("tables"))
      .def_readonly("warnings", &Labels::warnings)
      .def(py::pickle([](const Labels& labels) { return StateOf(labels.space); },
                      [](const py::tuple& state) {
                        return std::make_shared<Labels>(Labels{LabelsFromState(state)});
                      }))
      .def_property_readonly("num_labels",
                             [](const Labels& labels) { return labels.space.num_labels(); })
      .def_property_readonly("exact", [](const Labels& labels) { return labels.space.exact(); })
      .def_property_readonly("names",
                             [](const Labels& labels) {
                               std::vector<std::string> names;
                               for (const LabelMetric& metric : labels.space.metrics)
                                 names.push_back(metric.name);
                               return names;
                             })
      .def_property_readonly("distances",
                             [](const Labels& labels) {
                               py::list distances;
                               for (const LabelMetric& metric : labels.space.metrics)
                                 distances.append(ToArray(Matrix<double>(metric.distance)));
                               return distances;
                             })
      // S_c as rows of zeros and ones.
      .def_property_readonly("cuts",
                             [](const Labels& labels) {
                               const LabelCuts& cuts = *labels.space.cuts;
                               Matrix<double> member(static_cast<std::size_t>(cuts.num_cuts()),
                                                     static_cast<std::size_t>(cuts.num_labels()));
                               for (int c = 0; c < cuts.num_cuts(); ++c) {
                                 for (const int label : cuts.set(c))
                                   member.row(static_cast<std::size_t>(c))[label] = 1.0;
                               }
                               return ToArray(std::move(member));
                             })
      .def_property_readonly("lengths",
                             [](const Labels& labels) {
                               py::list lengths;
                               for (const LabelMetric& metric : labels.space.metrics)
                                 lengths.append(ToArray(std::vector<double>(metric.length)));
                               return lengths;
                             })
      .def_property_readonly("distortions", [](const Labels& labels) {
        std::vector<double> distortions;
        for (const LabelMetric& metric : labels.space.metrics)
          distortions.push_back(metric.distortion);
        return distortions;
      });
}

}  // namespace

void BindModels(py::module_& m) {
  BindLabels(m);
  m.def(
      "grid_edges",
      [](int width, int height, int connectivity) {
        const std::vector<Edge> edges = GridEdges(width, height, connectivity, 1.0);
        Matrix<std::int32_t> ends(edges.size(), 2);
        for (std::size_t e = 0; e < edges.size(); ++e) {
          ends(e, 0) = edges[e].a;
          ends(e, 1) = edges[e].b;
        }
        return ToArray(std::move(ends));
      },
      py::arg("width"), py::arg("height"), py::arg("connectivity"));

  py::class_<SparseCrf, std::shared_ptr<SparseCrf>>(m, "SparseModel")
      .def(py::init(&MakeSparse), py::arg("unary"), py::arg("edges"), py::arg("weights"),
           py::arg("metrics"), py::arg("labels"), py::arg("constant"))
      .def_property_readonly("num_variables", &SparseCrf::num_variables)
      .def_property_readonly("num_labels", &SparseCrf::num_labels)
      .def_property_readonly("constant", &SparseCrf::constant)
      .def_property_readonly("labels",
                             [](const SparseCrf& model) { return Labels{model.labels()}; })
      .def_property_readonly("unary",
                             [](const py::object& self) {
                               const Matrix<double>& unary = self.cast<const SparseCrf&>().unary();
                               return ReadOnlyViewOf(unary.data(),
                                                     {static_cast<py::ssize_t>(unary.rows()),
                                                      static_cast<py::ssize_t>(unary.cols())},
                                                     self);
                             })
      .def_property_readonly("edges", &EdgeEnds)
      .def_property_readonly("weights",
                             [](const SparseCrf& model) {
                               return EdgeValues<double>(model,
                                                         [](const Edge& e) { return e.weight; });
                             })
      .def_property_readonly("edge_metrics",
                             [](const SparseCrf& model) {
                               return EdgeValues<std::int32_t>(
                                   model, [](const Edge& e) { return e.metric; });
                             })
      .def("energy", [](const SparseCrf& model,
                        const py::array& labels) { return EnergyOf(model, ToVector<int>(labels)); })
      .def("lower_bound",
           [](const SparseCrf& model, const py::array& marginals, double temperature) {
             const Matrix<double> y = ToMatrix<double>(marginals);
             const py::gil_scoped_release release;
             return LowerBoundAt(model, y, temperature).value();
           })
      .def("description", &SparseCrf::Description)
      .def(py::pickle(
          [](const py::object& self) {
            return py::make_tuple(self.attr("unary"), self.attr("edges"), self.attr("weights"),
                                  self.attr("edge_metrics"),
                                  StateOf(self.cast<const SparseCrf&>().labels()),
                                  self.attr("constant"));
          },
          [](const py::tuple& state) {
            const Labels labels{LabelsFromState(state[4].cast<py::tuple>())};
            return MakeSparse(state[0].cast<py::array>(), state[1].cast<py::array>(),
                              state[2].cast<py::array>(), state[3].cast<py::array>(), labels,
                              state[5].cast<double>());
          }));

  py::class_<FactorGraph, std::shared_ptr<FactorGraph>>(m, "FactorModel")
      .def(py::init(&MakeGraph), py::arg("cardinality"), py::arg("scopes"), py::arg("energies"))
      .def_readonly("cardinality", &FactorGraph::cardinality)
      .def_property_readonly("num_factors",
                             [](const FactorGraph& graph) { return graph.factors.size(); })
      .def("factor",
           [](const FactorGraph& graph, std::size_t f) {
             const Factor& factor = graph.factors.at(f);
             Shape shape;
             for (const int a : factor.scope)
               shape.push_back(graph.cardinality[static_cast<std::size_t>(a)]);
             return py::make_tuple(py::cast(factor.scope),
                                   ToArray(std::vector<double>(factor.energy), shape));
           })
      .def("energy", [](const FactorGraph& graph,
                        const py::array& labels) { return EnergyOf(graph, ToVector<int>(labels)); })
      .def(py::pickle(
          [](const FactorGraph& graph) {
            std::vector<std::vector<int>> scopes;
            py::list energies;
            for (const Factor& factor : graph.factors) {
              scopes.push_back(factor.scope);
              energies.append(ToArray(std::vector<double>(factor.energy)));
            }
            return py::make_tuple(graph.cardinality, scopes, energies);
          },
          [](const py::tuple& state) {
            return MakeGraph(state[0].cast<std::vector<int>>(),
                             state[1].cast<std::vector<std::vector<int>>>(),
                             state[2].cast<std::vector<py::array>>());
          }));
}

}  // namespace submarine::python
