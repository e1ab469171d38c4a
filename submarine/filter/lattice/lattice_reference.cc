#include "submarine/filter/lattice/lattice_reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "submarine/base/parallel.h"

namespace submarine::internal {
namespace {

using Point = std::vector<std::int64_t>;

constexpr std::size_t kReferenceGrain = 1024;
constexpr std::size_t kRun = 256;

// Of the columns (1,...,1,-i,0,...,0) / sqrt(i (i+1)), i ones, which are orthonormal.
std::vector<double> ColumnScales(std::size_t dimension, double scale) {
  std::vector<double> scales;
  for (std::size_t i = 1; i <= dimension; ++i)
    scales.push_back(scale / std::sqrt(static_cast<double>(i * (i + 1))));
  return scales;
}

// The point of the plane that a feature is mapped to.
void Elevate(const GaussianKernel& kernel, const std::vector<double>& centre, std::size_t a,
             const std::vector<double>& scales, std::vector<double>* elevated) {
  const std::size_t d = kernel.dimension();
  std::vector<double>& point = *elevated;
  point.assign(d + 1, 0.0);
  for (std::size_t i = 1; i <= d; ++i) {
    const double cells = (kernel.features(a, i - 1) - centre[i - 1]) * scales[i - 1];
    const double f = std::nearbyint(cells * 0x1p22) * 0x1p-22 * static_cast<double>(d + 1);
    for (std::size_t k = 0; k < i; ++k) point[k] += f;
    point[i] -= f * static_cast<double>(i);
  }
}

std::vector<double> MiddleOfBox(const Matrix<double>& features) {
  std::vector<double> middle;
  for (std::size_t i = 0; i < features.cols(); ++i) {
    double least = features(0, i);
    double largest = features(0, i);
    for (std::size_t a = 0; a < features.rows(); ++a) {
      least = std::min(least, features(a, i));
      largest = std::max(largest, features(a, i));
    }
    middle.push_back(0.5 * (least + largest));
  }
  return middle;
}

// The corners of the simplex around a point: sort the coordinates by their distance above the next
// lower multiple of d+1, largest first; raising them one after the other visits all corners.
// `corners` has room for n points of n coordinates, `weights` for n.
void Simplex(const std::vector<double>& point, std::int64_t* corners, double* weights) {
  const auto n = static_cast<std::int64_t>(point.size());
  const auto width = static_cast<double>(n);
  std::array<std::int64_t, kMaxFeatureDimension + 1> floor;
  std::array<double, kMaxFeatureDimension + 1> above;
  std::array<std::size_t, kMaxFeatureDimension + 1> order;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < point.size(); ++i) {
    floor[i] = static_cast<std::int64_t>(std::floor(point[i] / width)) * n;
    above[i] = (point[i] - static_cast<double>(floor[i])) / width;
    order[i] = i;
    sum += floor[i];
  }
  // Ties are broken by index. So few numbers are sorted fastest by insertion.
  for (std::size_t k = 1; k < point.size(); ++k) {
    const std::size_t inserted = order[k];
    std::size_t at = k;
    for (; at > 0 && above[order[at - 1]] < above[inserted]; --at) order[at] = order[at - 1];
    order[at] = inserted;
  }
  // floor, plus n in the first k coordinates of `order`, has the coordinate sum `sum` + k n;
  // subtracting the n-th part of that from all coordinates gives a lattice point. k = 0..n-1,
  // weights above[order[k-1]] - above[order[k]].
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t* corner = corners + k * n;
    const std::int64_t shift = sum / n + k;
    for (std::int64_t i = 0; i < n; ++i) corner[i] = floor[i] - shift;
    for (std::int64_t i = 0; i < k; ++i) corner[order[i]] += n;
    const double before = k == 0 ? 1.0 : above[order[k - 1]];
    weights[k] = before - above[order[k]];
  }
  // Raising all n coordinates leads back to corner 0, so it also gets the last remainder.
  weights[0] += above[order[n - 1]];
}

