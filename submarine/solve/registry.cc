#include "submarine/solve/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

#include "submarine/base/error.h"
#include "submarine/solver/flow/dense_frank_wolfe.h"
#include "submarine/solver/flow/dense_pdhg.h"
#include "submarine/solver/flow/frank_wolfe.h"
#include "submarine/solver/flow/pdhg.h"

namespace submarine {
namespace internal {
namespace {

// --- What a solver takes from the options of a call beside its limits: nothing, unless an overload
// here says so. (Behind the templates below, overloads are not found.)

template <class Given>
void ApplyOptions(const Given& /*given*/, BoundOptions* /*solver*/) {}

void ApplyOptions(const SolveOptions& given, PdhgOptions* solver) {
  if (given.limits.deterministic)
    solver->seconds_between_evaluations = std::numeric_limits<double>::infinity();
}

FrankWolfeStep StepOf(bool harmonic) {
  return harmonic ? FrankWolfeStep::kHarmonic : FrankWolfeStep::kLineSearch;
}

void ApplyOptions(const SolveOptions& given, FrankWolfeOptions* solver) {
  solver->extension = given.sparse.extension;
  solver->step = StepOf(given.harmonic_steps);
}

void ApplyOptions(const DenseChainOptions& given, DenseFrankWolfeOptions* solver) {
  solver->step = StepOf(given.harmonic_steps);
  solver->max_proof_bytes = given.max_proof_bytes;
}

// --- What runs a solver of flows or potentials.

template <class Options, BoundResult (*kSolve)(const SparseCrf&, const Options&)>
void Flows(SparseState* state) {
  FindFlows(state, [state](const SparseCrf& model, const BoundOptions& limits) {
    Options options;
    static_cast<BoundOptions&>(options) = limits;
    ApplyOptions(state->options, &options);
    return kSolve(model, options);
  });
}

template <class Options, DenseResult (*kSolve)(const DenseExtension&, const Options&)>
DenseEvidence Dense(const DenseChainTask& task) {
  return ChainSolver(task, [&](const DenseExtension& extension, const BoundOptions& limits) {
    Options options;
    static_cast<BoundOptions&>(options) = limits;
    ApplyOptions(task.options, &options);
    return kSolve(extension, options);
  });
}

// --- What methods hold: of sparse models, an edge of a forest and its kernel.
constexpr double kForestEdge = 170.0;  // bytes

// --- Of dense models.

// Mean field comes last and holds four matrices (marginals, their start, costs, the best so far). A
// solver before it leaves the s of the bound, the best dual point, the last marginals and their copy
// to continue from; and a proof and potentials. Evidence: marginals of mean field, of the upper
// bound and of the dual value, and a proof.
constexpr DenseMethodMemory kOneSolver = {.solving = {4.0 + 4.0, 2.0}, .evidence = {3.0, 1.0}};
// All steps are part of the proof.
constexpr DenseMethodMemory kAllSteps = {
    .solving = {4.0 + 4.0, 1.0}, .evidence = {3.0, 0.0}, .proof_per_iteration = true};
// Those of two solves, the second continuing the first, with proofs of up to three potentials, and
// those of the segment between their points.
constexpr DenseMethodMemory kTwoSolvers = {
    .solving = {12.0, 6.3}, .evidence = {3.0, 2.0}, .draws_sample = true};
constexpr DenseMethodMemory kMeanFieldAlone = {
    .solving = {3.0, 0.0}, .evidence = {1.0, 0.0}, .upper_bound = false};

// --- The table. On sparse models, `auto` itself is the bound of the unaries.

constexpr MethodEntry kMethods[] = {
    {.method = Method::kAuto,
     .name = "auto",
     .help = "chosen by the model: exact where that is cheap, otherwise the tightest bound within "
             "the limits",
     .sparse = {.find = BoundByUnaries,
                .first_bound = {SparseWork::kUnaries, 1.0},
                .memory = kUnariesHeld},
     .tables = true,
     .dense = {.run = SolveDense, .chain = ChainAuto, .traits = {.memory = kTwoSolvers}}},

    {.method = Method::kPdhg,
     .name = "pdhg",
     .help = "the submodular bound, to a certified optimality gap",
     .sparse = {.find = Flows<PdhgOptions, SolvePdhg>,
                .first_bound = {SparseWork::kFlows, 6.0, 2.0},
                .memory = {.labels = 5.0, .cuts = 2.0, .flows = 2.0},
                .zero_temperature = true},
     .dense = {.run = SolveDense,
               .chain = Dense<DensePdhgOptions, SolvePdhg>,
               .traits = {.memory = kOneSolver}}},

    {.method = Method::kFrankWolfe,
     .name = "fw",
     .help = "Frank-Wolfe, the published algorithm",
     .sparse = {.find = Flows<FrankWolfeOptions, SolveFrankWolfe>,
                .first_bound = {SparseWork::kFlows, 5.0, 1.0},
                .memory = {.labels = 4.0, .flows = 1.0},
                .alternate_extension = true},
     .dense = {.run = SolveDense,
               .chain = Dense<DenseFrankWolfeOptions, SolveFrankWolfe>,
               .traits = {.memory = kAllSteps, .iterations = 100, .zero_temperature = false}}},

    {.method = Method::kTrw,
     .name = "trw",
     .help = "tree-reweighted bound (sparse models and any tables of pairs)",
     .sparse = {.find = FindTrw,
                .first_bound = {SparseWork::kForests, 7.0, 0.0, 0.5},
                .memory = {.labels = 3.0, .messages = 2.0, .per_edge = kForestEdge},
                .gap = 1e-7},  // what a sweep must gain
     .tables = true},

    {.method = Method::kRouted,
     .name = "routed",
     .help = "exact along a path that pairs are routed to, submodular elsewhere (dense models "
             "with weak unaries)",
     // Routes from mean field's marginals.
     .dense = {.run = SolveDense,
               .traits = {.memory = kMeanFieldAlone,
                          .applies_flows = false,
                          .zero_temperature = false}}},

    {.method = Method::kMeanField,
     .name = "mf",
     .help = "mean field: a lower bound only",
     .sparse = {.find = FindSparseMeanField,
                .first_bound = {SparseWork::kMeanField, 3.0},
                .memory = {.labels = 3.0}},
     .dense = {.run = SolveDense,
               .chain = ChainMeanField,
               .traits = {.memory = kMeanFieldAlone, .applies_flows = false}}},

    {.method = Method::kExact,
     .name = "exact",
     .help = "variable elimination (small or tree-like models)",
     .sparse = {.find = FindExact},
     .tables = true,
     .dense = {.run = DenseExactly}},
};

static_assert(std::size(kMethods) == kNumMethods, "every method has its entry");

std::string_view KindName(ModelKind kind) {
  switch (kind) {
    case ModelKind::kSparse:
      return "sparse models";
    case ModelKind::kTables:
      return "tables without a submodular extension";
    case ModelKind::kDense:
      return "dense models";
  }
  return "unknown";
}

template <class Row>
const Row& RowOf(std::span<const Row> rows, Method method) {
  return *std::find_if(rows.begin(), rows.end(),
                       [&](const Row& row) { return row.method == method; });
}

}  // namespace

const MethodEntry& EntryOf(Method method) {
  return RowOf(std::span<const MethodEntry>(kMethods), method);
}

double LeastSeconds(Method method, const SparseSize& size) {
  return FirstBoundSeconds(EntryOf(method).sparse.first_bound, size);
}

}  // namespace internal

bool MethodInfo::Accepts(ModelKind kind) const {
  return kind == ModelKind::kSparse ? sparse : kind == ModelKind::kTables ? tables : dense;
}

std::span<const MethodInfo> Methods() {
  // Not a constant: under g++'s sanitizers the address of a function is not known to be one.
  static const auto kInfos = [] {
    std::array<MethodInfo, std::size(internal::kMethods)> all{};
    std::transform(std::begin(internal::kMethods), std::end(internal::kMethods), all.begin(),
                   [](const internal::MethodEntry& entry) -> MethodInfo {
                     return {entry.method, entry.name,
                             entry.help,   entry.sparse.find != nullptr,
                             entry.tables, entry.dense.run != nullptr};
                   });
    return all;
  }();
  return kInfos;
}

const MethodInfo& InfoOf(Method method) { return internal::RowOf(Methods(), method); }

std::string_view ToString(Method method) { return InfoOf(method).name; }

void RequireAccepted(Method method, ModelKind kind) {
  if (InfoOf(method).Accepts(kind)) return;
  std::vector<std::string_view> names;
  for (const MethodInfo& info : Methods()) {
    if (info.Accepts(kind)) names.push_back(info.name);
  }
  throw InvalidInput(fmt::format("the method {} is not for {}; use {}", ToString(method),
                                 internal::KindName(kind), fmt::join(names, ", ")));
}

std::string MethodHelp(std::span<const Method> methods) {
  std::string text;
  for (const Method method : methods) {
    const MethodInfo& info = InfoOf(method);
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", info.name, info.help);
  }
  return text;
}

}  // namespace submarine
