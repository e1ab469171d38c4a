#include "submarine/bound/verify/sparse/trw_verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/safe_sum.h"
#include "submarine/bound/bound_internal.h"
#include "submarine/bound/temperature.h"

namespace submarine::internal {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Sums of terms up to this, and a few times it, stay finite: a finite energy must not become
// infinite, which would mean forbidden.
constexpr double kLargestTotal = 1e300;

// Far more than the roundings of numbers that are too small to have a relative error.
constexpr double kTinyError = 1e-300;

// Adds x, which is off by at most `error`.
void AddWithError(double x, double error, SafeSum* sum) {
  sum->Add(x);
  sum->Widen(error / kEpsilon);
}

// Either kind of model, as energies that may be +inf.
struct PlainModel {
  std::vector<std::size_t> labels;         // of every variable
  std::vector<std::vector<double>> unary;  // phi_a(i)
  std::vector<double> unary_error;         // of the largest entry, where it is a sum
  std::vector<Link> links;
  std::function<double(std::size_t edge, std::size_t i, std::size_t j)> pair;
  // If known, the table that an edge shares with others up to a factor, and the factor.
  std::function<std::pair<int, double>(std::size_t edge)> shared_table = {};
  // The largest magnitude and the least of an edge's energies, where known without a search.
  std::function<std::pair<double, double>(std::size_t edge)> range = {};
  std::vector<double> constants;
};

PlainModel Plain(const SparseCrf& model) {
  PlainModel plain;
  plain.labels.assign(model.unary().rows(), model.unary().cols());
  for (std::size_t a = 0; a < model.unary().rows(); ++a) {
    plain.unary.emplace_back(model.unary().row(a).begin(), model.unary().row(a).end());
  }
  plain.unary_error.assign(plain.unary.size(), 0.0);
  plain.links = Links(model);
  plain.pair = [&model](std::size_t e, std::size_t i, std::size_t j) {
    const Edge& edge = model.edges()[e];
    return edge.weight * model.metric(edge).distance(i, j);
  };
  plain.shared_table = [&model](std::size_t e) {
    return std::pair(model.edges()[e].metric, model.edges()[e].weight);
  };
  std::vector<double> largest;
  for (const LabelMetric& metric : model.labels().metrics) {
    largest.push_back(
        *std::max_element(metric.distance.data(), metric.distance.data() + metric.distance.size()));
  }
  plain.range = [&model, largest](std::size_t e) {  // distances are >= 0, and 0 for equal labels
    const Edge& edge = model.edges()[e];
    return std::pair(edge.weight * largest[static_cast<std::size_t>(edge.metric)], 0.0);
  };
  plain.constants = {model.constant()};
  return plain;
}

double LargestFinite(std::span<const double> values) {
  double largest = 0.0;
  for (double v : values) {
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  }
  return largest;
}

PlainModel Plain(const FactorGraph& graph) {
  Validate(graph);
  double total = 0.0;
  for (const Factor& factor : graph.factors) total += LargestFinite(factor.energy);
  if (!(total <= kLargestTotal)) {
    throw InvalidInput(
        fmt::format("the energies are too large to add up: their largest terms sum to {:g}, "
                    "expected at most {:g}",
                    total, kLargestTotal));
  }
  PlainModel plain;
  for (int labels : graph.cardinality) {
    plain.labels.push_back(static_cast<std::size_t>(labels));
    plain.unary.emplace_back(static_cast<std::size_t>(labels), 0.0);
  }
  plain.unary_error.assign(plain.unary.size(), 0.0);
  plain.links = Links(graph);
  std::vector<const Factor*> pairs;
  for (std::size_t f = 0; f < graph.factors.size(); ++f) {
    const Factor& factor = graph.factors[f];
    if (factor.scope.empty()) {
      plain.constants.push_back(factor.energy[0]);
    } else if (factor.scope.size() == 1) {
      const auto a = static_cast<std::size_t>(factor.scope[0]);
      double largest = 0.0;
      for (std::size_t i = 0; i < plain.unary[a].size(); ++i) {
        plain.unary[a][i] += factor.energy[i];
        if (std::isfinite(plain.unary[a][i]))
          largest = std::max({largest, std::abs(plain.unary[a][i]), std::abs(factor.energy[i])});
      }
      plain.unary_error[a] += kEpsilon * largest;
    } else if (factor.scope.size() == 2) {
      pairs.push_back(&factor);
    } else {
      throw NotExpressible(
          fmt::format("factor {} has {} variables, but tree-reweighted bounds need at most 2", f,
                      factor.scope.size()));
    }
  }
  plain.pair = [pairs, &graph](std::size_t e, std::size_t i, std::size_t j) {
    const auto columns =
        static_cast<std::size_t>(graph.cardinality[static_cast<std::size_t>(pairs[e]->scope[1])]);
    return pairs[e]->energy[i * columns + j];
  };
  return plain;
}

// T log sum_k exp(value_k / T) minus the largest value; 0 at T = 0.
double ExcessOverLargest(const std::vector<double>& value, double largest, double temperature) {
  if (temperature == 0.0) return 0.0;
  double sum = 0.0;
  for (double v : value) sum += std::exp((v - largest) / temperature);
  return temperature * std::log(sum);
}

// exp(-E_ij / T) of tables that several edges share, which saves an exponential for every pair of
// labels of every edge. Tables are symmetric.
class SharedKernels {
 public:
  SharedKernels(const PlainModel& model, const std::vector<double>& scale, double temperature)
      : model_(model), scale_(scale), temperature_(temperature) {}

