#include "submarine/bound/verify/sparse/verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/safe_sum.h"
#include "submarine/bound/bound_internal.h"
#include "submarine/bound/temperature.h"

namespace submarine::internal {
namespace {

void CheckFlow(const SparseCrf& model, ExtensionKind kind, const Flow& flow) {
  const auto cuts = static_cast<std::size_t>(model.num_cuts());
  if (flow.edge.rows() != model.num_edges() || flow.edge.cols() != cuts) {
    throw InvalidInput(fmt::format("the flow is {} x {}, the model has {} edges and {} cuts",
                                   flow.edge.rows(), flow.edge.cols(), model.num_edges(), cuts));
  }
  for (std::size_t e = 0; e < flow.edge.rows(); ++e) {
    for (double q : flow.edge.row(e)) {
      if (!(std::abs(q) <= 1.0)) {
        throw InvalidInput(
            fmt::format("edge {} carries the flow {}, expected a value in [-1, 1]", e, q));
      }
    }
  }
  if (kind == ExtensionKind::kOptimal) return;
  if (flow.cycle.rows() != model.unary().rows() || flow.cycle.cols() != model.unary().cols()) {
    throw InvalidInput("the cycle flow does not have one entry per variable and label");
  }
  for (std::size_t a = 0; a < flow.cycle.rows(); ++a) {
    for (double r : flow.cycle.row(a)) {
      if (!(r >= 0.0 && r <= 1.0)) {
        throw InvalidInput(
            fmt::format("variable {} carries the cycle flow {}, expected a value in [0, 1]", a, r));
      }
    }
  }
}

// T log sum_i exp(-s_i / T); at T = 0 the largest -s_i.
double SoftMaximum(std::span<const double> s, double temperature) {
  const double least = *std::min_element(s.begin(), s.end());
  if (temperature == 0.0) return -least;
  double sum = 0.0;
  for (double value : s) sum += std::exp((least - value) / temperature);
  return temperature * std::log(sum) - least;
}

double NegativeUnaryShift(std::span<const double> phi, ExtensionKind kind) {
  return kind == ExtensionKind::kOptimal ? 0.0
                                         : std::min(0.0, *std::min_element(phi.begin(), phi.end()));
}

Matrix<double> Normalised(const SparseCrf& model, const Matrix<double>& marginals) {
  if (marginals.rows() != model.unary().rows() || marginals.cols() != model.unary().cols()) {
    throw InvalidInput(fmt::format(
        "the marginals are {} x {}, the model has {} variables and {} labels", marginals.rows(),
        marginals.cols(), model.unary().rows(), model.unary().cols()));
  }
  Matrix<double> y = marginals;
  for (std::size_t a = 0; a < y.rows(); ++a) {
    double sum = 0.0;
    for (double p : y.row(a)) sum += p >= 0.0 ? p : std::numeric_limits<double>::quiet_NaN();
    if (!(sum > 0.0 && std::isfinite(sum))) {
      throw InvalidInput(fmt::format("the marginals of variable {} are not a distribution", a));
    }
    for (double& p : y.row(a)) p /= sum;
  }
  return y;
}

// What a row lacks of 1, because its sum was rounded before the division. Adding it to the most
// probable label makes the row a distribution: the pair terms of edges need differences of true
// distributions.
struct Remainder {
  std::size_t label = 0;
  double mass = 0.0;
};

std::vector<Remainder> Remainders(const Matrix<double>& y) {
  std::vector<Remainder> rest(y.rows());
  for (std::size_t a = 0; a < y.rows(); ++a) {
    const auto row = y.row(a);
    ExactSum sum;
    sum.Add(1.0);
    for (double p : row) sum.Add(-p);
    rest[a] = {static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin()),
               sum.Value()};
  }
  return rest;
}

// Adds the terms of add(k, sum) for every k < n, in the same order for any number of threads.
template <class AddTerm>
void AddInParallel(std::size_t n, SafeSum* value, const AddTerm& add) {
  std::vector<SafeSum> parts((n + kRowGrain - 1) / kRowGrain);
  ParallelFor(n, kRowGrain, [&](std::size_t begin, std::size_t end) {
    SafeSum part;
    for (std::size_t k = begin; k < end; ++k) add(k, &part);
    parts[begin / kRowGrain] = part;
  });
  for (const SafeSum& part : parts) value->Add(part);
}

template <class NumLabels>
void CheckLabeling(std::span<const int> labeling, std::size_t variables,
                   const NumLabels& num_labels) {
  if (labeling.size() != variables) {
    throw InvalidInput(fmt::format("the labeling has {} labels, the model has {} variables",
                                   labeling.size(), variables));
  }
  for (std::size_t a = 0; a < variables; ++a) {
    if (labeling[a] < 0 || labeling[a] >= num_labels(a)) {
      throw InvalidInput(fmt::format("variable {} has the label {}, expected one of 0..{}", a,
                                     labeling[a], num_labels(a) - 1));
    }
  }
}

// Rows sum to 1 only up to rounding, which grows with the number of labels: hence y.size()
// roundings.
void AddEntropy(std::span<const double> y, double temperature, SafeSum* sum) {
  for (double p : y) {
    if (p > 0.0) sum->Add(-temperature * p * std::log(p), temperature * p, y.size());
  }
}

}  // namespace

