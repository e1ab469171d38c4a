// Solve() from Python: without the GIL, with callbacks and Ctrl-C.

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "python/src/arrays.h"
#include "python/src/bind.h"
#include "python/src/models.h"
#include "submarine/submarine.h"

namespace submarine::python {
namespace {

Method MethodByName(const std::string& name) {
  std::vector<std::string_view> names;
  for (const MethodInfo& info : Methods()) {
    if (info.name == name) return info.method;
    names.push_back(info.name);
  }
  RefuseName(name, names, "the method");
}

constexpr std::array<std::pair<std::string_view, bool>, 2> kHarmonicSteps = {
    {{"line-search", false}, {"harmonic", true}}};
// The value of a name in a table of Python's own.
template <class Value>
Value Named(std::string_view text, NameTable<Value> table, std::string_view what) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : table) {
    if (name == text) return value;
    names.push_back(name);
  }
  RefuseName(text, names, what);
}

// Takes options out of a dict, so that unknown ones can be named.
class OptionReader {
 public:
  explicit OptionReader(py::dict options) : options_(std::move(options)) {}

  template <class T>
  void Read(const char* name, T* value) {
    if (!options_.contains(name)) return;
    const py::object given = options_.attr("pop")(name);
    if (given.is_none()) return;
    try {
      *value = given.cast<T>();
    } catch (const py::cast_error&) {
      throw InvalidInput(fmt::format("{} cannot be {}", name, std::string(py::repr(given))));
    }
  }
  std::optional<std::string> ReadName(const char* name) {
    std::optional<std::string> value;
    Read(name, &value);
    return value;
  }
  void CheckEmpty() const {
    if (options_.empty()) return;
    const auto first = options_.begin()->first.cast<std::string>();
    throw InvalidInput(fmt::format("there is no option {}", first));
  }

 private:
  py::dict options_;
};

SolveOptions ToOptions(const py::dict& given) {
  OptionReader reader{py::dict(given.attr("copy")())};
  SolveOptions options;
  if (const auto name = reader.ReadName("method")) options.method = MethodByName(*name);
  reader.Read("temperature", &options.temperature);
  reader.Read("gap", &options.limits.gap);
  reader.Read("max_iterations", &options.limits.max_iterations);
  reader.Read("updates", &options.dense.updates);
  reader.Read("time_limit", &options.limits.time_limit_seconds);
  std::optional<double> gigabytes;
  reader.Read("max_memory", &gigabytes);
  if (gigabytes)
    options.limits.max_bytes = std::max<std::size_t>(1, static_cast<std::size_t>(1e9 * *gigabytes));
  reader.Read("deterministic", &options.limits.deterministic);
  reader.Read("expectations", &options.expectations);
  reader.Read("threads", &options.limits.threads);
  if (const auto name = reader.ReadName("extension"))
    options.sparse.extension = ByName<ExtensionKind>(*name, "extension");
  reader.Read("rho_steps", &options.sparse.rho_steps);
  if (const auto name = reader.ReadName("mean_field"))
    options.sparse.mean_field = ByName<MeanFieldKind>(*name, "mean_field");
  reader.Read("rounding", &options.sparse.rounding_draws);
  reader.Read("starts", &options.sparse.starts);
  reader.Read("seed", &options.sparse.seed);
  if (const auto name = reader.ReadName("step"))
    options.harmonic_steps = Named<bool>(*name, kHarmonicSteps, "step");
  if (const auto name = reader.ReadName("pairs"))
    options.dense.pairs.kind = ByName<OperatorKind>(*name, "pairs");
  reader.Read("cutoff", &options.dense.pairs.cutoff);
  reader.Read("levels", &options.dense.pairs.lattice.levels);
  if (const auto name = reader.ReadName("certify"))
    options.dense.certify = ByName<Certify>(*name, "certify");
  if (const auto name = reader.ReadName("marginals_of"))
    options.dense.marginals = ByName<DenseMarginals>(*name, "marginals_of");
  reader.CheckEmpty();
  return options;
}

template <class T>
py::object OrNone(const std::optional<T>& value) {
  return value ? py::object(py::float_(static_cast<double>(*value))) : py::object(py::none());
}

py::tuple ToTuple(const SolveRecord& record) {
  return py::make_tuple(record.k, record.seconds, OrNone(record.upper), OrNone(record.dual),
                        OrNone(record.lower), OrNone(record.done));
}

// Connects the solver, which runs without the GIL, to Python: the callback and Ctrl-C.
class PythonWatch {
 public:
  explicit PythonWatch(py::object callback) : callback_(std::move(callback)) {}

  bool operator()(std::string_view phase, const SolveRecord& record) {
    const py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) {
      KeepError();
      return false;
    }
    if (callback_.is_none()) return true;
    try {
      const py::object answer = callback_(std::string(phase), ToTuple(record));
      return !answer.is(py::bool_(false));
    } catch (py::error_already_set& error) {
      error.restore();
      KeepError();
      return false;
    }
  }

  bool interrupted() const { return interrupted_; }
  // Raises the exception of the callback again.
  void RaiseAgain() {
    if (!error_) return;
    const std::unique_ptr<py::error_already_set> error = std::move(error_);
    throw py::error_already_set(*error);
  }

 private:
  void KeepError() {
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0) {
      PyErr_Clear();
      interrupted_ = true;
    } else if (!error_) {
      error_ = std::make_unique<py::error_already_set>();
    } else {
      PyErr_Clear();
    }
  }

  py::object callback_;
  std::unique_ptr<py::error_already_set> error_;
  bool interrupted_ = false;
};

