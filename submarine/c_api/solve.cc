#include "submarine/solve/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "submarine/base/names.h"
#include "submarine/c_api/arrays.h"
#include "submarine/c_api/functions.h"
#include "submarine/c_api/models.h"
#include "submarine/c_api/options.h"
#include "submarine/solve/method/expectations.h"

namespace submarine::c_api {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Method MethodByName(const std::string& name) {
  std::vector<std::string_view> names;
  for (const MethodInfo& info : Methods()) {
    if (info.name == name) return info.method;
    names.push_back(info.name);
  }
  RefuseName(name, names, "the method");
}

// A switch that has names of its own.
void ReadStep(Options* reader, bool* harmonic) {
  std::optional<std::string> name;
  reader->Read("step", &name);
  if (!name) return;
  constexpr std::array<std::string_view, 2> kNames = {"line-search", "harmonic"};
  if (*name != kNames[0] && *name != kNames[1]) RefuseName(*name, kNames, "step");
  *harmonic = *name == kNames[1];
}

SolveOptions ToOptions(const char* text) {
  Options reader(text);
  SolveOptions options;
  std::optional<std::string> method;
  reader.Read("method", &method);
  if (method) options.method = MethodByName(*method);
  reader.Read("temperature", &options.temperature);
  reader.Read("gap", &options.limits.gap);
  reader.Read("max_iterations", &options.limits.max_iterations);
  reader.Read("updates", &options.dense.updates);
  reader.Read("time_limit", &options.limits.time_limit_seconds);
  std::optional<double> gigabytes;
  reader.Read("max_memory", &gigabytes);
  if (gigabytes) {
    if (!(*gigabytes > 0.0 && *gigabytes < 1e9))
      throw InvalidInput(
          fmt::format("max_memory is {}, expected a finite number of gigabytes > 0", *gigabytes));
    options.limits.max_bytes = std::max<std::size_t>(1, static_cast<std::size_t>(1e9 * *gigabytes));
  }
  reader.Read("deterministic", &options.limits.deterministic);
  reader.Read("expectations", &options.expectations);
  reader.Read("threads", &options.limits.threads);
  reader.ReadName<ExtensionKind>("extension", &options.sparse.extension);
  reader.Read("rho_steps", &options.sparse.rho_steps);
  reader.ReadName<MeanFieldKind>("mean_field", &options.sparse.mean_field);
  reader.Read("rounding", &options.sparse.rounding_draws);
  reader.Read("starts", &options.sparse.starts);
  reader.Read("seed", &options.sparse.seed);
  ReadStep(&reader, &options.harmonic_steps);
  reader.ReadName<OperatorKind>("pairs", &options.dense.pairs.kind);
  reader.Read("cutoff", &options.dense.pairs.cutoff);
  reader.Read("levels", &options.dense.pairs.lattice.levels);
  reader.ReadName<Certify>("certify", &options.dense.certify);
  reader.ReadName<DenseMarginals>("marginals_of", &options.dense.marginals);
  reader.CheckEmpty();
  return options;
}

sm_record ToRecord(const SolveRecord& record) {
  return {.k = record.k,
          .seconds = record.seconds,
          .upper = record.upper.value_or(kNaN),
          .dual = record.dual.value_or(kNaN),
          .lower = record.lower.value_or(kNaN),
          .done = record.done.value_or(kNaN)};
}

template <class Value>
Json OrNull(const std::optional<Value>& value) {
  if (!value) return nullptr;
  if constexpr (std::is_same_v<Value, Bound>)
    return NumberJson(value->value());
  else
    return NumberJson(*value);
}

Json LossOf(const SolveResult& result) {
  const auto& loss = result.metric_loss;
  if (!loss) return nullptr;
  return {{"worst_ratio", NumberJson(loss->worst)},
          {"mean_ratio", NumberJson(loss->mean)},
          {"pairs", NumberJson(loss->pairs)}};
}

Json ProvenanceOf(const std::optional<Bound>& bound) {
  return bound ? Json(ToString(bound->provenance())) : Json();
}

class ResultObject final : public sm_object {
 public:
  explicit ResultObject(SolveResult result) : result_(std::move(result)), proof_(ProofOf(result_)) {
    for (const SolveRecord& record : result_.records) {
      const sm_record values = ToRecord(record);
      for (const double value : {static_cast<double>(values.k), values.seconds, values.upper,
                                 values.dual, values.lower, values.done})
        records_.push_back(value);
    }
  }

  // What expectations are proven from: callers may write to the arrays of the result.
  const SolveResult& proof() const { return proof_; }

  Json Description() const override {
    const Certificate& certificate = result_.certificate;
    return {{"kind", "result"},
            {"method", ToString(result_.method)},
            {"termination", ToString(result_.termination)},
            {"model", certificate.model},
            {"extension", certificate.extension},
            {"temperature", NumberJson(certificate.temperature)},
            {"lower", OrNull(certificate.lower)},
            {"upper", OrNull(certificate.upper)},
            {"dual", OrNull(certificate.dual)},
            {"energy", OrNull(result_.energy)},
            {"lower_provenance", ProvenanceOf(certificate.lower)},
            {"upper_provenance", ProvenanceOf(certificate.upper)},
            {"dual_provenance", ProvenanceOf(certificate.dual)},
            {"energy_provenance", ProvenanceOf(result_.energy)},
            {"defect", NumberJson(certificate.defect)},
            {"metric_loss", LossOf(result_)},
            {"notes", result_.notes},
            {"pairs", result_.pairs},
            {"seconds", NumberJson(result_.seconds)},
            {"estimated_bytes", NumberJson(result_.estimated_bytes)},
            {"expectations", proof_.tilted != nullptr},
            {"ragged", std::holds_alternative<Ragged>(result_.marginals)}};
  }

