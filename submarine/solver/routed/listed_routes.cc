#include "submarine/solver/routed/listed_routes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"

namespace submarine::internal {
namespace {

constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

class Router {
 public:
  Router(const DenseCrf& model, const Routing& routing)
      : routing_(routing), edge_weights_(model.num_variables(), 1) {
    for (const WeightedKernel& weighted : PairWeights(model)) {
      if (weighted.factor > 0.0)
        kernels_.push_back({SinglePrecisionFeatures(*weighted.kernel), weighted.kernel->scale,
                            static_cast<float>(weighted.factor)});
    }
    PlaceEdges();
    if (!routing.everywhere()) PlaceCuts(model);
  }

  // What is left of the weights of a's neighbours by a kernel. An edge takes its part of a pair with either end
  // where the rule says so: (a, c) belongs to the routes of the edges before and after a, over c, and of those
  // before and after c, over a.
  void RouteRow(std::size_t a, std::size_t kernel, const NeighbourRow& row, float* left) {
    const auto part = static_cast<float>(routing_.share / 4.0);
    const Ends& own = ends_[a];
    double to_next = 0.0;
    for (std::size_t j = 0; j < row.count; ++j) {
      const std::size_t c = row.neighbour[j];
      const Ends& other = ends_[c];
      const float w = row.weight[j];
      const float apart = Distance(a, c);
      const auto amount = [&](std::size_t fixed, std::uint32_t moved, float limit) {
        // Distances are not negative: most routes that do not pay are seen at the first one.
        if (moved == kNobody || !(apart < limit) || moved == fixed) return 0.0F;
        if (!(apart + Distance(moved, fixed) < limit)) return 0.0F;
        return part * std::min(w, Weight(kernel, moved, fixed));
      };
      const float along_next = amount(c, own.next, own.next_limit);
      const float used = along_next + amount(c, own.before, own.before_limit) +
                         amount(a, other.next, other.next_limit) +
                         amount(a, other.before, other.before_limit);
      to_next += along_next;
      left[j] = std::max(0.0F, w - used);
      if (c == own.next) to_next += left[j];
      if (c == own.next || c == own.before) left[j] = 0.0F;
    }
    edge_weights_(own.position, 0) += to_next;
  }

  Matrix<double> edge_weights() && { return std::move(edge_weights_); }

 private:
  struct Kernel {
    Matrix<float> features;
    std::vector<double> scale;
    float factor;
  };
  // Of a variable: the edges to the next one of its path and to the one before.
  struct Ends {
    std::uint32_t position = 0;
    std::uint32_t next = kNobody;
    std::uint32_t before = kNobody;
    float next_limit = 0.0F;
    float before_limit = 0.0F;
  };

  void PlaceEdges() {
    const std::vector<std::uint32_t>& order = routing_.paths.order;
    const std::vector<std::uint32_t> followers = routing_.paths.Followers();
    ends_.resize(order.size());
    for (std::size_t p = 0; p < order.size(); ++p) {
      Ends& own = ends_[order[p]];
      own.position = static_cast<std::uint32_t>(p);
      if (followers[p] == 0) continue;
      const float limit =
          routing_.everywhere() ? std::numeric_limits<float>::infinity() : routing_.threshold(p, 0);
      own.next = order[p + 1];
      own.next_limit = limit;
      ends_[order[p + 1]].before = order[p];
      ends_[order[p + 1]].before_limit = limit;
    }
  }

  void PlaceCuts(const DenseCrf& model) {
    std::vector<std::size_t> active;
    for (std::size_t c = 0; c < routing_.z.cols(); ++c) {
      if (model.metric().length[c] > 0.0) active.push_back(c);
    }
    z_ = Matrix<float>(routing_.z.rows(), active.size());
    ParallelFor(z_.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t a = begin; a < end; ++a) {
        for (std::size_t c = 0; c < active.size(); ++c)
          z_(a, c) =
              static_cast<float>(model.metric().length[active[c]]) * routing_.z(a, active[c]);
      }
    });
  }

  // D(a, c), the same for (c, a) to the last bit.
  float Distance(std::size_t a, std::size_t c) const {
    if (z_.size() == 0) return 0.0F;
    constexpr std::size_t kLanes = 8;  // sums of their own, so that compilers can vectorise
    const float* of_a = z_.row(a).data();
    const float* of_c = z_.row(c).data();
    float lanes[kLanes] = {};
    std::size_t k = 0;
    for (; k + kLanes <= z_.cols(); k += kLanes) {
      for (std::size_t i = 0; i < kLanes; ++i) lanes[i] += std::abs(of_a[k + i] - of_c[k + i]);
    }
    for (; k < z_.cols(); ++k) lanes[k % kLanes] += std::abs(of_a[k] - of_c[k]);
    return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
           ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
  }

  float Weight(std::size_t kernel, std::size_t a, std::size_t b) const {
    const Kernel& of = kernels_[kernel];
    const float* one = of.features.row(a).data();
    const float* other = of.features.row(b).data();
    float squared = 0.0F;
    for (std::size_t d = 0; d < of.features.cols(); ++d)
      squared += (one[d] - other[d]) * (one[d] - other[d]);
    const float scale = of.scale.empty() ? 1.0F : static_cast<float>(of.scale[a] * of.scale[b]);
    return of.factor * scale * std::exp(-0.5F * squared);
  }

  const Routing& routing_;
  std::vector<Kernel> kernels_;
  std::vector<Ends> ends_;
  Matrix<float> z_;  // variables x active cuts, times the lengths of these
  Matrix<double> edge_weights_;
};

}  // namespace

ListedRoutes RouteList(const DenseCrf& model, const NeighbourList& pairs, const Routing& routing) {
  CheckRouting(routing, model.num_variables(), static_cast<std::size_t>(model.num_cuts()));
  if (routing.paths.bandwidth != 1)
    throw InvalidInput("the pairs of a list are routed to paths of bandwidth 1 only");
  Router router(model, routing);
  ListedRoutes routes;
  routes.left = pairs.Reweighted([&](std::size_t a, std::size_t kernel, const NeighbourRow& row,
                                     float* left) { router.RouteRow(a, kernel, row, left); });
  routes.edge_weights = std::move(router).edge_weights();
  const auto n = static_cast<double>(model.num_variables());
  for (std::size_t p = 0; p < routes.edge_weights.rows(); ++p)
    routes.routed_weight += routes.edge_weights(p, 0) / n;
  for (const float degree : Degrees(*routes.left)) routes.left_weight += degree / n;
  return routes;
}

}  // namespace submarine::internal