Bound VerifiedUpper(const SparseCrf& model, ExtensionKind kind, const Flow& flow,
                    double temperature, TiltedPlace tilted) {
  CheckTemperature(temperature);
  CheckFlow(model, kind, flow);
  const LabelCuts& cuts = *model.labels().cuts;
  const std::size_t labels = model.unary().cols();
  FactorisedUpperMaker maker(model.unary().rows(), labels, temperature,
                             kind == ExtensionKind::kOptimal ? tilted : nullptr);
  SafeSum bound;
  bound.Add(-model.constant());
  AddInParallel(model.unary().rows(), &bound, [&](std::size_t a, SafeSum* sum) {
    const auto phi = model.unary().row(a);
    const double shift = NegativeUnaryShift(phi, kind);
    double magnitude = 0.0;
    std::vector<double> s(labels);
    std::vector<double> on_cut(static_cast<std::size_t>(cuts.num_cuts()), 0.0);
    const std::span<const Incidence> incident = model.incident(static_cast<int>(a));
    for (const Incidence& at : incident) {
      const Edge& e = model.edges()[at.edge];
      const double sign = static_cast<std::size_t>(e.a) == a ? 1.0 : -1.0;
      const std::vector<double>& length = model.metric(e).length;
      const auto q = flow.edge.row(at.edge);
      for (std::size_t c = 0; c < on_cut.size(); ++c) {
        const double sent = e.weight * length[c] * q[c];
        on_cut[c] += sign * sent;
        magnitude += std::abs(sent);
      }
    }
    for (std::size_t i = 0; i < labels; ++i) {
      if (kind == ExtensionKind::kOptimal) {
        s[i] = phi[i];
      } else {
        const std::size_t previous = (i + labels - 1) % labels;
        s[i] =
            flow.cycle(a, i) * (phi[i] - shift) - flow.cycle(a, previous) * (phi[previous] - shift);
      }
      magnitude = std::max(magnitude, std::abs(phi[i]));
    }
    for (int c = 0; c < cuts.num_cuts(); ++c) {
      for (int i : cuts.set(c))
        s[static_cast<std::size_t>(i)] += on_cut[static_cast<std::size_t>(c)];
    }
    sum->Add(SoftMaximum(s, temperature) - shift, magnitude + temperature,
             incident.size() + on_cut.size() + labels);
    maker.Set(a, s);
  });
  return maker.Finish(BoundMaker::Verified(bound.Above()));
}

Bound VerifiedUnaryUpper(const SparseCrf& model, double temperature, TiltedPlace tilted) {
  CheckTemperature(temperature);
  FactorisedUpperMaker maker(model.unary().rows(), model.unary().cols(), temperature, tilted);
  SafeSum bound;
  bound.Add(-model.constant());
  AddInParallel(model.unary().rows(), &bound, [&](std::size_t a, SafeSum* sum) {
    const auto phi = model.unary().row(a);
    double magnitude = temperature;
    for (double cost : phi) magnitude = std::max(magnitude, temperature + std::abs(cost));
    sum->Add(SoftMaximum(phi, temperature), magnitude, phi.size());
    maker.Set(a, phi);
  });
  return maker.Finish(BoundMaker::Verified(bound.Above()));
}

