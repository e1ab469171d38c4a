#include "submarine/solver/mean_field/mean_field.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/simd/row_kernels.h"
#include "submarine/base/stop_check.h"
#include "submarine/solver/common/progress.h"
#include "submarine/solver/mean_field/coupling.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kGrain = 1024;
constexpr double kFirstSweepSeconds = 0.2;  // even after the time limit: it gains so much
constexpr double kWorkPerCheck = 1 << 21;   // entries between clock checks: some milliseconds

void CheckOptions(const MeanFieldOptions& options) {
  RequirePositiveTemperature(options.temperature);
  if (options.starts < 0 || (options.starts == 0 && options.extra_starts.empty())) {
    throw InvalidInput(
        fmt::format("mean field was given {} starts and {} extra ones, expected at least one",
                    options.starts, options.extra_starts.size()));
  }
}

double Entropy(std::span<const double> distribution) {
  double entropy = 0.0;
  for (double p : distribution) {
    if (p > 0.0) entropy -= p * std::log(p);
  }
  return entropy;
}

// One start: marginals and the parts of their free energy.
template <class Coupling>
class Ascent {
 public:
  Ascent(const SparseCrf& model, Matrix<double> start, double temperature)
      : model_(model),
        temperature_(temperature),
        y_(std::move(start)),
        coupling_(model),
        local_(y_.rows()),
        scratch_(model.num_cuts()),
        costs_(y_.cols()),
        total_(y_.cols()) {
    for (std::size_t a = 0; a < model.num_variables(); ++a) {
      coupling_.SetMarginal(a, y_.row(a));
      local_[a] = temperature * Entropy(y_.row(a)) -
                  DotRow(model.unary().row(a).data(), y_.row(a).data(), y_.cols());
    }
  }

  // Alternating directions carry changes across the graph both ways. False when stopped before the
  // end.
  bool Sweep(bool forward, const StopCheck& stop) {
    const std::size_t n = model_.num_variables();
    double work = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t a = forward ? k : n - 1 - k;
      Update(a);
      work +=
          Coupling::WorkPerEdge(model_) * (1.0 + static_cast<double>(model_.incident(a).size()));
      if (work < kWorkPerCheck) continue;
      if (stop.Stopped()) return false;
      work = 0.0;
    }
    return true;
  }

  double FreeEnergy() const {
    const double local =
        ParallelSum(local_.size(), kGrain, [&](std::size_t begin, std::size_t end) {
          double sum = 0.0;
          for (std::size_t a = begin; a < end; ++a) sum += local_[a];
          return sum;
        });
    const std::vector<Edge>& edges = model_.edges();
    const double pair = ParallelSum(edges.size(), kGrain, [&](std::size_t begin, std::size_t end) {
      double sum = 0.0;
      for (std::size_t e = begin; e < end; ++e) sum += coupling_.EdgeCost(edges[e], y_);
      return sum;
    });
    return local - model_.constant() - pair;
  }

  const Matrix<double>& marginals() const { return y_; }

 private:
  void Update(std::size_t a) {
    const std::span<const double> unary = model_.unary().row(a);
    const std::span<double> y = y_.row(a);
    coupling_.LabelCosts(a, y_, {}, scratch_, costs_);
    for (std::size_t i = 0; i < y.size(); ++i) total_[i] = unary[i] + costs_[i];
    const double log_sum = SoftmaxRow(total_.data(), y.size(), 1.0 / temperature_, y.data());
    // At y = softmax(-(phi + costs) / T):  T H(y) - <phi, y> = T log_sum + <costs, y>.
    local_[a] = temperature_ * log_sum + DotRow(costs_.data(), y.data(), y.size());
    coupling_.SetMarginal(a, y);
  }

  const SparseCrf& model_;
  double temperature_;
  Matrix<double> y_;
  Coupling coupling_;
  std::vector<double> local_;  // T H(y_a) - <phi_a, y_a>
  std::vector<double> scratch_;
  std::vector<double> costs_;
  std::vector<double> total_;
};

Matrix<double> CheapestLabel(const SparseCrf& model) {
  const Matrix<double>& unary = model.unary();
  std::vector<double> total(unary.cols(), 0.0);
  for (std::size_t a = 0; a < unary.rows(); ++a) {
    for (std::size_t i = 0; i < unary.cols(); ++i) total[i] += unary(a, i);
  }
  const auto label = std::min_element(total.begin(), total.end()) - total.begin();
  Matrix<double> start(unary.rows(), unary.cols(), 0.0);
  for (std::size_t a = 0; a < unary.rows(); ++a) start(a, static_cast<std::size_t>(label)) = 1.0;
  return start;
}