// Numbers points in the order of their first appearance. All points have the same length.
class PointNumbers {
 public:
  explicit PointNumbers(std::size_t length) : length_(length), slot_(1024, kNone) {}

  std::size_t size() const { return values_.size() / length_; }
  std::span<const std::int64_t> point(std::size_t n) const {
    return {values_.data() + n * length_, length_};
  }

  static constexpr std::uint32_t kNone = 0xffffffff;
  std::uint32_t Find(std::span<const std::int64_t> point) const { return slot_[Slot(point)]; }
  std::uint32_t Number(std::span<const std::int64_t> point) {
    std::size_t slot = Slot(point);
    if (slot_[slot] != kNone) return slot_[slot];
    const std::size_t n = size();
    values_.insert(values_.end(), point.begin(), point.end());
    slot_[slot] = static_cast<std::uint32_t>(n);
    if (2 * size() > slot_.size()) Grow();
    return static_cast<std::uint32_t>(n);
  }

 private:
  // The slot where the point is, or would be inserted.
  std::size_t Slot(std::span<const std::int64_t> point) const {
    std::uint64_t hash = 0;
    for (const std::int64_t x : point) {
      hash = (hash ^ static_cast<std::uint64_t>(x)) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 29;
    }
    const std::size_t mask = slot_.size() - 1;
    std::size_t slot = hash & mask;
    while (slot_[slot] != kNone && !IsAt(slot_[slot], point)) slot = (slot + 1) & mask;
    return slot;
  }
  // std::equal would call memcmp, for a few numbers.
  bool IsAt(std::size_t n, std::span<const std::int64_t> point) const {
    const std::int64_t* other = values_.data() + n * length_;
    for (std::size_t i = 0; i < length_; ++i) {
      if (other[i] != point[i]) return false;
    }
    return true;
  }
  void Grow() {
    slot_.assign(2 * slot_.size(), kNone);
    for (std::size_t n = 0; n < size(); ++n) {
      slot_[Slot(point(n))] = static_cast<std::uint32_t>(n);
    }
  }

  std::size_t length_;
  std::vector<std::int64_t> values_;
  std::vector<std::uint32_t> slot_;
};

void AddScaled(const double* __restrict x, double factor, std::size_t n, double* __restrict out) {
  if (n == LatticeReference::kBlock) {  // a length known at compile time
    for (std::size_t i = 0; i < LatticeReference::kBlock; ++i) out[i] += factor * x[i];
    return;
  }
  for (std::size_t i = 0; i < n; ++i) out[i] += factor * x[i];
}

// Nearly full blocks are padded: a length known at compile time saves more than a column costs.
std::size_t BlockColumns(std::size_t columns) {
  return 2 * columns > LatticeReference::kBlock ? LatticeReference::kBlock : columns;
}

}  // namespace

LatticeReference::LatticeReference(const GaussianKernel& kernel, const LatticeOptions& options)
    : stencil_(MakeLatticeStencil(static_cast<int>(kernel.dimension()), options)),
      num_variables_(kernel.size()),
      corners_(kernel.dimension() + 1) {
  FindCorners(kernel);
  ListSplats();
}

std::size_t LatticeReference::bytes() const {
  return corner_.size() * sizeof(corner_[0]) + weight_.size() * sizeof(weight_[0]) +
         neighbour_.size() * sizeof(neighbour_[0]) + num_present_.size() * sizeof(num_present_[0]) +
         splat_begin_.size() * sizeof(splat_begin_[0]) + splat_.size() * sizeof(splat_[0]);
}