Bound VerifiedDual(const SparseCrf& model, ExtensionKind kind, const Matrix<double>& marginals,
                   double temperature) {
  CheckTemperature(temperature);
  const Matrix<double> y = Normalised(model, marginals);
  const LabelCuts& cuts = *model.labels().cuts;
  const std::size_t labels = y.cols();
  SafeSum value;
  value.Add(-model.constant());
  const std::vector<Remainder> rest = Remainders(y);
  AddInParallel(y.rows(), &value, [&](std::size_t a, SafeSum* sum) {
    const auto phi = model.unary().row(a);
    const double shift = NegativeUnaryShift(phi, kind);
    AddEntropy(y.row(a), temperature, sum);
    sum->Add(-shift);
    for (std::size_t i = 0; i < labels; ++i) {
      const double part = kind == ExtensionKind::kOptimal
                              ? y(a, i)
                              : std::max(0.0, y(a, i) - y(a, (i + 1) % labels));
      sum->AddProduct(-part, phi[i] - shift, labels);
    }
    const std::size_t m = rest[a].label;
    sum->Widen(std::abs(rest[a].mass) / std::numeric_limits<double>::epsilon() *
               (std::abs(phi[m] - shift) + std::abs(phi[(m + labels - 1) % labels] - shift)));
  });
  AddInParallel(model.num_edges(), &value, [&](std::size_t k, SafeSum* sum) {
    const Edge& e = model.edges()[k];
    const auto a = static_cast<std::size_t>(e.a);
    const auto b = static_cast<std::size_t>(e.b);
    for (int c = 0; c < cuts.num_cuts(); ++c) {
      const double length = model.metric(e).length[static_cast<std::size_t>(c)];
      if (length == 0.0) continue;
      double difference = 0.0;
      double magnitude = 0.0;
      const auto add = [&](double here) {
        difference += here;
        magnitude += std::abs(here);
      };
      for (int i : cuts.set(c))
        add(y(a, static_cast<std::size_t>(i)) - y(b, static_cast<std::size_t>(i)));
      if (cuts.contains(c, static_cast<int>(rest[a].label))) add(rest[a].mass);
      if (cuts.contains(c, static_cast<int>(rest[b].label))) add(-rest[b].mass);
      sum->Add(-e.weight * length * std::abs(difference), e.weight * length * magnitude, labels);
    }
  });
  return BoundMaker::Verified(value.Below());
}

Bound VerifiedLower(const SparseCrf& model, const Matrix<double>& marginals, double temperature) {
  CheckTemperature(temperature);
  const Matrix<double> y = Normalised(model, marginals);
  const std::size_t labels = y.cols();
  SafeSum value;
  value.Add(-model.constant());
  AddInParallel(y.rows(), &value, [&](std::size_t a, SafeSum* sum) {
    AddEntropy(y.row(a), temperature, sum);
    for (std::size_t i = 0; i < labels; ++i) sum->Add(-y(a, i) * model.unary()(a, i), 0.0, labels);
  });
  std::vector<Matrix<double>> columns;  // d(i,j) at (j,i): contiguous for one label of b
  for (const LabelMetric& metric : model.labels().metrics) {
    columns.emplace_back(labels, labels);
    for (std::size_t i = 0; i < labels; ++i) {
      for (std::size_t j = 0; j < labels; ++j) columns.back()(j, i) = metric.distance(i, j);
    }
  }
  AddInParallel(model.num_edges(), &value, [&](std::size_t k, SafeSum* sum) {
    const Edge& e = model.edges()[k];
    const auto y_a = y.row(static_cast<std::size_t>(e.a));
    const auto y_b = y.row(static_cast<std::size_t>(e.b));
    std::vector<double> expected(labels, 0.0);  // E d(i, x_b)
    for (std::size_t j = 0; j < labels; ++j) {
      if (y_b[j] == 0.0) continue;
      const double p = y_b[j];
      const double* d = columns[static_cast<std::size_t>(e.metric)].row(j).data();
      for (std::size_t i = 0; i < labels; ++i) expected[i] += p * d[i];
    }
    for (std::size_t i = 0; i < labels; ++i) {
      // The roundings of both rows and of the sum.
      if (y_a[i] != 0.0) sum->Add(-e.weight * y_a[i] * expected[i], 0.0, 2 * labels);
    }
  });
  return BoundMaker::Verified(value.Below());
}

Bound VerifiedEnergy(const SparseCrf& model, std::span<const int> labeling) {
  CheckLabeling(labeling, model.unary().rows(), [&](std::size_t) { return model.num_labels(); });
  ExactSum energy;
  energy.Add(model.constant());
  for (std::size_t a = 0; a < labeling.size(); ++a)
    energy.Add(model.unary()(a, static_cast<std::size_t>(labeling[a])));
  for (const Edge& e : model.edges()) {
    const auto i = static_cast<std::size_t>(labeling[static_cast<std::size_t>(e.a)]);
    const auto j = static_cast<std::size_t>(labeling[static_cast<std::size_t>(e.b)]);
    energy.AddProduct(e.weight, model.metric(e).distance(i, j));
  }
  return BoundMaker::Verified(energy.Above());
}

Bound VerifiedEnergy(const FactorGraph& graph, std::span<const int> labeling) {
  Validate(graph);
  CheckLabeling(labeling, graph.cardinality.size(),
                [&](std::size_t a) { return graph.cardinality[a]; });
  ExactSum energy;
  for (const Factor& factor : graph.factors) {
    std::size_t index = 0;
    for (int a : factor.scope) {
      const auto variable = static_cast<std::size_t>(a);
      index = index * static_cast<std::size_t>(graph.cardinality[variable]) +
              static_cast<std::size_t>(labeling[variable]);
    }
    energy.Add(factor.energy[index]);
  }
  return BoundMaker::Verified(energy.Above());
}

}  // namespace submarine::internal