Matrix<double> OwnStart(const SparseCrf& model, int k, double temperature,
                        std::mt19937_64& random) {
  const Matrix<double>& unary = model.unary();
  Matrix<double> start(unary.rows(), unary.cols(), 1.0 / static_cast<double>(unary.cols()));
  if (k == 1) return start;
  if (k == 2) return CheapestLabel(model);
  std::exponential_distribution<double> exponential;
  for (std::size_t a = 0; a < unary.rows(); ++a) {
    if (k == 0) {
      SoftmaxRow(unary.row(a).data(), unary.cols(), 1.0 / temperature, start.row(a).data());
    } else {
      for (double& p : start.row(a)) p = exponential(random);  // normalised: uniform on the simplex
    }
  }
  return start;
}

// Runs the starts one after the other and keeps the best marginals.
class MultiStart {
 public:
  MultiStart(const SparseCrf& model, const MeanFieldOptions& options)
      : model_(model),
        options_(options),
        stop_(options.time_limit_seconds, options.interrupted),
        first_stop_(std::max(options.time_limit_seconds, kFirstSweepSeconds), options.interrupted) {
  }

  MeanFieldResult Run() {
    std::mt19937_64 random(options_.seed);
    const auto extra = static_cast<int>(options_.extra_starts.size());
    for (int k = 0; k < extra; ++k) CheckMarginals(model_, options_.extra_starts[k]);
    for (int k = 0; k < extra + options_.starts && !stopped_; ++k) {
      if (k > 0 && Stop().Stopped()) break;  // the first start always runs, to have a result
      Matrix<double> start = k < extra ? options_.extra_starts[k]
                                       : OwnStart(model_, k - extra, options_.temperature, random);
      NormaliseRows(start);
      if (model_.labels().exact()) {
        RunStart<CutCoupling>(std::move(start));
      } else {
        RunStart<DistanceCoupling>(std::move(start));
      }
    }
    NormaliseRows(result_.marginals);
    result_.lower = kept_;
    return std::move(result_);
  }

 private:
  template <class Coupling>
  void RunStart(Matrix<double> marginals) {
    result_.free_energy.emplace_back();
    Ascent<Coupling> ascent(model_, std::move(marginals), options_.temperature);
    // Without time to evaluate a start, it is only kept if there is no other.
    if (Stop().Stopped()) {
      stopped_ = true;
      Keep(-std::numeric_limits<double>::infinity(), ascent.marginals(), false);
      return;
    }
    double value = ascent.FreeEnergy();
    Keep(value, ascent.marginals(), false);
    for (int sweep = 0; sweep < options_.max_iterations && !stopped_; ++sweep) {
      if (!ascent.Sweep(sweep % 2 == 0, Stop())) {
        stopped_ = true;
        Keep(value, ascent.marginals(), false);  // updates only raise the value
        return;
      }
      const double before = value;
      value = ascent.FreeEnergy();
      const bool gained = value - before >= options_.tolerance * std::max(1.0, std::abs(value));
      // The marginals are copied once per start, unless this is the last sweep there is time for.
      const bool last = Record(value) || !gained || sweep + 1 == options_.max_iterations;
      if (last) Keep(value, ascent.marginals(), !gained);
      if (!gained) return;
    }
  }

  const StopCheck& Stop() const { return result_.iterations == 0 ? first_stop_ : stop_; }

  void Keep(double value, const Matrix<double>& marginals, bool converged) {
    if (value < kept_ && result_.marginals.size() > 0) return;
    kept_ = value;
    best_ = std::max(best_, value);
    result_.marginals = marginals;
    result_.converged = converged;
  }

  // Returns true when the solver must stop.
  bool Record(double value) {
    best_ = std::max(best_, value);
    const double seconds = stop_.Seconds();
    result_.records.push_back({++result_.iterations, seconds, {}, {}, best_});
    result_.free_energy.back().push_back(value);
    stopped_ = stop_.Stopped();
    if (options_.on_iteration && !options_.on_iteration(result_.iterations, seconds, best_)) {
      stopped_ = true;
    }
    return stopped_;
  }

  const SparseCrf& model_;
  const MeanFieldOptions& options_;
  StopCheck stop_;
  StopCheck first_stop_;  // until the first sweep is done
  MeanFieldResult result_;
  double kept_ = -std::numeric_limits<double>::infinity();
  double best_ = -std::numeric_limits<double>::infinity();
  bool stopped_ = false;
};

}  // namespace

MeanFieldResult SolveMeanField(const SparseCrf& model, const MeanFieldOptions& options) {
  CheckOptions(options);
  return MultiStart(model, options).Run();
}

}  // namespace submarine::internal
