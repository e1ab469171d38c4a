#include "submarine/filter/kernel/grid_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "submarine/base/parallel.h"

namespace submarine::internal {
namespace {

constexpr double kReach = 4.0;        // standard deviations
constexpr std::size_t kMostTaps = 9;  // of an axis: sigmas of up to two voxels
constexpr double kOffGrid = 1e-6;     // of a step, times the number of steps

// out += weight (one + other)
void AddPair(const float* one, const float* other, float weight, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] += weight * (one[i] + other[i]);
}

void AddOne(const float* one, float weight, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] += weight * one[i];
}

// out += the taps beyond the middle of what lies `count` floats apart, number `at` of `side`.
void AddNeighbours(const std::vector<float>& taps, const float* x, std::size_t at, std::size_t side,
                   std::size_t count, float* out) {
  for (std::size_t k = 1; k < taps.size(); ++k) {
    const bool before = at >= k;
    const bool after = at + k < side;
    if (before && after) {
      AddPair(x + (at - k) * count, x + (at + k) * count, taps[k], count, out);
    } else if (before || after) {
      AddOne(x + (before ? at - k : at + k) * count, taps[k], count, out);
    }
  }
}

}  // namespace

GridOperator::GridOperator(std::array<Axis, 3> axes) : axes_(std::move(axes)) {}

std::optional<std::array<GridOperator::Axis, 3>> GridOperator::AxesOf(
    const GaussianKernel& kernel) {
  if (kernel.dimension() != 3 || kernel.size() < 2) return std::nullopt;
  const Matrix<double>& f = kernel.features;
  std::array<Axis, 3> axes;
  std::array<double, 3> steps;
  std::size_t apart = 1;  // of neighbours along the axis
  for (std::size_t d = 0; d < 3; ++d) {
    Axis& axis = axes[d];
    steps[d] = apart < f.rows() ? f(apart, d) - f(0, d) : 0.0;
    while (axis.side * apart < f.rows() && f(axis.side * apart, d) > f((axis.side - 1) * apart, d))
      ++axis.side;
    axis.taps = {1.0F};
    for (std::size_t k = 1; k < axis.side; ++k) {
      const double distance = static_cast<double>(k) * steps[d];
      if (distance > kReach) break;
      axis.taps.push_back(static_cast<float>(std::exp(-0.5 * distance * distance)));
    }
    if (axis.taps.size() > kMostTaps) return std::nullopt;
    apart *= axis.side;
  }
  if (apart != f.rows()) return std::nullopt;
  const double strays =
      ParallelSum(f.rows(), std::size_t{1} << 16, [&](std::size_t begin, std::size_t end) {
        double count = 0.0;
        for (std::size_t a = begin; a < end; ++a) {
          std::size_t rest = a;
          for (std::size_t d = 0; d < 3; ++d) {
            const auto at = static_cast<double>(rest % axes[d].side);
            rest /= axes[d].side;
            if (std::abs(f(a, d) - f(0, d) - at * steps[d]) > kOffGrid * steps[d] * (1.0 + at))
              count += 1.0;
          }
        }
        return count;
      });
  if (strays > 0.0) return std::nullopt;
  return axes;
}

std::unique_ptr<GridOperator> GridOperator::Make(const GaussianKernel& kernel) {
  auto axes = AxesOf(kernel);
  if (!axes) return nullptr;
  std::unique_ptr<GridOperator> op(new GridOperator(*std::move(axes)));
  if (!kernel.scale.empty()) {
    op->scale_.assign(kernel.scale.begin(), kernel.scale.end());
    return op;
  }
  op->scale_.assign(kernel.size(), 1.0F);
  if (kernel.normalisation == KernelNormalisation::kNone) return op;
  const std::vector<float> sums = op->RowSumsWithSelf();
  for (std::size_t a = 0; a < sums.size(); ++a) op->scale_[a] = 1.0F / std::sqrt(sums[a]);
  return op;
}

std::vector<double> GridOperator::SumsOf(const Axis& axis) const {
  std::vector<double> sums(axis.side, 0.0);
  for (std::size_t i = 0; i < axis.side; ++i) {
    for (std::size_t k = 0; k < axis.taps.size(); ++k) {
      if (i >= k) sums[i] += axis.taps[k];
      if (k > 0 && i + k < axis.side) sums[i] += axis.taps[k];
    }
  }
  return sums;
}

