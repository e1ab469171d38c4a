// Solve() from Python: without the GIL, with callbacks and Ctrl-C.

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
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

// The value of an enum by its name, from ToString or the table.
template <class T, std::size_t kCount>
T ByName(const std::string& name, const std::array<std::pair<std::string_view, T>, kCount>& table,
         std::string_view what) {
  std::string names;
  for (const auto& [known, value] : table) {
    if (known == name) return value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known);
  }
  throw InvalidInput(fmt::format("{} is \"{}\", expected one of {}", what, name, names));
}

Method MethodByName(const std::string& name) {
  std::string names;
  for (const MethodInfo& info : Methods()) {
    if (info.name == name) return info.method;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", info.name);
  }
  throw InvalidInput(fmt::format("the method is \"{}\", expected one of {}", name, names));
}

constexpr std::array<std::pair<std::string_view, Certify>, 5> kCertify = {
    {{"auto", Certify::kAuto},
     {"exact", Certify::kExact},
     {"operator", Certify::kOperator},
     {"lower", Certify::kLower},
     {"none", Certify::kNone}}};
constexpr std::array<std::pair<std::string_view, OperatorKind>, 4> kOperators = {
    {{"auto", OperatorKind::kAuto},
     {"list", OperatorKind::kNeighbourList},
     {"lattice", OperatorKind::kLattice},
     {"brute-force", OperatorKind::kBruteForce}}};
constexpr std::array<std::pair<std::string_view, HybridForest>, 6> kForests = {
    {{"spanning", HybridForest::kSpanning},
     {"rows", HybridForest::kRows},
     {"columns", HybridForest::kColumns},
     {"best", HybridForest::kBest},
     {"average", HybridForest::kAverage},
     {"look-alikes", HybridForest::kLookAlikes}}};
constexpr std::array<std::pair<std::string_view, MeanFieldKind>, 2> kMeanFields = {
    {{"naive", MeanFieldKind::kNaive}, {"forest", MeanFieldKind::kForest}}};
constexpr std::array<std::pair<std::string_view, ExtensionKind>, 2> kExtensions = {
    {{"optimal", ExtensionKind::kOptimal}, {"alternate", ExtensionKind::kAlternate}}};
constexpr std::array<std::pair<std::string_view, DenseMarginals>, 4> kMarginals = {
    {{"upper-bound", DenseMarginals::kUpperBound},
     {"mean-field", DenseMarginals::kMeanField},
     {"mean", DenseMarginals::kMean},
     {"routed", DenseMarginals::kRouted}}};

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
      throw InvalidInput(
          fmt::format("the option {} cannot be {}", name, std::string(py::repr(given))));
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
  reader.Read("gap", &options.relative_gap);
  reader.Read("iterations", &options.max_iterations);
  reader.Read("classic_updates", &options.classic_updates);
  reader.Read("time_limit", &options.time_limit_seconds);
  reader.Read("max_bytes", &options.max_bytes);
  reader.Read("deterministic", &options.deterministic);
  reader.Read("threads", &options.threads);
  if (const auto name = reader.ReadName("extension"))
    options.extension = ByName(*name, kExtensions, "the extension");
  reader.Read("rho", &options.rho);
  reader.Read("rho_steps", &options.rho_steps);
  if (const auto name = reader.ReadName("forest"))
    options.forest = ByName(*name, kForests, "the forest");
  if (const auto name = reader.ReadName("mean_field"))
    options.mean_field = ByName(*name, kMeanFields, "the kind of mean field");
  reader.Read("rounding_draws", &options.rounding_draws);
  reader.Read("starts", &options.starts);
  reader.Read("seed", &options.seed);
  reader.Read("harmonic_steps", &options.harmonic_steps);
  if (const auto name = reader.ReadName("pairs"))
    options.pairs.kind = ByName(*name, kOperators, "the way of applying pairs");
  reader.Read("cutoff", &options.pairs.cutoff);
  reader.Read("levels", &options.pairs.lattice.levels);
  if (const auto name = reader.ReadName("certify"))
    options.certify = ByName(*name, kCertify, "certify");
  if (const auto name = reader.ReadName("marginals"))
    options.marginals = ByName(*name, kMarginals, "the kind of marginals");
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

py::dict ToDict(SolveResult result, bool interrupted) {
  py::dict dict;
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
}

}  // namespace submarine::python
