#include "submarine/solver/exact/exact.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "submarine/base/argmax.h"
#include "submarine/base/error.h"
#include "submarine/base/freed_memory.h"
#include "submarine/base/parallel.h"
#include "submarine/base/safe_sum.h"
#include "submarine/base/stop_check.h"
#include "submarine/solver/exact/bucket.h"
#include "submarine/solver/exact/column_kernels.h"
#include "submarine/solver/exact/exact_error.h"

namespace submarine::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kEntriesPerTask = 1 << 14;
constexpr std::size_t kEntriesPerCheck = 1 << 21;  // between clock checks: some ten milliseconds
constexpr double kLargestTotal = std::numeric_limits<double>::max() / 16.0;

void CheckTemperature(double temperature) {
  // The lower limit keeps 1 / T finite.
  if (!std::isfinite(temperature) || (temperature != 0.0 && temperature < 1e-300)) {
    throw InvalidInput(
        fmt::format("the temperature is {}, expected 0 or a finite number >= 1e-300", temperature));
  }
}

// A sum of energies must not overflow to infinity, which means a forbidden labeling.
void CheckEnergyRange(const FactorGraph& graph, double temperature) {
  double total = 0.0;
  for (const Factor& factor : graph.factors) {
    double largest = 0.0;
    for (double energy : factor.energy) {
      if (std::isfinite(energy)) largest = std::max(largest, std::abs(energy));
    }
    total += largest;
  }
  if (!(total <= kLargestTotal)) {
    throw InvalidInput(
        "the energies of the factors are so large that their sum overflows a double");
  }
  double entropy = 0.0;
  for (int cardinality : graph.cardinality) entropy += std::log(cardinality);
  if (!(temperature * entropy <= kLargestTotal)) {
    throw InvalidInput(fmt::format(
        "the temperature is {}, so large that T log Z overflows a double", temperature));
  }
}

[[noreturn]] void ThrowNoLabeling() { throw InvalidInput("no labeling has positive probability"); }

std::string Gibibytes(double bytes) {
  return fmt::format("{:.3g} GiB", std::min(bytes, 1e300) / static_cast<double>(1 << 30));
}

void CheckFits(const EliminationOrder& plan, std::size_t variables, std::int64_t max_bytes) {
  if (plan.complete) return;
  const char* qualifier = plan.order.size() < variables ? "at least " : "";
  throw TooLarge(fmt::format(
      "exact inference needs {}{} of memory at induced width {}{} ({}), more than the limit of {}",
      qualifier, Gibibytes(plan.bytes), qualifier, plan.induced_width,
      plan.proven_too_large ? "no elimination order fits" : "the best elimination order found",
      Gibibytes(static_cast<double>(max_bytes))));
}

void Normalise(std::vector<double>& values) {
  double total = 0.0;
  for (double value : values) total += value;
  for (double& value : values) value /= total;
}

std::vector<double> Indicator(int cardinality, int label) {
  std::vector<double> result(static_cast<std::size_t>(cardinality), 0.0);
  result[label] = 1.0;
  return result;
}

// Bucket elimination. With psi_a the table of variable a (its factors plus the messages of its
// children), the upward pass computes messages in the log domain,
//
//   m_a(sep) = T log sum_{x_a} exp(psi_a(x_a, sep) / T),
//
// each shifted to maximum 0 so that long chains of large energies keep their digits. The downward
// pass works with probabilities and never divides by a message:
//
//   p(x_a, sep) = softmax_{x_a}(psi_a / T) p(sep),   p(sep) summed out of the parent's joint.
//
// At T = 0 it follows the maximisers instead.
class Elimination {
 public:
  Elimination(const FactorGraph& graph, EliminationOrder plan, const ExactOptions& options,
              const StopCheck& stop)
      : graph_(graph),
        plan_(std::move(plan)),
        options_(options),
        temperature_(options.temperature),
        stop_(stop),
        factors_(graph.cardinality.size()),
        children_(graph.cardinality.size()),
        tables_(graph.cardinality.size()),
        errors_(graph.cardinality.size()) {
    AssignFactors();
    for (int a : plan_.order) {
      if (!plan_.separator[a].empty()) children_[plan_.separator[a].front()].push_back(a);
    }
  }

  ExactResult Run() {
    ExactResult result;
    for (int a : plan_.order) SendMessage(a);
    result.log_partition = total_.Value();
    result.error = Error();
    result.marginals.resize(graph_.cardinality.size());
    result.map_labeling.assign(graph_.cardinality.size(), 0);
    for (auto a = plan_.order.rbegin(); a != plan_.order.rend(); ++a) {
      if (temperature_ == 0.0) {
        result.map_labeling[*a] = BestLabel(*a, result.map_labeling);
        result.marginals[*a] = Indicator(graph_.cardinality[*a], result.map_labeling[*a]);
      } else {
        result.marginals[*a] = ReceiveMarginal(*a);
        result.map_labeling[*a] = Argmax(result.marginals[*a]);
      }
    }
    result.induced_width = plan_.induced_width;
    result.bytes = static_cast<std::int64_t>(plan_.bytes);
    return result;
  }

