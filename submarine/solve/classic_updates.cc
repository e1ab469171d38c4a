#include "submarine/solve/classic_updates.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "submarine/base/argmax.h"
#include "submarine/base/freed_memory.h"
#include "submarine/bound/verify/dense/normalisation.h"
#include "submarine/extension/dense_extension.h"
#include "submarine/filter/kernel/grid_operator.h"
#include "submarine/filter/lattice/lattice.h"
#include "submarine/filter/lattice_memory.h"
#include "submarine/filter/lattice_stream.h"
#include "submarine/filter/operator_choice.h"
#include "submarine/labels/label_band.h"
#include "submarine/solve/candidate/budget.h"
#include "submarine/solve/candidate/dense_candidates.h"
#include "submarine/solve/candidate/dense_certify.h"
#include "submarine/solve/candidate/dense_state.h"
#include "submarine/solve/method/dense_memory.h"
#include "submarine/solve/method/times.h"
#include "submarine/solver/mean_field/clique_holders.h"
#include "submarine/solver/mean_field/streamed_updates.h"

namespace submarine::internal {
namespace {

class ClassicRun {
 public:
  ClassicRun(const SolveTask<DenseCrf>& task, std::span<const Clique> cliques)
      : model_(task.model),
        cliques_(cliques),
        options_(task.options),
        budget_(task.clock, options_, task.watch),
        proves_(options_.dense.certify == Certify::kLower) {}

  SolveResult Solve() {
    solved_.method = options_.method;
    FindGrids();
    RequireRoom();
    if (!BuildLattices()) {
      solved_.termination = budget_.stopped() ? Termination::kInterrupted : Termination::kTimeLimit;
      TakeUnaries(model_, options_, &solved_);
      return std::move(solved_);
    }
    solved_.pairs = pairs_->Description();
    RunUpdates();
    pairs_.reset();
    solved_.termination = evidence_.termination;
    solved_.records = std::move(evidence_.records);
    Certify();
    solved_.marginals = std::move(evidence_.mean_field);
    return std::move(solved_);
  }

 private:
  // Of kernels that were normalised, where the lower bound will need it.
  struct Scale {
    std::size_t kernel;  // of the model
    std::vector<double> scale;
  };

  bool Waits(const GaussianKernel& kernel) const {
    return kernel.normalisation != KernelNormalisation::kNone && kernel.scale.empty();
  }

  // Of kernels that have them, narrow positions in volumes, if there is another one for the lattices
  // that rows stream through.
  void FindGrids() {
    const std::vector<WeightedKernel> kernels = PairWeights(model_);
    grids_.resize(kernels.size());
    std::size_t others = 0;
    for (std::size_t m = 0; m < kernels.size(); ++m) {
      if (kernels[m].factor == 0.0) continue;
      grids_[m] = GridOperator::Make(*kernels[m].kernel);
      if (grids_[m] == nullptr) ++others;
    }
    if (others == 0) grids_.clear();
    grids_.resize(kernels.size());
    for (const auto& grid : grids_) {
      if (grid == nullptr) continue;
      // Beside its own, the marginals that are multiplied, and their product.
      if (grid_bytes_ == 0.0)
        grid_bytes_ = 2.0 * sizeof(float) * static_cast<double>(model_.unary().size());
      grid_bytes_ += static_cast<double>(grid->bytes());
    }
  }

  bool OnLattice(std::size_t kernel) const { return grids_[kernel] == nullptr; }

  DenseMemory Memory(std::vector<LatticeCounts> lattices) const {
    DenseDemand demand{.size = SizeOf(model_, 0.0),
                       .method = EntryOf(Method::kMeanField).dense.traits.memory};
    demand.classic_updates = true;
    demand.normalises = proves_ && NeedsNormalisation(model_);
    demand.by_pairs = false;
    demand.by_operator = proves_;
    demand.lattice = options_.dense.pairs.lattice;
    const std::vector<WeightedKernel> kernels = PairWeights(model_);
    DenseMemory memory = EstimateDenseMemory(demand, kernels, {.lattices = std::move(lattices)});
    memory.solving += grid_bytes_;
    return memory;
  }