  sm_array View(std::string_view name, std::size_t index) const override {
    if (name == "marginals") {
      if (const auto* rows = std::get_if<Ragged>(&result_.marginals)) {
        if (index < rows->size()) return ViewOf((*rows)[index].data(), {(*rows)[index].size()});
      } else if (index == 0) {
        const auto* wide = std::get_if<Matrix<double>>(&result_.marginals);
        return wide != nullptr ? ViewOf(*wide) : ViewOf(std::get<Matrix<float>>(result_.marginals));
      }
    }
    if (index == 0 && name == "labels")
      return ViewOf(result_.labels.data(), {result_.labels.size()});
    if (index == 0 && name == "records") return ViewOf(records_.data(), {records_.size() / 6, 6});
    return sm_object::View(name, index);
  }

 private:
  using Ragged = std::vector<std::vector<double>>;

  static SolveResult ProofOf(SolveResult& result) {
    SolveResult proof;
    proof.termination = result.termination;
    proof.certificate = result.certificate;
    proof.tilted = std::move(result.tilted);
    proof.mean_field = std::move(result.mean_field);
    proof.updates = result.updates;
    if (proof.tilted && (result.updates > 0 || result.termination == Termination::kExact))
      proof.marginals = result.marginals;
    return proof;
  }

  SolveResult result_;
  SolveResult proof_;
  std::vector<double> records_;
};

const SparseCrf& ToSolve(const SparseObject& object) { return object.model(); }
const FactorGraph& ToSolve(const TablesObject& object) { return object.graph(); }
const DenseCrf& ToSolve(const DenseObject& object) { return object.model(); }
template <class Object, class Pairs>
CliqueCrf<Pairs> ToSolve(const CliquesObject<Object, Pairs>& object) {
  return object.model();
}

std::vector<Expectation> Proven(const SolveResult& result, std::string_view what,
                                const sm_array* argument) {
  if (what == "expectation")
    return {ExpectationOf(result, ToMatrix<double>(argument, "the argument"))};
  if (what == "areas") {
    const auto mask =
        argument == nullptr ? std::vector<char>() : ToVector<char>(argument, "the argument");
    return AreasOf(result, mask);
  }
  if (what == "agreement")
    return {AgreementOf(result, ToVector<std::int32_t>(argument, "the argument"))};
  if (what == "probability") {
    const auto given = ToVector<std::int32_t>(argument, "the argument");
    if (given.size() != 2 || given[0] < 0)
      throw InvalidInput("the argument is no pair of a variable and a label");
    return {ProbabilityOf(result, static_cast<std::size_t>(given[0]), given[1])};
  }
  constexpr std::array<std::string_view, 4> kNames = {"expectation", "areas", "agreement",
                                                      "probability"};
  RefuseName(what, kNames, "what to prove");
}

}  // namespace
}  // namespace submarine::c_api

using namespace submarine;         // NOLINT(google-build-using-namespace)
using namespace submarine::c_api;  // NOLINT(google-build-using-namespace)

sm_status sm_about(const char** json) {
  static thread_local std::string text;
  return Guarded([&] {
    Given(json, "the place for the text");
    Json methods = Json::array();
    for (const MethodInfo& info : Methods()) {
      methods.push_back({{"name", info.name},
                         {"help", info.help},
                         {"sparse", info.sparse},
                         {"tables", info.tables},
                         {"dense", info.dense}});
    }
    text = Json({{"version", sm_version()},
                 {"methods", methods},
                 {"functions", FunctionNames()},
                 {"max_bytes", DefaultMemory()}})
               .dump();
    *json = text.c_str();
  });
}

sm_status sm_solve(const sm_object* model, const char* options, sm_watch watch, void* context,
                   sm_object** result) {
  return Made(result, [&] {
    const SolveOptions solve_options = ToOptions(options);
    Watch told;
    if (watch != nullptr) {
      told = [&](std::string_view phase, const SolveRecord& record) {
        const sm_record values = ToRecord(record);
        return watch(std::string(phase).c_str(), &values, context) == 0;
      };
    }
    std::unique_ptr<ResultObject> made;
    WithModel(model, [&](const auto& object) {
      made = std::make_unique<ResultObject>(Solve(ToSolve(object), solve_options, told));
    });
    return made;
  });
}

sm_status sm_prove(const sm_object* result, const char* what, const sm_array* argument,
                   sm_object** found) {
  return Made(found, [&] {
    const SolveResult& proof = As<ResultObject>(result, "the result").proof();
    const std::vector<Expectation> proven = Proven(proof, Text(what, "what to prove"), argument);
    Matrix<double> rows(proven.size(), 5);
    for (std::size_t r = 0; r < proven.size(); ++r) {
      const Expectation& row = proven[r];
      const double values[] = {row.lower.value(), row.upper.value(), row.credible_lower.value(),
                               row.credible_upper.value(), row.claimed.value_or(kNaN)};
      std::copy(std::begin(values), std::end(values), rows.row(r).begin());
    }
    return ValuesOf(std::move(rows));
  });
}