 private:
  // A factor belongs to the first of its variables to be eliminated.
  void AssignFactors() {
    std::vector<int> position(graph_.cardinality.size());
    for (std::size_t k = 0; k < plan_.order.size(); ++k) {
      position[plan_.order[k]] = static_cast<int>(k);
    }
    for (const Factor& factor : graph_.factors) {
      int first = -1;
      for (int a : factor.scope) {
        if (graph_.cardinality[a] == 1) continue;
        if (first < 0 || position[a] < position[first]) first = a;
      }
      if (first >= 0) {
        factors_[first].push_back(&factor);
      } else {
        if (factor.energy[0] == kInfinity) ThrowNoLabeling();
        total_.Add(-factor.energy[0]);
      }
    }
  }

  // Strides, along the axes of a's table, of a table over `scope` whose last variable is fastest.
  TableStrides StridesAt(int a, const std::vector<int>& scope) const {
    const std::vector<int>& separator = plan_.separator[a];
    TableStrides strides{0, std::vector<std::int64_t>(separator.size(), 0)};
    std::int64_t stride = 1;
    for (std::size_t k = scope.size(); k-- > 0;) {
      if (scope[k] == a) {
        strides.eliminated = stride;
      } else if (graph_.cardinality[scope[k]] > 1) {
        const auto axis = std::find(separator.begin(), separator.end(), scope[k]);
        strides.separator[static_cast<std::size_t>(axis - separator.begin())] = stride;
      }
      stride *= graph_.cardinality[scope[k]];
    }
    return strides;
  }

  Bucket MakeBucket(int a) const {
    std::vector<TableSource> sources;
    for (const Factor* factor : factors_[a]) {
      sources.push_back({factor->energy.data(), -1.0, StridesAt(a, factor->scope)});
    }
    for (int child : children_[a]) {
      sources.push_back({tables_[child].data(), 1.0, StridesAt(a, plan_.separator[child])});
    }
    std::vector<int> axes;
    for (int b : plan_.separator[a]) axes.push_back(graph_.cardinality[b]);
    return Bucket(graph_.cardinality[a], std::move(axes), std::move(sources));
  }

  void SendMessage(int a) {
    const Bucket bucket = MakeBucket(a);
    const std::size_t size = bucket.block_size();
    std::vector<double>& message = tables_[a];
    message.resize(bucket.separator_size());
    const std::size_t batch =
        std::max<std::size_t>(1, kEntriesPerCheck / (bucket.cardinality() * size));
    for (std::size_t first = 0; first < bucket.num_blocks(); first += batch) {
      CheckStop();
      const std::size_t count = std::min(batch, bucket.num_blocks() - first);
      ParallelFor(count, Grain(bucket), [&](std::size_t begin, std::size_t end) {
        std::vector<double> rows(bucket.cardinality() * size);
        for (std::size_t block = first + begin; block < first + end; ++block) {
          bucket.FillBlock(block, rows);
          LogSumExpColumns(rows.data(), bucket.cardinality(), size, temperature_,
                           message.data() + block * size);
        }
      });
    }
    const double largest = *std::max_element(message.begin(), message.end());
    if (largest == -kInfinity) ThrowNoLabeling();
    total_.Add(largest);
    double least = 0.0;
    for (double& value : message) {
      value -= largest;
      if (value > -kInfinity) least = std::min(least, value);
    }
    FindError(a, largest, -least);
    if (plan_.separator[a].empty()) message[0] = 1.0;  // p of the empty separator
  }

  void FindError(int a, double shift, double range) {
    // At T = 0 the labels are found from tables that are summed again: the label that seems best
    // may be worse by two roundings, and its own roundings are added.
    constexpr double kRoundingsOfBest = 5.0;
    TableError& error = errors_[a];
    for (const Factor* factor : factors_[a]) {
      error.AddExact(-*std::min_element(factor->energy.begin(), factor->energy.end()));
    }
    for (int child : children_[a]) error.AddMessage(errors_[child]);
    error.Round(temperature_ == 0.0 ? kRoundingsOfBest : 1.0);
    error.LogSumExp(temperature_, static_cast<std::size_t>(graph_.cardinality[a]));
    error.Shift(shift);
    error.Fix(range);
  }

  double Error() const {
    UpwardSum error;
    error.Add(total_.Error());
    for (int a : plan_.order) {
      if (!errors_[a].valid()) return kInfinity;
      if (plan_.separator[a].empty()) error.Add(errors_[a].fixed());
    }
    // At T = 0 the error is between the computed energy and both the least energy and that of the
    // labeling, so these two may differ by twice as much.
    return temperature_ == 0.0 ? 2.0 * error.Above() : error.Above();
  }

  void CheckStop() const {
    if (!stop_.Stopped()) return;
    if (stop_.interrupted()) throw Interrupted("exact inference was interrupted before its end");
    throw TimeLimit(fmt::format("exact inference did not end within {} s, its time limit",
                                options_.time_limit_seconds));
  }