std::vector<float> GridOperator::RowSumsWithSelf() const {
  if (std::all_of(scale_.begin(), scale_.end(), [](float r) { return r == 1.0F; })) {
    const std::vector<double> x = SumsOf(axes_[0]);
    const std::vector<double> y = SumsOf(axes_[1]);
    const std::vector<double> z = SumsOf(axes_[2]);
    std::vector<float> sums;
    sums.reserve(size());
    for (const double of_z : z) {
      for (const double of_y : y) {
        for (const double of_x : x) sums.push_back(static_cast<float>(of_x * of_y * of_z));
      }
    }
    return sums;
  }
  Matrix<float> ones(size(), 1, 1.0F);
  Matrix<float> sums(size(), 1, 0.0F);
  AddProduct(ones, 1.0F, &sums);
  std::vector<float> with_self(size());
  for (std::size_t a = 0; a < size(); ++a) with_self[a] = sums(a, 0) + scale_[a] * scale_[a];
  return with_self;
}

// The products along x and y of one slice of r x. `line` has room for a slice.
void GridOperator::AlongRows(const float* x, std::size_t slice, std::size_t columns, float* line,
                             float* out) const {
  const std::size_t width = axes_[0].side;
  const std::size_t height = axes_[1].side;
  const std::size_t row = width * columns;
  const std::size_t begin = slice * width * height;
  const std::vector<float>& taps = axes_[0].taps;
  // A row with zeros on both sides.
  const std::size_t beyond = (taps.size() - 1) * columns;
  std::vector<float> padded(row + 2 * beyond, 0.0F);
  for (std::size_t y = 0; y < height; ++y) {
    const std::size_t first = begin + y * width;
    float* middle = padded.data() + beyond;
    for (std::size_t i = 0; i < width; ++i) {
      for (std::size_t c = 0; c < columns; ++c)
        middle[i * columns + c] = scale_[first + i] * x[(first + i) * columns + c];
    }
    float* to = line + y * row;
    std::copy(middle, middle + row, to);
    for (std::size_t k = 1; k < taps.size(); ++k)
      AddPair(middle - k * columns, middle + k * columns, taps[k], row, to);
  }
  std::copy(line, line + height * row, out);
  for (std::size_t y = 0; y < height; ++y)
    AddNeighbours(axes_[1].taps, line, y, height, row, out + y * row);
}

void GridOperator::Multiply(const float* x, std::size_t columns, float factor, float* out) const {
  const std::size_t depth = axes_[2].side;
  const std::size_t voxels = axes_[0].side * axes_[1].side;
  const std::size_t slice = voxels * columns;
  const std::size_t reach = axes_[2].taps.size() - 1;
  // Slices of a range are found with those that it needs on both sides.
  const std::size_t range = std::max<std::size_t>(4 * reach, 16);
  ParallelFor(depth, range, [&](std::size_t begin, std::size_t end) {
    const std::size_t low = begin - std::min(begin, reach);
    const std::size_t high = std::min(depth, end + reach);
    std::vector<float> line(slice);
    std::vector<float> found((high - low) * slice);
    for (std::size_t z = low; z < high; ++z)
      AlongRows(x, z, columns, line.data(), found.data() + (z - low) * slice);
    for (std::size_t z = begin; z < end; ++z) {
      float* to = out + z * slice;
      std::copy_n(found.data() + (z - low) * slice, slice, to);
      AddNeighbours(axes_[2].taps, found.data(), z - low, high - low, slice, to);
      for (std::size_t i = 0; i < voxels; ++i) {
        const std::size_t a = z * voxels + i;
        const float r = scale_[a];
        for (std::size_t c = 0; c < columns; ++c) {
          float& value = to[i * columns + c];
          value = factor * r * (value - r * x[a * columns + c]);
        }
      }
    }
  });
}

void GridOperator::AddProduct(const Matrix<float>& x, float factor, Matrix<float>* out) const {
  Matrix<float> product(x.rows(), x.cols());
  Multiply(x.data(), x.cols(), factor, product.data());
  for (std::size_t i = 0; i < product.size(); ++i) out->data()[i] += product.data()[i];
}

void GridOperator::AddFlow(const Matrix<float>& /*v*/, FlowShape /*shape*/, float /*factor*/,
                           Matrix<float>* /*out*/) const {
  throw std::logic_error("a grid has no flows");
}

std::vector<double> GridOperator::TotalVariation(const Matrix<float>& /*x*/) const {
  throw std::logic_error("a grid has no total variation");
}

std::string GridOperator::Description() const {
  return fmt::format("grid of {} x {} x {} voxels", axes_[0].side, axes_[1].side, axes_[2].side);
}

}  // namespace submarine::internal
