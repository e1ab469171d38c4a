#include "submarine/filter/lattice_reference.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace submarine {
namespace {

using Point = std::vector<std::int64_t>;

// The point of the plane that a feature is mapped to: the columns (1,...,1,-i,0,...,0) / sqrt(i
// (i+1)), i ones, are orthonormal.
std::vector<double> Elevate(const GaussianKernel& kernel, const std::vector<double>& centre,
                            std::size_t a, double scale) {
  const std::size_t d = kernel.dimension();
  std::vector<double> point(d + 1, 0.0);
  for (std::size_t i = 1; i <= d; ++i) {
    const double length = std::sqrt(static_cast<double>(i * (i + 1)));
    const double cells =
        (static_cast<double>(kernel.features(a, i - 1)) - centre[i - 1]) * (scale / length);
    const double f =
        std::ldexp(std::nearbyint(std::ldexp(cells, 22)), -22) * static_cast<double>(d + 1);
    for (std::size_t k = 0; k < i; ++k) point[k] += f;
    point[i] -= f * static_cast<double>(i);
  }
  return point;
}

std::vector<double> MiddleOfBox(const Matrix<float>& features) {
  std::vector<double> middle;
  for (std::size_t i = 0; i < features.cols(); ++i) {
    double least = features(0, i);
    double largest = features(0, i);
    for (std::size_t a = 0; a < features.rows(); ++a) {
      least = std::min<double>(least, features(a, i));
      largest = std::max<double>(largest, features(a, i));
    }
    middle.push_back(0.5 * (least + largest));
  }
  return middle;
}

// The corners of the simplex around a point, by walking: sort coordinates by their distance above
// the multiple of d+1 below them, largest first. Raising those one after the other passes all
// corners.
std::vector<std::pair<Point, double>> Simplex(const std::vector<double>& point) {
  const auto n = static_cast<std::int64_t>(point.size());
  const auto width = static_cast<double>(n);
  std::vector<std::int64_t> floor(point.size());
  std::vector<double> above(point.size());
  std::vector<std::size_t> order(point.size());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < point.size(); ++i) {
    floor[i] = static_cast<std::int64_t>(std::floor(point[i] / width)) * n;
    above[i] = (point[i] - static_cast<double>(floor[i])) / width;
    order[i] = i;
    sum += floor[i];
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return above[i] > above[j]; });
  // floor + (n for the first k in order) has coordinate sum `sum` + k n; minus that over n from all
  // coordinates it is a lattice point. k = 0..n-1, weights above[order[k-1]] - above[order[k]].
  std::vector<std::pair<Point, double>> corners;
  for (std::int64_t k = 0; k < n; ++k) {
    Point corner = floor;
    for (std::int64_t i = 0; i < k; ++i) corner[order[i]] += n;
    const std::int64_t shift = sum / n + k;
    for (std::int64_t& x : corner) x -= shift;
    const double before = k == 0 ? 1.0 : above[order[k - 1]];
    corners.emplace_back(std::move(corner), before - above[order[k]]);
  }
  // The last corner is also reached by raising all n: what is left beyond the least belongs there.
  corners.front().second += above[order[n - 1]];
  return corners;
}

}  // namespace

LatticeReference::LatticeReference(const GaussianKernel& kernel, const LatticeOptions& options)
    : stencil_(MakeLatticeStencil(static_cast<int>(kernel.dimension()), options)) {
  const std::vector<double> centre = MiddleOfBox(kernel.features);
  std::map<Point, std::size_t> number;
  for (std::size_t a = 0; a < kernel.size(); ++a) {
    corner_.emplace_back();
    const double scale =
        std::sqrt(stencil_.amplitude) * (kernel.scale.empty() ? 1.0 : kernel.scale[a]);
    for (const auto& [point, weight] : Simplex(Elevate(kernel, centre, a, stencil_.scale))) {
      const std::size_t vertex = number.try_emplace(point, number.size()).first->second;
      corner_.back().push_back({vertex, weight * scale});
    }
  }
  neighbours_.resize(number.size());
  for (const auto& [point, vertex] : number) {
    for (std::size_t j = 0; j < point.size(); ++j) {
      for (const int direction : {-1, 1}) {
        Point other = point;
        for (std::int64_t& x : other) x -= direction;
        other[j] += direction * static_cast<std::int64_t>(point.size());
        const auto found = number.find(other);
        if (found != number.end()) neighbours_[vertex].push_back(found->second);
      }
    }
  }
}

std::vector<double> LatticeReference::Blur(std::vector<double> z) const {
  const double slots = stencil_.neighbour_slots();
  for (const double c : stencil_.laziness) {
    const double p = (1.0 - c) / slots;
    std::vector<double> next(z.size());
    for (std::size_t v = 0; v < z.size(); ++v) {
      const double missing = slots - static_cast<double>(neighbours_[v].size());
      next[v] = (c + stencil_.kept * p * missing) * z[v];
      for (const std::size_t n : neighbours_[v]) next[v] += p * z[n];
    }
    z = std::move(next);
  }
  return z;
}

std::vector<double> LatticeReference::Product(const std::vector<double>& x) const {
  std::vector<double> z(num_vertices(), 0.0);
  for (std::size_t a = 0; a < size(); ++a) {
    for (const Corner& corner : corner_[a]) z[corner.vertex] += corner.weight * x[a];
  }
  z = Blur(std::move(z));
  std::vector<double> out(size(), 0.0);
  for (std::size_t a = 0; a < size(); ++a) {
    for (const Corner& corner : corner_[a]) out[a] += corner.weight * z[corner.vertex];
  }
  return out;
}

Matrix<double> LatticeReference::DenseK() const {
  Matrix<double> k(size(), size());
  std::vector<double> unit(size(), 0.0);
  for (std::size_t b = 0; b < size(); ++b) {
    unit[b] = 1.0;
    const std::vector<double> column = Product(unit);
    for (std::size_t a = 0; a < size(); ++a) k(a, b) = column[a];
    unit[b] = 0.0;
  }
  return k;
}

}  // namespace submarine