  // Before anything is built. Where there is room whatever the lattices are, nothing is counted.
  void RequireRoom() const {
    const auto limit = static_cast<double>(options_.limits.max_bytes);
    std::vector<LatticeCounts> counts;
    const std::vector<WeightedKernel> kernels = PairWeights(model_);
    for (std::size_t m = 0; m < kernels.size(); ++m) {
      if (kernels[m].factor > 0.0 && OnLattice(m))
        counts.push_back(MostOfLattice(kernels[m].kernel->size(), kernels[m].kernel->dimension()));
    }
    if (Memory(counts).Peak() <= limit) return;
    counts.clear();
    for (std::size_t m = 0; m < kernels.size(); ++m) {
      if (kernels[m].factor > 0.0 && OnLattice(m))
        counts.push_back(CountLattice(*kernels[m].kernel, options_.dense.pairs.lattice));
    }
    RequireMemory(Memory(std::move(counts)), static_cast<double>(model_.num_variables()), limit);
  }

  // False once the watch or the time limit ends it.
  bool BuildLattices() {
    const auto tell = [&] {
      return budget_.Tell("preparing pairs", {.k = -1, .seconds = budget_.Seconds()});
    };
    if (!tell()) return false;
    LatticeOptions options = options_.dense.pairs.lattice;
    options.max_bytes = std::min(options_.dense.pairs.max_bytes, options_.limits.max_bytes);
    std::vector<SumOperator::Part> parts;
    std::vector<LatticeCounts> counts;
    const std::vector<WeightedKernel> kernels = PairWeights(model_);
    sources_.resize(kernels.size());
    for (std::size_t m = 0; m < kernels.size(); ++m) {
      const auto& [kernel, factor] = kernels[m];
      if (factor == 0.0) continue;
      if (!parts.empty() && budget_.stopped()) return false;
      if (!OnLattice(m)) {
        if (Waits(*kernel)) {
          sources_[m] = grids_[m]->Description();
          if (proves_)
            scales_.push_back({m, {grids_[m]->scale().begin(), grids_[m]->scale().end()}});
        }
        parts.push_back({factor, std::move(grids_[m])});
        continue;
      }
      std::unique_ptr<LatticeOperator> lattice;
      std::vector<double> scale;
      if (Waits(*kernel)) {
        lattice = LatticeOperator::MakeNormalised(*kernel, options, proves_ ? &scale : nullptr);
        sources_[m] = lattice->Description();
        if (proves_) scales_.push_back({m, std::move(scale)});
      } else {
        lattice = std::make_unique<LatticeOperator>(*kernel, options);
      }
      counts.push_back(lattice->Counts());
      parts.push_back({factor, std::move(lattice)});
      budget_.Expired();
    }
    solved_.estimated_bytes = Memory(std::move(counts)).Peak();
    pairs_.emplace(model_.num_variables(), std::move(parts));
    return tell();
  }

  void RunUpdates() {
    const auto stream = LatticeStream::Make(*pairs_, static_cast<std::size_t>(model_.num_labels()));
    double deadline = budget_.deadline();
    if (proves_ && std::isfinite(deadline))
      deadline -= DensePolicy::kForOneStep * std::max(0.0, budget_.SecondsLeft());
    const auto tell = [&](int k) {
      const SolveRecord record{.k = k, .seconds = budget_.Seconds()};
      evidence_.records.push_back(record);
      return budget_.Tell("mean field", record);
    };
    const int iterations = options_.dense.updates;
    const LabelBand band = *BandOf(model_.metric());
    std::optional<HeldUnaries> held;
    std::function<void(const Matrix<float>&)> hold;
    if (!cliques_.empty()) {
      held.emplace(cliques_, model_.unary());
      hold = [&held](const Matrix<float>& y) { held->Update(y); };
    }
    StreamedMarginals found = internal::RunUpdates(
        {.unary = held ? held->unary() : model_.unary(),
         .temperature = static_cast<float>(options_.temperature),
         .factor = static_cast<float>(-band.diameter),
         .band = band.neighbours,
         .iterations = iterations,
         .go_on = [&](int k) { return tell(k) && budget_.Seconds() < deadline; },
         .before_update = hold},
        stream.get());
    if (found.iterations == iterations) tell(iterations);
    evidence_.mean_field = std::move(found.marginals);
    evidence_.termination = budget_.stopped()                ? Termination::kInterrupted
                            : found.iterations == iterations ? Termination::kIterationLimit
                                                             : Termination::kTimeLimit;
  }

  // The model whose kernels have the scales of the lattices.
  DenseCrf Normalised() {
    std::vector<GaussianKernel> kernels = model_.kernels();
    for (Scale& of : scales_) {
      kernels[of.kernel].scale = std::move(of.scale);
      kernels[of.kernel].scale_source = sources_[of.kernel];
    }
    return {model_.unary(), std::move(kernels), model_.labels(), model_.counting(),
            model_.constant()};
  }