py::object MarginalsOf(MarginalRows* rows) {
  if (auto* wide = std::get_if<Matrix<double>>(rows)) return ToArray(std::move(*wide));
  if (auto* narrow = std::get_if<Matrix<float>>(rows)) return ToArray(std::move(*narrow));
  py::list lists;
  for (std::vector<double>& row : std::get<std::vector<std::vector<double>>>(*rows))
    lists.append(ToArray(std::move(row)));
  return lists;
}

// What expectations are proven from; the arrays of a result belong to Python.
class Expectations {
 public:
  explicit Expectations(SolveResult* result) {
    kept_.termination = result->termination;
    kept_.certificate = result->certificate;
    kept_.tilted = std::move(result->tilted);
    kept_.mean_field = std::move(result->mean_field);
    if (result->termination == Termination::kExact) kept_.marginals = result->marginals;
  }

  py::tuple Of(const py::array& values) const {
    const Matrix<double> matrix = ToMatrix<double>(values);
    return Computed([&] { return ExpectationOf(kept_, matrix); });
  }
  py::list Areas(const py::array& mask) const {
    const std::vector<char> in = ToVector<char>(mask);
    std::vector<Expectation> areas;
    {
      const py::gil_scoped_release release;
      areas = AreasOf(kept_, in);
    }
    py::list list;
    for (const Expectation& area : areas) list.append(ToTuple(area));
    return list;
  }
  py::tuple Agreement(const py::array& labels) const {
    const std::vector<int> given = ToVector<int>(labels);
    return Computed([&] { return AgreementOf(kept_, given); });
  }
  py::tuple Probability(std::size_t variable, int label) const {
    return Computed([&] { return ProbabilityOf(kept_, variable, label); });
  }

 private:
  static py::tuple ToTuple(const Expectation& found) {
    return py::make_tuple(found.lower.value(), found.upper.value(), found.credible_lower.value(),
                          found.credible_upper.value(), OrNone(found.claimed));
  }
  template <class Compute>
  static py::tuple Computed(const Compute& compute) {
    std::optional<Expectation> found;
    {
      const py::gil_scoped_release release;
      found = compute();
    }
    return ToTuple(*found);
  }

  SolveResult kept_;
};

py::dict ToDict(SolveResult result, bool interrupted) {
  py::dict dict;
  if (result.tilted) dict["proof"] = py::cast(Expectations(&result));
  const Certificate& certificate = result.certificate;
  dict["termination"] = std::string(ToString(result.termination));
  dict["method"] = std::string(ToString(result.method));
  dict["model"] = certificate.model;
  dict["extension"] = certificate.extension;
  dict["temperature"] = certificate.temperature;
  dict["lower"] = OrNone(certificate.lower);
  dict["upper"] = OrNone(certificate.upper);
  dict["dual"] = OrNone(certificate.dual);
  const auto provenance = [](const std::optional<Bound>& bound) {
    return bound ? py::object(py::str(std::string(ToString(bound->provenance()))))
                 : py::object(py::none());
  };
  dict["lower_provenance"] = provenance(certificate.lower);
  dict["upper_provenance"] = provenance(certificate.upper);
  dict["dual_provenance"] = provenance(certificate.dual);
  dict["energy_provenance"] = provenance(result.energy);
  dict["defect"] = certificate.defect;
  dict["energy"] = OrNone(result.energy);
  py::list records;
  for (const SolveRecord& record : result.records) records.append(ToTuple(record));
  dict["records"] = records;
  dict["notes"] = result.notes;
  dict["pairs"] = result.pairs;
  dict["seconds"] = result.seconds;
  dict["estimated_bytes"] = result.estimated_bytes;
  dict["labels"] = ToArray(std::move(result.labels));
  dict["marginals"] = MarginalsOf(&result.marginals);
  dict["interrupted"] = interrupted;
  return dict;
}

template <class Model>
py::dict RunSolve(const Model& model, const py::dict& given, py::object callback) {
  const SolveOptions options = ToOptions(given);
  PythonWatch watch(std::move(callback));
  SolveResult result;
  try {
    const py::gil_scoped_release release;
    result = Solve(model, options, [&](std::string_view phase, const SolveRecord& record) {
      return watch(phase, record);
    });
  } catch (const Interrupted&) {
    watch.RaiseAgain();
    if (!watch.interrupted()) throw;
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw py::error_already_set();
  }
  watch.RaiseAgain();
  return ToDict(std::move(result), watch.interrupted());
}

py::list MethodTable() {
  py::list table;
  for (const MethodInfo& info : Methods()) {
    table.append(py::make_tuple(std::string(info.name), std::string(info.help), info.sparse,
                                info.tables, info.dense));
  }
  return table;
}

}  // namespace

void BindSolve(py::module_& m) {
  m.def("methods", &MethodTable);
  m.def("solve", &RunSolve<SparseCrf>, py::arg("model"), py::arg("options"), py::arg("callback"));
  m.def("solve", &RunSolve<FactorGraph>, py::arg("model"), py::arg("options"), py::arg("callback"));
  m.def(
      "solve",
      [](const DenseModel& model, const py::dict& options, py::object callback) {
        return RunSolve(model.model(), options, std::move(callback));
      },
      py::arg("model"), py::arg("options"), py::arg("callback"));
  m.def("default_memory", &DefaultMemory);
  py::class_<Expectations>(m, "Expectations")
      .def("of", &Expectations::Of, py::arg("values"))
      .def("areas", &Expectations::Areas, py::arg("mask"))
      .def("agreement", &Expectations::Agreement, py::arg("labels"))
      .def("probability", &Expectations::Probability, py::arg("variable"), py::arg("label"));
}

}  // namespace submarine::python
