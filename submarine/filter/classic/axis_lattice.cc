#include "submarine/filter/classic/axis_lattice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/filter/lattice/lattice_keys.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kGrain = 512;
constexpr std::size_t kMaxVertexCorners = AxisLattice::kMaxDimension + 1;

// A vertex is named by its first d coordinates, which determine the last; each has a bit field of
// its own, so that a step along an axis adds the same number to every key.
constexpr int kFieldBits = 21;
constexpr std::int64_t kMiddle = std::int64_t{1} << (kFieldBits - 1);
constexpr std::int64_t kReach = kMiddle - 4 * static_cast<std::int64_t>(kMaxVertexCorners);

UInt128 KeyOf(const std::array<std::int64_t, kMaxVertexCorners>& point, std::size_t d) {
  UInt128 key = 0;
  for (std::size_t i = 0; i < d; ++i)
    key = key << kFieldBits | static_cast<UInt128>(point[i] + kMiddle);
  return key;
}

// What u_axis = (d+1) e_axis - 1 adds to a key; unsigned subtraction wraps around, as intended.
UInt128 StepAlong(std::size_t axis, std::size_t d) {
  UInt128 step = 0;
  for (std::size_t i = 0; i < d; ++i) {
    const auto change = (i == axis ? static_cast<std::int64_t>(d) : -1);
    step = (step << kFieldBits) + static_cast<UInt128>(change);
  }
  return step;
}

// The simplex around one point of the plane sum_i e_i = 0.
class Simplex {
 public:
  explicit Simplex(std::size_t d) : d_(d) {}

  // Throws InvalidInput when the point is outside the range of keys.
  void Enclose(std::span<const float> features, std::size_t variable) {
    Elevate(features);
    RoundToRemainderZero(variable);
    Weigh();
  }
  UInt128 Corner(std::size_t remainder) const {
    std::array<std::int64_t, kMaxVertexCorners> point{};
    const auto cycle = static_cast<std::int64_t>(d_ + 1);
    for (std::size_t i = 0; i <= d_; ++i) {
      const bool wraps = rank_[i] > static_cast<int>(d_ - remainder);
      point[i] = zero_[i] + static_cast<std::int64_t>(remainder) - (wraps ? cycle : 0);
    }
    return KeyOf(point, d_);
  }
  float Weight(std::size_t remainder) const { return weight_[remainder]; }

 private:
  // Orthogonal axes of the plane, scaled so that the blurs together have the variance of
  // exp(-|f|^2/2): sqrt(2/3) (d+1) per unit.
  void Elevate(std::span<const float> features) {
    const double unit = std::sqrt(2.0 / 3.0) * static_cast<double>(d_ + 1);
    double sum = 0.0;
    for (std::size_t j = d_; j > 0; --j) {
      const double scaled =
          features[j - 1] * unit / std::sqrt(static_cast<double>(j) * static_cast<double>(j + 1));
      elevated_[j] = sum - static_cast<double>(j) * scaled;
      sum += scaled;
    }
    elevated_[0] = sum;
  }

  // Rounds every coordinate to a multiple of d+1. If the sum is then off, moves the point back to
  // the plane by changing the coordinates that were rounded furthest in the wrong direction.
  void RoundToRemainderZero(std::size_t variable) {
    const auto cycle = static_cast<std::int64_t>(d_ + 1);
    std::int64_t excess = 0;
    for (std::size_t i = 0; i <= d_; ++i) {
      const double cell = std::round(elevated_[i] / static_cast<double>(cycle));
      if (!(std::abs(cell) * static_cast<double>(cycle) < static_cast<double>(kReach))) {
        throw InvalidInput(
            fmt::format("the features of variable {} are too far from 0 for a lattice, expected "
                        "less than about {:.0e}",
                        variable, static_cast<double>(kReach) / static_cast<double>(cycle)));
      }
      zero_[i] = static_cast<std::int64_t>(cell) * cycle;
      excess += static_cast<std::int64_t>(cell);
    }
    RankResiduals();
    for (std::size_t i = 0; i <= d_; ++i) {
      rank_[i] += static_cast<int>(excess);
      if (rank_[i] < 0) {
        rank_[i] += static_cast<int>(cycle);
        zero_[i] += cycle;
      } else if (rank_[i] > static_cast<int>(d_)) {
        rank_[i] -= static_cast<int>(cycle);
        zero_[i] -= cycle;
      }
    }
  }