void LatticeReference::FindCorners(const GaussianKernel& kernel) {
  const std::vector<double> centre = MiddleOfBox(kernel.features);
  const std::vector<double> scales = ColumnScales(kernel.dimension(), stencil_.scale);
  corner_.resize(num_variables_ * corners_);
  weight_.resize(num_variables_ * corners_);
  PointNumbers number(corners_);
  constexpr std::size_t kBatch = 16384;
  std::vector<std::int64_t> points(std::min(kBatch, num_variables_) * corners_ * corners_);
  for (std::size_t first = 0; first < num_variables_; first += kBatch) {
    const std::size_t count = std::min(kBatch, num_variables_ - first);
    ParallelFor(count, 256, [&](std::size_t begin, std::size_t end) {
      std::vector<double> elevated;
      for (std::size_t k = begin; k < end; ++k) {
        const std::size_t a = first + k;
        const double scale =
            std::sqrt(stencil_.amplitude) * (kernel.scale.empty() ? 1.0 : kernel.scale[a]);
        double* weights = weight_.data() + a * corners_;
        Elevate(kernel, centre, a, scales, &elevated);
        Simplex(elevated, points.data() + k * corners_ * corners_, weights);
        for (std::size_t i = 0; i < corners_; ++i) weights[i] *= scale;
      }
    });
    for (std::size_t k = 0; k < count * corners_; ++k) {
      corner_[first * corners_ + k] = number.Number({points.data() + k * corners_, corners_});
    }
  }

  num_present_.resize(number.size());
  neighbour_.resize(number.size() * slots());
  ParallelFor(number.size(), kReferenceGrain, [&](std::size_t begin, std::size_t end) {
    Point other(corners_);
    for (std::size_t v = begin; v < end; ++v) {
      const auto point = number.point(v);
      for (std::size_t j = 0; j < corners_; ++j) {
        for (const int direction : {-1, 1}) {
          for (std::size_t i = 0; i < corners_; ++i) other[i] = point[i] - direction;
          other[j] += direction * static_cast<std::int64_t>(corners_);
          const std::uint32_t found = number.Find(other);
          if (found == PointNumbers::kNone) continue;
          neighbour_[v * slots() + num_present_[v]++] = found;
        }
      }
    }
  });
}

void LatticeReference::ListSplats() {
  splat_begin_.assign(num_vertices() + 1, 0);
  for (const std::uint32_t v : corner_) ++splat_begin_[v + 1];
  for (std::size_t v = 0; v < num_vertices(); ++v) splat_begin_[v + 1] += splat_begin_[v];
  splat_.resize(corner_.size());
  std::vector<std::size_t> next(splat_begin_.begin(), splat_begin_.end() - 1);
  for (std::size_t k = 0; k < corner_.size(); ++k) splat_[next[corner_[k]]++] = k;
}

// Of many pixels at one vertex, runs of kRun are summed first: the error of a sum grows with its
// length.
Matrix<double> LatticeReference::Splat(const Matrix<double>& x, std::size_t first,
                                       std::size_t columns) const {
  Matrix<double> z(num_vertices(), columns);
  ParallelFor(num_vertices(), kReferenceGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<double> sum(columns);
    for (std::size_t v = begin; v < end; ++v) {
      for (std::size_t from = splat_begin_[v]; from < splat_begin_[v + 1]; from += kRun) {
        std::fill(sum.begin(), sum.end(), 0.0);
        const std::size_t to = std::min(from + kRun, splat_begin_[v + 1]);
        for (std::size_t k = from; k < to; ++k) {
          AddScaled(x.row(splat_[k] / corners_).data() + first, weight_[splat_[k]], columns,
                    sum.data());
        }
        for (std::size_t i = 0; i < columns; ++i) z(v, i) += sum[i];
      }
    }
  });
  return z;
}

void LatticeReference::Blur(double c, const Matrix<double>& from, Matrix<double>* to) const {
  const double p = stencil_.NeighbourWeight(c);
  ParallelFor(num_vertices(), kReferenceGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      double* out = to->row(v).data();
      const double centre = Centre(c, v);
      const double* own = from.row(v).data();
      for (std::size_t i = 0; i < from.cols(); ++i) out[i] = centre * own[i];
      for (const std::uint32_t n : Neighbours(v)) {
        AddScaled(from.row(n).data(), p, from.cols(), out);
      }
    }
  });
}

Matrix<double> LatticeReference::Blurred(Matrix<double> z) const {
  Matrix<double> next = Matrix<double>::Unset(z.rows(), z.cols());
  for (const double c : stencil_.laziness) {
    Blur(c, z, &next);
    std::swap(z, next);
  }
  return z;
}