  std::vector<double> ReceiveMarginal(int a) {
    const Bucket bucket = MakeBucket(a);
    std::vector<double> marginal(bucket.cardinality(), 0.0);
    std::vector<std::vector<double>> sums;
    std::vector<Bucket::Target> targets;
    targets.emplace_back(bucket, StridesAt(a, {a}), marginal.data());
    for (int child : children_[a]) {
      sums.emplace_back(tables_[child].size(), 0.0);
      targets.emplace_back(bucket, StridesAt(a, plan_.separator[child]), sums.back().data());
    }
    AddJoint(a, bucket, targets);
    for (std::size_t k = 0; k < sums.size(); ++k) {
      Normalise(sums[k]);
      tables_[children_[a][k]] = std::move(sums[k]);
    }
    Free(&tables_[a]);
    Normalise(marginal);
    return marginal;
  }

  // Evaluates p(x_a, sep) a batch of blocks at a time, in parallel over blocks; then adds the batch
  // to every target in block order, in parallel over targets, so that no two threads share a sum.
  void AddJoint(int a, const Bucket& bucket, const std::vector<Bucket::Target>& targets) const {
    const std::size_t size = bucket.block_size();
    const std::size_t block_entries = bucket.cardinality() * size;
    const std::size_t batch = std::clamp<std::size_t>(
        static_cast<std::size_t>(kExactBufferEntries) / block_entries, 1, bucket.num_blocks());
    std::vector<double> buffer(batch * block_entries);
    const auto rows = [&](std::size_t k) {
      return std::span<double>(buffer.data() + k * block_entries, block_entries);
    };
    const std::size_t targets_per_task =
        std::max<std::size_t>(1, kEntriesPerTask / (batch * block_entries));
    for (std::size_t first = 0; first < bucket.num_blocks(); first += batch) {
      CheckStop();
      const std::size_t count = std::min(batch, bucket.num_blocks() - first);
      ParallelFor(count, Grain(bucket), [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k) {
          bucket.FillBlock(first + k, rows(k));
          SoftmaxColumns(tables_[a].data() + (first + k) * size, bucket.cardinality(), size,
                         temperature_, rows(k).data());
        }
      });
      ParallelFor(targets.size(), targets_per_task, [&](std::size_t begin, std::size_t end) {
        for (std::size_t target = begin; target < end; ++target) {
          for (std::size_t k = 0; k < count; ++k) targets[target].Add(first + k, rows(k));
        }
      });
    }
  }

  int BestLabel(int a, const std::vector<int>& labeling) {
    const Bucket bucket = MakeBucket(a);
    std::vector<int> separator_labels;
    for (int b : plan_.separator[a]) separator_labels.push_back(labeling[b]);
    std::vector<double> values(bucket.cardinality());
    for (std::size_t x = 0; x < values.size(); ++x) {
      values[x] = bucket.At(static_cast<std::int64_t>(x), separator_labels);
    }
    Free(&tables_[a]);
    return Argmax(values);
  }

  static std::size_t Grain(const Bucket& bucket) {
    return std::max<std::size_t>(1, kEntriesPerTask / (bucket.cardinality() * bucket.block_size()));
  }

  const FactorGraph& graph_;
  const EliminationOrder plan_;
  const ExactOptions& options_;
  const double temperature_;
  const StopCheck& stop_;
  std::vector<std::vector<const Factor*>> factors_;
  std::vector<std::vector<int>> children_;
  // Per variable, over its separator: the message on the way up, p(sep) on the way down.
  std::vector<std::vector<double>> tables_;
  std::vector<TableError> errors_;  // of the messages
  ExactSum total_;
};

}  // namespace

ExactResult SolveExact(const FactorGraph& graph, const ExactOptions& options) {
  CheckTemperature(options.temperature);
  const StopCheck stop(options.time_limit_seconds, options.interrupted);
  EliminationOrder plan = FindEliminationOrder(graph, static_cast<double>(options.max_bytes));
  CheckFits(plan, graph.cardinality.size(), options.max_bytes);
  CheckEnergyRange(graph, options.temperature);
  return Elimination(graph, std::move(plan), options, stop).Run();
}

ExactResult SolveExact(const SparseCrf& model, const ExactOptions& options) {
  ExactResult result = SolveExact(ToFactorGraph(model), options);
  UpwardSum error;
  error.Add(result.error);
  for (const Edge& e : model.edges()) {
    const Matrix<double>& d = model.metric(e).distance;
    double worst = std::numeric_limits<double>::denorm_min();  // where the remainder underflows
    for (std::size_t k = 0; k < d.size(); ++k) {
      const double product = e.weight * d.data()[k];
      worst = std::max(worst, std::abs(std::fma(e.weight, d.data()[k], -product)));
    }
    // At T = 0 two labelings are compared, so it counts twice.
    error.Add(options.temperature == 0.0 ? 2.0 * worst : worst);
  }
  result.error = error.Above();
  return result;
}

}  // namespace submarine::internal