  // Rank 0 is the largest residual.
  void RankResiduals() {
    rank_.fill(0);
    for (std::size_t i = 0; i <= d_; ++i) {
      for (std::size_t j = i + 1; j <= d_; ++j) {
        const double ri = elevated_[i] - static_cast<double>(zero_[i]);
        const double rj = elevated_[j] - static_cast<double>(zero_[j]);
        ++rank_[ri < rj ? i : j];
      }
    }
  }

  // Barycentric coordinates are differences of residuals with consecutive ranks.
  void Weigh() {
    std::array<double, kMaxVertexCorners> sorted{};
    for (std::size_t i = 0; i <= d_; ++i) {
      sorted[static_cast<std::size_t>(rank_[i])] =
          (elevated_[i] - static_cast<double>(zero_[i])) / static_cast<double>(d_ + 1);
    }
    weight_[0] = static_cast<float>(1.0 + sorted[d_] - sorted[0]);
    for (std::size_t r = 1; r <= d_; ++r)
      weight_[r] = static_cast<float>(sorted[d_ - r] - sorted[d_ - r + 1]);
  }

  std::size_t d_;
  std::array<double, kMaxVertexCorners> elevated_{};
  std::array<std::int64_t, kMaxVertexCorners> zero_{};
  std::array<int, kMaxVertexCorners> rank_{};
  std::array<float, kMaxVertexCorners> weight_{};
};

void CheckFeatures(const Matrix<float>& features) {
  if (features.rows() == 0 || features.cols() == 0)
    throw InvalidInput("a lattice needs at least one variable and one feature, but there are none");
  if (features.cols() > AxisLattice::kMaxDimension) {
    throw InvalidInput(
        fmt::format("a classic lattice has features of dimension {}, expected at most {}",
                    features.cols(), AxisLattice::kMaxDimension));
  }
  if (features.rows() >= kNone / (features.cols() + 1)) {
    throw TooLarge(fmt::format("a classic lattice of {} variables has too many corners to number",
                               features.rows()));
  }
  for (std::size_t k = 0; k < features.size(); ++k) {
    if (!std::isfinite(features.data()[k])) {
      throw InvalidInput(fmt::format("feature {} of variable {} is not finite", k % features.cols(),
                                     k / features.cols()));
    }
  }
}

// The next vertex forwards from every vertex. Keys are sorted and all move by the same number, so
// one merge of both lists finds them.
std::vector<std::uint32_t> Forwards(const std::vector<UInt128>& keys, UInt128 step) {
  std::vector<std::uint32_t> next(keys.size(), kNone);
  std::size_t at = 0;
  for (std::size_t v = 0; v < keys.size(); ++v) {
    const UInt128 target = keys[v] + step;
    // After a downward step the first targets lie before the start of the list.
    while (at < keys.size() && keys[at] < target) ++at;
    if (at < keys.size() && keys[at] == target) next[v] = static_cast<std::uint32_t>(at);
  }
  return next;
}

}  // namespace

