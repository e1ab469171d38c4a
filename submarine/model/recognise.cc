#include "submarine/model/recognise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/safe_sum.h"
#include "submarine/labels/metric_fit.h"

namespace submarine::internal {
namespace {

// Tables come from decimal files: entries that differ by less than this, relative to the largest
// entry, count as equal.
constexpr double kTolerance = 1e-9;
constexpr double kRoundingTolerance = 1e-14;  // for metrics, where kTolerance changes too much

// A larger defect, relative to the scale of log Z, would dominate the width of the interval.
constexpr double kLargestDefect = 1e-6;
constexpr std::size_t kNoEdge = std::numeric_limits<std::size_t>::max();

using Pair = std::pair<int, int>;

int CommonCardinality(const FactorGraph& graph) {
  if (graph.cardinality.empty())
    throw NotExpressible("the model has no variables, expected at least 1");
  const int labels = graph.cardinality.front();
  for (std::size_t a = 0; a < graph.cardinality.size(); ++a) {
    if (graph.cardinality[a] != labels) {
      throw NotExpressible(
          fmt::format("variable 0 has {} labels and variable {} has {}; a submodular extension "
                      "needs the same labels everywhere",
                      labels, a, graph.cardinality[a]));
    }
  }
  if (labels < 2 || labels > kMaxLabels) {
    throw NotExpressible(fmt::format(
        "the variables have {} label{} each; a submodular extension needs between 2 and {}", labels,
        labels == 1 ? "" : "s", kMaxLabels));
  }
  return labels;
}

void RequireFinite(const Factor& factor, std::size_t index, int num_labels) {
  for (std::size_t k = 0; k < factor.energy.size(); ++k) {
    if (std::isfinite(factor.energy[k])) continue;
    std::string where;
    std::size_t rest = k;
    for (auto variable = factor.scope.rbegin(); variable != factor.scope.rend(); ++variable) {
      where = fmt::format("variable {} = {}{}{}", *variable,
                          rest % static_cast<std::size_t>(num_labels), where.empty() ? "" : ", ",
                          where);
      rest /= static_cast<std::size_t>(num_labels);
    }
    throw NotExpressible(fmt::format(
        "factor {} forbids {} (its potential is 0, its energy infinite); a submodular extension "
        "needs finite energies",
        index, where.empty() ? "everything" : where));
  }
}

// The sum of the factors on a pair (a,b), a < b, split into u_i + v_j + w d(i,j).
struct PairTable {
  Matrix<double> energy;  // of (x_a, x_b), summed in double
  std::vector<const Factor*> factors;
  std::vector<double> u;
  std::vector<double> v;
  std::size_t edge = kNoEdge;  // index in the model
};

// The factors sorted by their scopes.
struct Tables {
  std::vector<double> constants;
  std::vector<std::vector<std::span<const double>>> unary;  // per variable, the terms of its unary
  std::map<Pair, PairTable> pairs;
};

Tables CollectTables(const FactorGraph& graph, int num_labels) {
  const auto labels = static_cast<std::size_t>(num_labels);
  Tables tables;
  tables.unary.resize(graph.cardinality.size());
  for (std::size_t f = 0; f < graph.factors.size(); ++f) {
    const Factor& factor = graph.factors[f];
    RequireFinite(factor, f, num_labels);
    if (factor.scope.empty()) {
      tables.constants.push_back(factor.energy.front());
    } else if (factor.scope.size() == 1) {
      tables.unary[static_cast<std::size_t>(factor.scope[0])].emplace_back(factor.energy);
    } else if (factor.scope.size() == 2) {
      const int a = std::min(factor.scope[0], factor.scope[1]);
      const int b = std::max(factor.scope[0], factor.scope[1]);
      PairTable& table = tables.pairs[{a, b}];
      if (table.factors.empty()) table.energy = Matrix<double>(labels, labels);
      table.factors.push_back(&factor);
      for (std::size_t i = 0; i < labels; ++i) {
        for (std::size_t j = 0; j < labels; ++j) {
          (factor.scope[0] == a ? table.energy(i, j) : table.energy(j, i)) +=
              factor.energy[i * labels + j];
        }
      }
    } else {
      throw NotExpressible(fmt::format(
          "factor {} has {} variables; only unary and pairwise factors have a submodular "
          "extension here",
          f, factor.scope.size()));
    }
  }
  return tables;
}

// Sets the modular part u, v of a pair table; returns the rest, d, symmetric with zero diagonal.
Matrix<double> TakeModularPart(const Pair& pair, PairTable* table) {
  const Matrix<double>& e = table->energy;
  const std::size_t labels = e.rows();
  const auto [a, b] = pair;
  double largest = 1.0;
  for (std::size_t k = 0; k < e.size(); ++k) largest = std::max(largest, std::abs(e.data()[k]));
  const auto h = [&](std::size_t i) { return e(i, 0) - e(0, i); };
  Matrix<double> d(labels, labels);
  for (std::size_t i = 0; i < labels; ++i) {
    for (std::size_t j = i + 1; j < labels; ++j) {
      const double defect = (e(i, j) - e(j, i)) - (h(i) - h(j));
      if (std::abs(defect) > kTolerance * largest) {
        throw NotExpressible(
            fmt::format("the pair ({},{}) is asymmetric beyond unaries: its energies of labels "
                        "({},{}) and ({},{}) "
                        "differ by {:.6g}, where unaries explain {:.6g}",
                        a, b, i, j, j, i, e(i, j) - e(j, i), h(i) - h(j)));
      }
      d(i, j) = d(j, i) = 0.5 * (e(i, j) + e(j, i) - e(i, i) - e(j, j));
    }
  }
  for (std::size_t i = 0; i < labels; ++i) {
    table->u.push_back(0.5 * (e(i, i) + h(i)));
    table->v.push_back(0.5 * (e(i, i) - h(i)));
  }
  for (std::size_t k = 0; k < d.size(); ++k) {
    if (std::abs(d.data()[k]) <= kTolerance * largest) d.data()[k] = 0.0;
  }
  return d;
}

void RequireAttractive(const Pair& pair, const Matrix<double>& d) {
  for (std::size_t i = 0; i < d.rows(); ++i) {
    for (std::size_t j = 0; j < d.rows(); ++j) {
      if (d(i, j) < 0.0) {
        throw NotExpressible(
            fmt::format("the pair ({},{}) is repulsive: unequal labels {} and {} cost {:.6g} less "
                        "than equal ones; a "
                        "submodular extension needs attractive pairs",
                        pair.first, pair.second, i, j, -d(i, j)));
      }
    }
  }
}

// d = weight * metric, where the largest entry of the metric is 1.
void RequireTriangles(const Pair& pair, const Matrix<double>& metric, double weight) {
  const std::size_t labels = metric.rows();
  for (std::size_t i = 0; i < labels; ++i) {
    for (std::size_t j = i + 1; j < labels; ++j) {
      for (std::size_t k = 0; k < labels; ++k) {
        const double detour = metric(i, k) + metric(k, j);
        if (metric(i, j) > detour + kTolerance) {
          throw NotExpressible(fmt::format(
              "the pair ({},{}) is not a metric: d({},{}) = {:.6g} exceeds d({},{}) + "
              "d({},{}) = {:.6g}",
              pair.first, pair.second, i, j, weight * metric(i, j), i, k, k, j, weight * detour));
        }
      }
    }
  }
}

// Finds a metric among those seen, or adds it, so that proportional tables share one.
class MetricIndex {
 public:
  explicit MetricIndex(double tolerance) : tolerance_(tolerance) {}

