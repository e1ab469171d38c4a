// E(x) = constant + sum_a phi_a(x_a) + sum over edges (a,b) of w_ab d_m(x_a, x_b) (docs/math.md,
// "Model")
//
// Edges are unordered pairs, each counted once; m is the edge's metric, one of the label space's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/labels/label_cuts.h"
#include "submarine/model/factor_graph.h"

namespace submarine {

struct Edge {
  int a = 0;
  int b = 0;
  double weight = 1.0;
  int metric = 0;  // index into LabelSpace::metrics
};

// One edge at a variable, with the variable's sign in the flow of the edge: +1 where it is `a`.
struct Incidence {
  std::uint32_t edge;
  std::int32_t sign;
};

class SparseCrf {
 public:
  // Throws InvalidInput: non-finite unaries, sizes that do not match, self loops, endpoints out of
  // range, weights or cut lengths that are negative or not finite, energies whose sum could
  // overflow.
  SparseCrf(Matrix<double> unary, std::vector<Edge> edges, LabelSpace labels,
            double constant = 0.0);

  std::size_t num_variables() const { return unary_.rows(); }
  int num_labels() const { return labels_.num_labels(); }
  int num_cuts() const { return labels_.cuts->num_cuts(); }
  std::size_t num_edges() const { return edges_.size(); }

  const Matrix<double>& unary() const { return unary_; }
  const std::vector<Edge>& edges() const { return edges_; }
  const LabelSpace& labels() const { return labels_; }
  double constant() const { return constant_; }
  const LabelMetric& metric(const Edge& e) const {
    return labels_.metrics[static_cast<std::size_t>(e.metric)];
  }

  // The edges incident to variable a, in edge order.
  std::span<const Incidence> incident(std::size_t a) const {
    return {incidence_.data() + incidence_begin_[a], incidence_.data() + incidence_begin_[a + 1]};
  }

  double Energy(std::span<const int> labeling) const;

  // One line for people and certificates: "sparse CRF, 100 variables, 180 edges, 20 labels, metric
  // potts".
  std::string Description() const;

 private:
  Matrix<double> unary_;
  std::vector<Edge> edges_;
  LabelSpace labels_;
  double constant_;
  std::vector<std::size_t> incidence_begin_;
  std::vector<Incidence> incidence_;
};

// Edges of a width x height grid in raster order; connectivity 4 or 8, all of weight `weight`.
std::vector<Edge> GridEdges(int width, int height, int connectivity, double weight);

// The same distribution as explicit tables, for exact inference.
FactorGraph ToFactorGraph(const SparseCrf& model);

}  // namespace submarine