  void Certify() {
    if (!proves_) {
      solved_.labels = ArgmaxLabels(evidence_.mean_field);
      solved_.certificate.model = model_.Description(sources_);
      return;
    }
    ReturnFreedMemory();
    DenseCertifyOptions certify;
    certify.exact = false;
    certify.lower_only = true;
    certify.temperature = options_.temperature;
    certify.pairs = options_.dense.pairs;
    std::optional<DenseCrf> normalised;
    if (NeedsNormalisation(model_)) normalised.emplace(Normalised());
    const std::vector<OperatorKind> kinds(model_.kernels().size(), OperatorKind::kLattice);
    DenseCertificate certified = CertifyDense(normalised ? *normalised : model_,
                                              {kinds, solved_.pairs}, evidence_, certify, &budget_);
    solved_.certificate = std::move(certified.certificate);
    solved_.labels = std::move(certified.labels);
    solved_.energy = certified.energy;
    for (std::string& note : certified.notes) solved_.notes.push_back(std::move(note));
  }

  const DenseCrf& model_;
  const std::span<const Clique> cliques_;
  const SolveOptions& options_;
  Budget budget_;
  const bool proves_;                                 // the lower bound
  std::vector<std::unique_ptr<GridOperator>> grids_;  // null: the kernel is on a lattice
  double grid_bytes_ = 0.0;
  std::vector<Scale> scales_;
  std::vector<std::string> sources_;  // of the kernels' scales: the lattices that normalised them
  std::optional<SumOperator> pairs_;
  DenseEvidence evidence_;
  SolveResult solved_;
};

}  // namespace

bool IsClassic(const DenseCrf& model, const SolveOptions& options) {
  const std::vector<GaussianKernel>& kernels = model.kernels();
  const auto symmetric = [](const GaussianKernel& kernel) {
    return kernel.normalisation == KernelNormalisation::kNone ||
           kernel.normalisation == KernelNormalisation::kSymmetric;
  };
  return options.method == Method::kMeanField && options.dense.updates > 0 &&
         (options.dense.certify == Certify::kNone || options.dense.certify == Certify::kLower) &&
         options.dense.pairs.kind == OperatorKind::kLattice &&
         options.dense.marginals != DenseMarginals::kRouted && BandOf(model.metric()) &&
         std::all_of(kernels.begin(), kernels.end(), symmetric) &&
         std::any_of(kernels.begin(), kernels.end(),
                     [](const GaussianKernel& kernel) { return kernel.weight > 0.0; }) &&
         // Few variables are normalised by their Gaussians.
         !(NeedsNormalisation(model) && NormalisesExactly(model, {.max_seconds = 0.0}));
}

SolveResult SolveClassic(const SolveTask<DenseCrf>& task, std::span<const Clique> cliques) {
  return ClassicRun(task, cliques).Solve();
}

SolveResult ProveUpdates(const SolveTask<DenseCrf>& task) {
  SolveOptions updating = task.options;
  updating.method = Method::kMeanField;
  updating.dense.certify = Certify::kNone;
  updating.dense.marginals = DenseMarginals::kMeanField;
  updating.expectations = false;
  // Labels are the same with and without a proof: they may take what a limit may be exceeded by.
  updating.limits.time_limit_seconds += Overrun(updating.limits.time_limit_seconds);
  if (updating.dense.pairs.kind == OperatorKind::kAuto)
    updating.dense.pairs.kind = OperatorKind::kLattice;
  const SolveTask<DenseCrf> first{task.model, updating, task.clock, task.watch};
  SolveResult updated = IsClassic(task.model, updating) ? SolveClassic(first) : SolveDense(first);
  if (task.options.dense.certify == Certify::kNone) return updated;
  if (updated.termination == Termination::kInterrupted) {
    updated.certificate = CertifyUnaries(task.model, task.options).certificate;
    // No bound by the pairs, of which these would speak.
    updated.records.clear();
    updated.pairs.clear();
    return updated;
  }

  SolveOptions proving = task.options;
  proving.dense.updates = 0;
  const auto held = sizeof(float) * task.model.unary().size();
  proving.limits.max_bytes -= std::min(proving.limits.max_bytes / 2, held);
  SolveResult proven = SolveDense({task.model, proving, task.clock, task.watch, &updated.labels});
  proven.marginals = std::move(updated.marginals);
  proven.mean_field = Matrix<float>();
  proven.labels = std::move(updated.labels);
  proven.estimated_bytes =
      std::max(updated.estimated_bytes, proven.estimated_bytes + static_cast<double>(held));
  proven.updates = task.options.dense.updates;
  return proven;
}

}  // namespace submarine::internal