Matrix<double> LatticeReference::Product(const Matrix<double>& x) const {
  const Matrix<double> z = Blurred(Splat(x, 0, x.cols()));
  Matrix<double> out(size(), x.cols());
  ParallelFor(size(), kReferenceGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin * corners_; k < end * corners_; ++k) {
      AddScaled(z.row(corner_[k]).data(), weight_[k], x.cols(), out.row(k / corners_).data());
    }
  });
  return out;
}

LatticeReference::VertexProducts LatticeReference::SelfProducts(
    const Matrix<double>& x, const std::function<void(std::size_t)>& on_block) const {
  VertexProducts products{std::vector<double>(num_vertices(), 0.0), {}};
  Matrix<double> sums(num_vertices(), 1);
  for (std::size_t first = 0; first < x.cols(); first += kBlock) {
    if (on_block) on_block(first);
    const Matrix<double> z = Splat(x, first, std::min(kBlock, x.cols() - first));
    const Matrix<double> blurred = Blurred(z);
    ParallelFor(num_vertices(), kReferenceGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) {
        for (std::size_t i = 0; i < z.cols(); ++i) {
          products.of_columns[v] += z(v, i) * blurred(v, i);
          sums(v, 0) += z(v, i);
        }
      }
    });
  }
  const Matrix<double> blurred = Blurred(sums);
  for (std::size_t v = 0; v < num_vertices(); ++v)
    products.of_sum.push_back(sums(v, 0) * blurred(v, 0));
  return products;
}

std::vector<double> LatticeReference::Product(const std::vector<double>& x) const {
  Matrix<double> column(size(), 1);
  std::copy(x.begin(), x.end(), column.data());
  const Matrix<double> out = Product(column);
  return {out.data(), out.data() + out.size()};
}

// k_aa = <u, C u>, u = G_h ... G_1 S_a, with B = G_1 ... G_h C G_h ... G_1 (lattice_stencil.h).
std::vector<double> LatticeReference::Diagonal(std::span<const char> wanted) const {
  std::vector<double> diagonal(size());
  const std::size_t half = stencil_.laziness.size() / 2;
  const double middle = stencil_.laziness[half];
  const std::size_t grain = std::max<std::size_t>(1024, size() / 16 + 1);
  ParallelFor(size(), grain, [&](std::size_t begin, std::size_t end) {
    std::vector<double> u(num_vertices(), 0.0);
    std::vector<double> next(num_vertices(), 0.0);
    std::vector<char> listed(num_vertices(), 0);
    std::vector<std::uint32_t> support;
    std::vector<std::uint32_t> next_support;
    const auto add = [&](std::uint32_t v, double value) {
      next[v] += value;
      if (listed[v] == 0) next_support.push_back(v);
      listed[v] = 1;
    };
    const auto advance = [&] {
      for (const std::uint32_t v : support) u[v] = 0.0;
      for (const std::uint32_t v : next_support) listed[v] = 0;
      std::swap(u, next);
      std::swap(support, next_support);
      next_support.clear();
    };
    for (std::size_t a = begin; a < end; ++a) {
      if (!wanted.empty() && wanted[a] == 0) continue;
      for (std::size_t i = a * corners_; i < (a + 1) * corners_; ++i) add(corner_[i], weight_[i]);
      advance();
      for (std::size_t k = 0; k < half; ++k) {
        const double c = stencil_.laziness[k];
        for (const std::uint32_t v : support) {
          add(v, Centre(c, v) * u[v]);
          for (const std::uint32_t n : Neighbours(v)) add(n, stencil_.NeighbourWeight(c) * u[v]);
        }
        advance();
      }
      for (const std::uint32_t v : support) {
        double near = 0.0;
        for (const std::uint32_t n : Neighbours(v)) near += u[n];
        diagonal[a] += u[v] * (Centre(middle, v) * u[v] + stencil_.NeighbourWeight(middle) * near);
      }
      advance();
    }
  });
  return diagonal;
}