  struct Kernel {
    Matrix<double> factor;
    double largest = 0.0;  // energy
  };

  // Null for an edge with a table of its own, or when too many different factors make it not pay.
  const Kernel* Of(std::size_t edge) {
    if (!model_.shared_table || !(temperature_ > 0.0)) return nullptr;
    auto [table, factor] = model_.shared_table(edge);
    factor *= scale_[edge];
    const auto found = kernels_.find({table, factor});
    if (found != kernels_.end()) return &found->second;
    if (kernels_.size() >= kMostKernels) return nullptr;
    return &kernels_.emplace(std::pair(table, factor), Make(edge)).first->second;
  }

 private:
  static constexpr std::size_t kMostKernels = 64;

  Kernel Make(std::size_t edge) const {
    const std::size_t n = model_.labels[static_cast<std::size_t>(model_.links[edge].a)];
    Kernel kernel{Matrix<double>(n, n)};
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const double energy = scale_[edge] * model_.pair(edge, i, j);
        kernel.factor(i, j) = std::exp(-energy / temperature_);
        kernel.largest = std::max(kernel.largest, std::abs(energy));
      }
    }
    return kernel;
  }

  const PlainModel& model_;
  const std::vector<double>& scale_;
  double temperature_;
  std::map<std::pair<int, double>, Kernel> kernels_;
};

// message_j = T log sum_i exp((below_i - E_ij) / T) through a kernel. Arguments of exponentials are
// off by ulps of their size, which times T is at most that of the energies and of `below`: the
// caller allows for this. Returns false where sums are so small that products may have underflowed.
bool SendThrough(const SharedKernels::Kernel& kernel, const std::vector<double>& below,
                 double temperature, std::vector<double>* message) {
  constexpr double kSafeSum = 1e-200;
  const double largest = *std::max_element(below.begin(), below.end());
  std::fill(message->begin(), message->end(), 0.0);
  for (std::size_t i = 0; i < below.size(); ++i) {
    const double p = std::exp((below[i] - largest) / temperature);
    if (p == 0.0) continue;
    const double* factor = kernel.factor.row(i).data();
    double* sum = message->data();
    for (std::size_t j = 0; j < message->size(); ++j) sum[j] += p * factor[j];
  }
  for (double& m : *message) {
    if (!(m >= kSafeSum)) return false;
    m = largest + temperature * std::log(m);
  }
  return true;
}

// T log Z_T of one forest by sum-product towards the roots. `unary` are costs; the energies of edge
// e are multiplied by scale[e]. Messages are kept relative to their largest entry. Log-sum-exp does
// not amplify errors, so the errors of all messages simply add up: those of values are proportional
// to their size, those of T log sum exp to T.
SafeSum ForestLogPartition(const PlainModel& model, std::span<const std::size_t> edges,
                           const std::vector<double>& scale, std::vector<std::vector<double>> value,
                           double temperature) {
  const RootedForest forest = Rooted(edges, model.links, static_cast<int>(model.labels.size()));
  SharedKernels kernels(model, scale, temperature);
  SafeSum total;
  std::vector<double> terms;
  for (std::size_t k = forest.nodes.size(); k-- > 0;) {
    const RootedForest::Node& node = forest.nodes[k];
    const std::vector<double>& below = value[static_cast<std::size_t>(node.variable)];
    const double rounding = kEpsilon * (16.0 + static_cast<double>(below.size()));
    if (node.parent < 0) {
      const double largest = *std::max_element(below.begin(), below.end());
      total.Add(largest);
      if (!std::isfinite(largest)) return total;
      AddWithError(ExcessOverLargest(below, largest, temperature),
                   rounding * (temperature + LargestFinite(below)) + kTinyError, &total);
      continue;
    }
    std::vector<double>& above = value[static_cast<std::size_t>(node.parent)];
    std::vector<double> message(above.size());
    double magnitude = LargestFinite(below) + LargestFinite(above);
    const SharedKernels::Kernel* kernel = kernels.Of(node.edge);
    const bool sent = kernel != nullptr && SendThrough(*kernel, below, temperature, &message);
    if (sent) magnitude = std::max(magnitude, kernel->largest);
    for (std::size_t j = 0; j < above.size() && !sent; ++j) {
      terms.assign(below.size(), 0.0);
      for (std::size_t i = 0; i < below.size(); ++i) {
        const double energy = scale[node.edge] * (node.parent_is_a ? model.pair(node.edge, j, i)
                                                                   : model.pair(node.edge, i, j));
        terms[i] = below[i] - energy;
        if (std::isfinite(energy)) magnitude = std::max(magnitude, std::abs(energy));
      }
      const double largest = *std::max_element(terms.begin(), terms.end());
      message[j] = std::isfinite(largest) ? largest + ExcessOverLargest(terms, largest, temperature)
                                          : largest;
    }
    const double shift = *std::max_element(message.begin(), message.end());
    AddWithError(shift, 4.0 * rounding * (temperature + magnitude) + kTinyError, &total);
    if (!std::isfinite(shift)) return total;
    for (std::size_t j = 0; j < above.size(); ++j) above[j] += message[j] - shift;
  }
  return total;
}