AxisLattice::AxisLattice(const Matrix<float>& features)
    : num_variables_(features.rows()), corners_(features.cols() + 1) {
  CheckFeatures(features);
  const std::size_t d = features.cols();
  KeyNumbering<UInt128> numbering(num_variables_);
  corner_.reserve(num_variables_ * corners_);
  weight_.reserve(num_variables_ * corners_);
  Simplex simplex(d);
  for (std::size_t a = 0; a < num_variables_; ++a) {
    simplex.Enclose(features.row(a), a);
    for (std::size_t r = 0; r <= d; ++r) {
      const UInt128 key = simplex.Corner(r);
      corner_.push_back(numbering.Number(key, HashKey(key)));
      weight_.push_back(simplex.Weight(r));
    }
  }
  const std::size_t m = numbering.keys().size();
  std::vector<NumberedKey<UInt128>> items(m);
  for (std::size_t v = 0; v < m; ++v)
    items[v] = {numbering.keys()[v], static_cast<std::uint32_t>(v)};
  RadixSort(&items, UInt128{1} << (kFieldBits * static_cast<int>(d)));
  std::vector<std::uint32_t> position(m);
  std::vector<UInt128> sorted(m);
  for (std::size_t v = 0; v < m; ++v) {
    position[items[v].number] = static_cast<std::uint32_t>(v);
    sorted[v] = items[v].key;
  }
  for (std::uint32_t& v : corner_) v = position[v];
  neighbour_.assign(2 * corners_ * m, kNone);
  for (std::size_t j = 0; j <= d; ++j) {
    const std::vector<std::uint32_t> next = Forwards(sorted, StepAlong(j, d));
    for (std::size_t v = 0; v < m; ++v) {
      if (next[v] == kNone) continue;
      neighbour_[2 * (j * m + v)] = next[v];
      neighbour_[2 * (j * m + next[v]) + 1] = static_cast<std::uint32_t>(v);
    }
  }
  ListSpreads();
}

void AxisLattice::ListSpreads() {
  const std::size_t m = num_vertices();
  begin_.assign(m + 1, 0);
  for (const std::uint32_t v : corner_) ++begin_[v + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  spread_.resize(corner_.size());
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t k = 0; k < corner_.size(); ++k)
    spread_[next[corner_[k]]++] = {static_cast<std::uint32_t>(k / corners_), weight_[k]};
}

void AxisLattice::Blur(std::size_t axis, const Matrix<float>& from, Matrix<float>* to) const {
  const std::size_t columns = from.cols();
  const std::uint32_t* neighbours = neighbour_.data() + 2 * axis * num_vertices();
  ParallelFor(num_vertices(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      const std::span<float> row = to->row(v);
      std::copy_n(from.row(v).data(), columns, row.data());
      for (const std::uint32_t n : {neighbours[2 * v], neighbours[2 * v + 1]}) {
        if (n == kNone) continue;
        const float* other = from.row(n).data();
        for (std::size_t i = 0; i < columns; ++i) row[i] += 0.5F * other[i];
      }
    }
  });
}

void AxisLattice::AddProduct(const Matrix<float>& x, float factor, Matrix<float>* out) const {
  const std::size_t columns = x.cols();
  if (x.rows() != size() || out->rows() != size() || out->cols() != columns) {
    throw InvalidInput(
        fmt::format("the input of a lattice is {} x {} and its output {} x {}, expected {} rows "
                    "and equally many columns",
                    x.rows(), columns, out->rows(), out->cols(), size()));
  }
  Matrix<float> front(num_vertices(), columns);
  Matrix<float> back(num_vertices(), columns);
  ParallelFor(num_vertices(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      const std::span<float> row = front.row(v);
      for (std::size_t k = begin_[v]; k < begin_[v + 1]; ++k) {
        const float* source = x.row(spread_[k].variable).data();
        for (std::size_t i = 0; i < columns; ++i) row[i] += spread_[k].weight * source[i];
      }
    }
  });
  for (std::size_t axis = 0; axis < corners_; ++axis) {
    Blur(axis, front, &back);
    std::swap(front, back);
  }
  const auto d = static_cast<int>(corners_) - 1;
  const float alpha = factor / (1.0F + std::ldexp(1.0F, -d));
  ParallelFor(size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      const std::span<float> row = out->row(a);
      for (std::size_t r = 0; r < corners_; ++r) {
        const float* source = front.row(corner_[a * corners_ + r]).data();
        const float weight = alpha * weight_[a * corners_ + r];
        for (std::size_t i = 0; i < columns; ++i) row[i] += weight * source[i];
      }
    }
  });
}

std::vector<float> AxisLattice::RowSums() const {
  Matrix<float> sums(size(), 1);
  AddProduct(Matrix<float>(size(), 1, 1.0F), 1.0F, &sums);
  return {sums.data(), sums.data() + sums.size()};
}

}  // namespace submarine::internal