// With P_a(0) = 1 and P_a(k) = clip(s_a - k + 1, 0, 1), the mass of a at nodes k and above,
//   psi(s_a, s_b) = sum_k p_a(k) [1 - P_b(k) - P_b(k+1)]:
// the mass of b below node k minus that above. s_a = j + u has p_a(j) = 1 - u, p_a(j+1) = u.
std::vector<double> LatticeReference::Flow(const std::vector<double>& level,
                                           std::size_t cells) const {
  std::vector<double> flow(size(), 0.0);
  for (std::size_t first = 0; first <= cells; first += kBlock) {
    const std::size_t columns = std::min(kBlock, cells + 1 - first);
    Matrix<double> above(size(), BlockColumns(columns));
    ParallelFor(size(), kReferenceGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t a = begin; a < end; ++a) {
        for (std::size_t i = 0; i < columns; ++i) {
          const double k = static_cast<double>(first + i);
          above(a, i) = first + i == 0 ? 1.0 : std::clamp(level[a] - (k - 1.0), 0.0, 1.0);
        }
      }
    });
    const Matrix<double> filtered = Product(above);
    for (std::size_t a = 0; a < size(); ++a) {
      const auto j = static_cast<std::size_t>(level[a]);
      const double u = level[a] - static_cast<double>(j);
      const double share[] = {1.0 - u, 1.0, u};
      if (first == 0) flow[a] += filtered(a, 0);
      for (std::size_t i = 0; i < 3; ++i) {
        const std::size_t k = j + i;
        if (k >= first && k < first + columns) flow[a] -= share[i] * filtered(a, k - first);
      }
    }
  }
  return flow;
}

LatticeReference::Variation LatticeReference::TotalVariation(
    const std::vector<double>& x, std::span<const double> nodes,
    const std::vector<double>& diagonal) const {
  Variation total;
  for (std::size_t first = 0; first + 1 < nodes.size(); first += kBlock) {
    const std::size_t columns = std::min(kBlock, nodes.size() - 1 - first);
    Matrix<double> above(size(), BlockColumns(columns));
    ParallelFor(size(), kReferenceGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t a = begin; a < end; ++a) {
        for (std::size_t i = 0; i < columns; ++i) {
          const double low = nodes[first + i];
          above(a, i) = std::clamp((x[a] - low) / (nodes[first + i + 1] - low), 0.0, 1.0);
        }
      }
    });
    const Matrix<double> filtered = Product(above);
    // Sums over the variables are formed chunk by chunk, which keeps the number of roundings small.
    const auto sum = [&](const auto& term) {
      return ParallelSum(size(), kReferenceGrain, [&](std::size_t begin, std::size_t end) {
        double value = 0.0;
        for (std::size_t a = begin; a < end; ++a) {
          for (std::size_t i = 0; i < columns; ++i) {
            const double width = nodes[first + i + 1] - nodes[first + i];
            value += width * term(a, i);
          }
        }
        return value;
      });
    };
    total.pairs +=
        sum([&](std::size_t a, std::size_t i) { return (1.0 - above(a, i)) * filtered(a, i); });
    total.self += sum([&](std::size_t a, std::size_t i) {
      return diagonal[a] * above(a, i) * (1.0 - above(a, i));
    });
  }
  return total;
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

double LatticeReference::roundings() const {
  std::size_t longest = 0;
  for (std::size_t v = 0; v < num_vertices(); ++v) {
    longest = std::max(longest, splat_begin_[v + 1] - splat_begin_[v]);
  }
  const std::size_t per_splat = std::min(longest, kRun) + longest / kRun + 2;
  const std::size_t per_pass = 2 * slots() + 4;
  return static_cast<double>(2 * per_splat + per_pass * stencil_.laziness.size() + 2 * corners_);
}

double LatticeReference::diagonal_roundings() const {
  const std::size_t half_passes = stencil_.laziness.size() / 2;
  const auto half = static_cast<double>(half_passes);
  const auto reach = static_cast<double>(slots() + 1);
  return 4.0 * (half + 1.0) * (reach + 4.0) + static_cast<double>(corners_) * std::pow(reach, half);
}

}  // namespace submarine::internal