void CheckEvidence(const PlainModel& model, const TrwEvidence& evidence) {
  const std::size_t variables = model.labels.size();
  CheckForests(evidence.forests, model.links, static_cast<int>(variables));
  if (evidence.unary.size() != evidence.forests.size()) {
    throw InvalidInput(fmt::format("there are unaries for {} forests, expected {}",
                                   evidence.unary.size(), evidence.forests.size()));
  }
  double total = 0.0;
  for (std::size_t f = 0; f < evidence.unary.size(); ++f) {
    const Matrix<double>& unary = evidence.unary[f];
    if (unary.rows() != variables) {
      throw InvalidInput(fmt::format("the unaries of forest {} have {} rows for {} variables", f,
                                     unary.rows(), variables));
    }
    for (std::size_t a = 0; a < variables; ++a) {
      if (unary.cols() < model.labels[a]) {
        throw InvalidInput(
            fmt::format("the unaries of forest {} have {} labels, variable {} has {}", f,
                        unary.cols(), a, model.labels[a]));
      }
      for (std::size_t i = 0; i < model.labels[a]; ++i) {
        if (!std::isfinite(unary(a, i))) {
          throw InvalidInput(
              fmt::format("forest {} has the unary {} at variable {}, label {}, expected a finite "
                          "number",
                          f, unary(a, i), a, i));
        }
      }
      total += LargestFinite(unary.row(a).first(model.labels[a]));
    }
  }
  if (!(total <= kLargestTotal)) {
    throw InvalidInput(fmt::format(
        "the unaries of the forests are too large to add up: their largest sum to {:g}, expected "
        "at most {:g}",
        total, kLargestTotal));
  }
}

// Adds, per variable, the most by which the forests' average exceeds the model's unaries.
void AddResiduals(const PlainModel& model, const TrwEvidence& evidence,
                  const std::vector<double>& weight, SafeSum* bound) {
  for (std::size_t a = 0; a < model.labels.size(); ++a) {
    double excess = -kInfinity;
    double magnitude = 0.0;
    for (std::size_t i = 0; i < model.labels[a]; ++i) {
      double average = 0.0;
      double here = std::isfinite(model.unary[a][i]) ? std::abs(model.unary[a][i]) : 0.0;
      for (std::size_t f = 0; f < weight.size(); ++f) {
        average += weight[f] * evidence.unary[f](a, i);
        here += weight[f] * std::abs(evidence.unary[f](a, i));
      }
      excess = std::max(excess, average - model.unary[a][i]);
      magnitude = std::max(magnitude, here);
    }
    const auto additions = static_cast<double>(weight.size());
    AddWithError(excess, kEpsilon * (4.0 + additions) * magnitude + model.unary_error[a], bound);
  }
}

double LargestPairMagnitude(const PlainModel& model, std::size_t e, double* least) {
  if (model.range) {
    const auto [largest, smallest] = model.range(e);
    *least = smallest;
    return largest;
  }
  double largest = 0.0;
  *least = kInfinity;
  for (std::size_t i = 0; i < model.labels[static_cast<std::size_t>(model.links[e].a)]; ++i) {
    for (std::size_t j = 0; j < model.labels[static_cast<std::size_t>(model.links[e].b)]; ++j) {
      const double energy = model.pair(e, i, j);
      *least = std::min(*least, energy);
      if (std::isfinite(energy)) largest = std::max(largest, std::abs(energy));
    }
  }
  return largest;
}

