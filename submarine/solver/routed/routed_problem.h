// A dense model seen through routed paths: exact sums along them, flows on what is left of the pairs.
// Everything is by position on the paths.
#pragma once

#include <functional>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/extension/routing.h"
#include "submarine/model/dense_crf.h"
#include "submarine/solver/routed/banded_chain.h"
#include "submarine/solver/routed/squares/product_pairs.h"
#include "submarine/solver/routed/squares/tile_pairs.h"

namespace submarine::internal {

class RoutedProblem {
 public:
  // The model must outlive this. T > 0. Every routing has the products of the options.
  RoutedProblem(const DenseCrf& model, const RoutedPaths& paths, double temperature,
                const TilePairsOptions& options);

  std::size_t size() const { return pairs_.size(); }
  std::size_t num_labels() const { return unary_.cols(); }
  std::size_t num_cuts() const { return cuts_.size(); }
  double temperature() const { return temperature_; }
  const TilePairs& pairs() const { return pairs_; }
  const ProductPairs& products() const { return products_; }
  const Matrix<float>& unary() const { return unary_; }
  // W of the edge from position p to p + m at (p, m - 1), direct pairs included.
  const Matrix<double>& edge_weights() const { return edge_weights_; }
  // What routing leaves of all pairs together.
  double residual_weight() const { return pairs_.residual_weight() + products_.residual_weight(); }

  void Route(const Routing& routing, const std::function<bool(double)>& on_progress = {},
             const std::function<bool()>& is_late = {});
  // See TilePairs.
  void RouteSample(const Routing& routing, double squares_per_block);
  bool UseSample(double squares_per_block) { return pairs_.UseSample(squares_per_block); }
  void LookAtAll() { pairs_.LookAtAll(); }

  // phi + s(q) for q = clip(v_a - v_b, -1, 1); v has one row per distinct cut.
  void Costs(const Matrix<float>& v, Matrix<float>* costs) const;
  // T log Z_T of the paths with these node costs, less the model's constant: an upper bound where the
  // costs are those of flows, and averages of such costs.
  double Upper(const Matrix<float>& costs, Matrix<float>* marginals = nullptr);
  // v += step z(y), z the cut sums of marginals y.
  void Step(const Matrix<float>& y, float step, Matrix<float>* v) const;

  // The largest curvature of the bound in flows, by power iterations at these costs and their marginals y:
  // steps of potentials that are longer than two over this do not converge. `direction` is where to
  // begin, and holds the last iterate.
  double Curvature(const Matrix<float>& costs, const Matrix<float>& y, Matrix<float>* direction);

  // Where routing pays at these marginals and the distribution of the last call of Upper with marginals: the
  // differences of marginals are less than the forest's disagreement, or than `floor`.
  Routing ChooseRoutes(const Matrix<float>& y, double share, double floor) const;
  // By variable, columns all cuts of the model.
  Matrix<float> Evidence(const Matrix<float>& v) const;
  Matrix<float> ByVariable(const Matrix<float>& of_positions) const;

 private:
  void AddProducts(const RoutingLayout& layout);

  const DenseCrf& model_;
  RoutedPaths paths_;
  double temperature_;
  double product_limit_;
  double product_cutoff_;
  bool by_square_;
  std::vector<RoutedCut> cuts_;
  std::vector<ReorderedKernel> kernels_;
  ProductPairs products_;
  TilePairs pairs_;
  Matrix<double> edge_weights_;
  BandedChain sums_;
  Matrix<float> unary_;
  Matrix<float> membership_;  // distinct cuts x labels: 1 inside
  mutable Matrix<float> flow_;
};

}  // namespace submarine::internal