  int Find(const Matrix<double>& metric) {
    // The key is coarse because of rounding; metrics with neighbouring keys are compared in full.
    double sum = 0.0;
    for (std::size_t k = 0; k < metric.size(); ++k) sum += metric.data()[k];
    for (auto it = by_sum_.lower_bound(sum * (1.0 - tolerance_));
         it != by_sum_.end() && it->first <= sum * (1.0 + tolerance_); ++it) {
      if (Equal(metrics_[static_cast<std::size_t>(it->second)], metric)) return it->second;
    }
    const int index = static_cast<int>(metrics_.size());
    metrics_.push_back(metric);
    by_sum_.emplace(sum, index);
    return index;
  }

  const std::vector<Matrix<double>>& metrics() const { return metrics_; }

 private:
  bool Equal(const Matrix<double>& x, const Matrix<double>& y) const {
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (std::abs(x.data()[k] - y.data()[k]) > tolerance_) return false;
    }
    return true;
  }

  double tolerance_;
  std::vector<Matrix<double>> metrics_;
  std::multimap<double, int> by_sum_;
};

// |x|, rounded upwards.
double Magnitude(const ExactSum& x) { return std::max(std::abs(x.Above()), std::abs(x.Below())); }

// The sum rounded to one double; the rounding error is added to the defect.
double Rounded(ExactSum sum, UpwardSum* defect) {
  const double value = sum.Value();
  sum.Add(-value);
  defect->Add(Magnitude(sum));
  return value;
}

Matrix<double> SumOfUnaries(const Tables& tables, int num_labels, UpwardSum* defect) {
  Matrix<double> unary(tables.unary.size(), static_cast<std::size_t>(num_labels));
  for (std::size_t a = 0; a < unary.rows(); ++a) {
    double worst = 0.0;
    for (std::size_t i = 0; i < unary.cols(); ++i) {
      ExactSum sum;
      for (std::span<const double> part : tables.unary[a]) sum.Add(part[i]);
      UpwardSum lost;
      unary(a, i) = Rounded(sum, &lost);
      worst = std::max(worst, lost.Above());
    }
    defect->Add(worst);
  }
  return unary;
}

// The largest |e_ij - u_i - v_j - w d(i,j)| over all labels, with the original factors and the
// model's own w d.
double PairDefect(const PairTable& table, const SparseCrf& model) {
  const std::size_t labels = table.u.size();
  const Edge* edge = table.edge == kNoEdge ? nullptr : &model.edges()[table.edge];
  double worst = 0.0;
  for (std::size_t i = 0; i < labels; ++i) {
    for (std::size_t j = 0; j < labels; ++j) {
      ExactSum difference;
      for (const Factor* factor : table.factors) {
        const bool straight = factor->scope[0] < factor->scope[1];
        difference.Add(factor->energy[straight ? i * labels + j : j * labels + i]);
      }
      difference.Add(-table.u[i]);
      difference.Add(-table.v[j]);
      if (edge != nullptr) difference.AddProduct(-edge->weight, model.metric(*edge).distance(i, j));
      worst = std::max(worst, Magnitude(difference));
    }
  }
  return worst;
}

// The rough size of |log Z|: the energy of a plausible labeling plus the largest possible entropy.
double ScaleOfAnswer(const SparseCrf& model) {
  std::vector<int> labels;
  for (std::size_t a = 0; a < model.unary().rows(); ++a) {
    const auto phi = model.unary().row(a);
    labels.push_back(static_cast<int>(std::min_element(phi.begin(), phi.end()) - phi.begin()));
  }
  return std::abs(model.Energy(labels)) +
         static_cast<double>(model.num_variables()) * std::log(model.num_labels());
}

// The model of the tables, whose modular parts are known, and its defect. Metrics that agree within
// the tolerance are merged.
RecognisedCrf Assemble(Tables* tables, int num_labels, const std::map<Pair, Matrix<double>>& d,
                       double tolerance) {
  MetricIndex index(tolerance);
  std::vector<Edge> edges;
  for (auto& [pair, table] : tables->pairs) {
    Matrix<double> metric = d.at(pair);
    const double weight = *std::max_element(metric.data(), metric.data() + metric.size());
    if (weight == 0.0) continue;
    for (std::size_t k = 0; k < metric.size(); ++k) metric.data()[k] /= weight;
    const std::size_t known = index.metrics().size();
    table.edge = edges.size();
    edges.push_back({pair.first, pair.second, weight, index.Find(metric)});
    // Cubic in the number of labels, hence checked once per metric and not once per pair.
    if (index.metrics().size() > known) RequireTriangles(pair, metric, weight);
  }
  UpwardSum defect;
  ExactSum constant;
  for (double energy : tables->constants) constant.Add(energy);
  const double rounded_constant = Rounded(constant, &defect);
  Matrix<double> unary = SumOfUnaries(*tables, num_labels, &defect);
  LabelSpace labels =
      index.metrics().empty() ? PottsLabels(num_labels) : FitMetrics(index.metrics());
  RecognisedCrf result{{std::move(unary), std::move(edges), std::move(labels), rounded_constant},
                       0.0};
  for (const auto& [pair, table] : tables->pairs) defect.Add(PairDefect(table, result.model));
  result.defect = defect.Above();
  return result;
}

}  // namespace