// Of the unaries phi - delta values, if there are values: shifting those of all forests alike leaves
// the residuals as they are.
double TrwUpper(const PlainModel& model, const TrwEvidence& evidence, double temperature,
                const Matrix<double>* values = nullptr, double delta = 0.0) {
  CheckTemperature(temperature);
  CheckEvidence(model, evidence);
  std::vector<double> weight;
  double total = 0.0;
  for (const WeightedForest& forest : evidence.forests) total += forest.weight;
  for (const WeightedForest& forest : evidence.forests) weight.push_back(forest.weight / total);

  std::vector<double> scale(model.links.size(), 0.0);
  for (std::size_t f = 0; f < weight.size(); ++f) {
    for (std::size_t e : evidence.forests[f].edges) scale[e] += weight[f];
  }
  SafeSum bound;
  for (double constant : model.constants) bound.Add(-constant);
  const auto terms = static_cast<double>(weight.size());
  double scaled = 0.0;
  for (std::size_t e = 0; e < scale.size(); ++e) {
    double least = 0.0;
    const double magnitude = LargestPairMagnitude(model, e, &least);
    if (scale[e] > 0.0) {
      scale[e] = 1.0 / scale[e];
      scaled += scale[e] * magnitude;
      if (!(scaled <= kLargestTotal)) return kInfinity;
      // rho_e and its reciprocal are rounded, so the parts add up to the edge only approximately.
      bound.Widen((8.0 + terms) * magnitude);
    } else {
      bound.Add(-least);
    }
  }
  AddResiduals(model, evidence, weight, &bound);
  const auto tilt = [&](std::size_t a, std::size_t i) {
    return values == nullptr ? 0.0 : delta * (*values)(a, i);
  };
  double largest_tilts = 0.0;
  for (std::size_t a = 0; values != nullptr && a < model.labels.size(); ++a) {
    double largest = 0.0;
    for (std::size_t i = 0; i < model.labels[a]; ++i)
      largest = std::max(largest, std::abs(tilt(a, i)));
    largest_tilts += largest;
    // A product and a difference, rounded.
    double magnitude = largest;
    for (const Matrix<double>& unary : evidence.unary)
      magnitude = std::max(magnitude, largest + LargestFinite(unary.row(a).first(model.labels[a])));
    bound.Widen(4.0 * magnitude);
  }
  if (!(largest_tilts <= kLargestTotal)) return kInfinity;
  std::vector<SafeSum> parts(weight.size());
  ParallelFor(weight.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t f = begin; f < end; ++f) {
      if (weight[f] == 0.0) continue;
      std::vector<std::vector<double>> value;
      for (std::size_t a = 0; a < model.labels.size(); ++a) {
        value.emplace_back(model.labels[a]);
        for (std::size_t i = 0; i < model.labels[a]; ++i)
          value[a][i] = tilt(a, i) - evidence.unary[f](a, i);
      }
      parts[f] = ForestLogPartition(model, evidence.forests[f].edges, scale, std::move(value),
                                    temperature);
    }
  });
  for (std::size_t f = 0; f < weight.size(); ++f) {
    if (weight[f] > 0.0) bound.AddScaled(weight[f], parts[f]);
  }
  return bound.Above();
}

template <class Model>
class TiltedTrw : public TiltedUpper {
 public:
  TiltedTrw(const Model& model, const TrwEvidence& evidence, double temperature)
      : model_(model),
        plain_(Plain(model_)),
        evidence_(evidence),
        temperature_(temperature),
        untilted_(BoundMaker::Verified(TrwUpper(plain_, evidence_, temperature))) {}

  Bound LogZ(const Matrix<double>& values, double delta) const override {
    return BoundMaker::Verified(TrwUpper(plain_, evidence_, temperature_, &values, delta));
  }
  Bound untilted() const override { return untilted_; }
  double temperature() const override { return temperature_; }
  std::size_t num_variables() const override { return plain_.labels.size(); }
  std::size_t num_labels(std::size_t variable) const override { return plain_.labels[variable]; }

 private:
  const Model model_;
  const PlainModel plain_;  // of model_, to which it refers
  const TrwEvidence evidence_;
  double temperature_;
  Bound untilted_;
};

template <class Model>
Bound VerifiedAndTilted(const Model& model, const TrwEvidence& evidence, double temperature,
                        TiltedPlace place) {
  if (place == nullptr || temperature == 0.0)
    return BoundMaker::Verified(TrwUpper(Plain(model), evidence, temperature));
  *place = std::make_shared<TiltedTrw<Model>>(model, evidence, temperature);
  return (*place)->untilted();
}

}  // namespace

Bound VerifiedTrwUpper(const SparseCrf& model, const TrwEvidence& evidence, double temperature,
                       TiltedPlace tilted) {
  return VerifiedAndTilted(model, evidence, temperature, tilted);
}

Bound VerifiedTrwUpper(const FactorGraph& graph, const TrwEvidence& evidence, double temperature,
                       TiltedPlace tilted) {
  return VerifiedAndTilted(graph, evidence, temperature, tilted);
}

}  // namespace submarine::internal