RecognisedCrf RecogniseSparseCrf(const FactorGraph& graph) {
  Validate(graph);
  const int num_labels = CommonCardinality(graph);
  Tables tables = CollectTables(graph, num_labels);
  std::map<Pair, Matrix<double>> distances;
  for (auto& [pair, table] : tables.pairs) {
    Matrix<double>& d = distances[pair];
    d = TakeModularPart(pair, &table);
    table.energy = {};
    tables.unary[static_cast<std::size_t>(pair.first)].emplace_back(table.u);
    tables.unary[static_cast<std::size_t>(pair.second)].emplace_back(table.v);
    RequireAttractive(pair, d);
  }
  RecognisedCrf result = Assemble(&tables, num_labels, distances, kTolerance);
  const double allowed = kLargestDefect * ScaleOfAnswer(result.model);
  // The defect may be large because metrics that differ slightly were merged.
  if (!(result.defect <= allowed))
    result = Assemble(&tables, num_labels, distances, kRoundingTolerance);
  if (!(result.defect <= allowed)) {
    throw NotExpressible(
        fmt::format("the tables differ from attractive metrics by up to {:.3g} in energy, too much "
                    "compared with energies and entropies of about {:.3g}",
                    result.defect, allowed / kLargestDefect));
  }
  return result;
}

}  // namespace submarine::internal
