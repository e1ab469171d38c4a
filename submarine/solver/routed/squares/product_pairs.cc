#include "submarine/solver/routed/squares/product_pairs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/parallel.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kSide = kRoutingBlock;
constexpr std::size_t kTasks = 8;

}  // namespace

ProductPairs::ProductPairs(const std::vector<ReorderedKernel>& kernels, std::size_t num_positions,
                           double product_limit, double product_cutoff)
    : kernels_(kernels), size_(num_positions), blocks_(NumBlocks(num_positions)) {
  const auto farthest = static_cast<float>(-2.0 * std::log(product_cutoff));
  std::vector<std::vector<Square>> found(blocks_);
  if (product_limit > 0.0) {
    ParallelFor(blocks_, 8, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        for (std::size_t column = row + 2; column < blocks_; ++column) {
          for (std::size_t m = 0; m < kernels_.size(); ++m) {
            if (kernels_[m].LeastSquared(row, column) <= farthest &&
                IsProduct(kernels_[m], row, column, product_limit))
              found[row].push_back({static_cast<std::uint32_t>(row),
                                    static_cast<std::uint32_t>(column),
                                    static_cast<std::uint32_t>(m)});
          }
        }
      }
    });
  }
  for (const std::vector<Square>& of_row : found)
    squares_.insert(squares_.end(), of_row.begin(), of_row.end());
  left_.resize(std::min(kTasks, std::max<std::size_t>(1, squares_.size())));
}

void ProductPairs::Route(const RoutingLayout& layout) {
  const std::size_t k = layout.bandwidth;
  const std::size_t tasks = left_.size();
  // Sums are kept apart by task and added in order: the same for any number of threads.
  std::vector<Matrix<double>> gains(tasks);
  std::vector<double> weight(tasks, 0.0);
  ParallelFor(tasks, 1, [&](std::size_t n, std::size_t) {
    Matrix<double> gain(blocks_ * kSide, k);
    const std::size_t begin = squares_.size() * n / tasks;
    const std::size_t end = squares_.size() * (n + 1) / tasks;
    ProductRoutes routes;
    left_[n].clear();
    left_[n].reserve(end - begin);
    for (std::size_t s = begin; s < end; ++s) {
      const Square& square = squares_[s];
      RouteProduct(kernels_[square.kernel], layout, square.row, square.column, &routes);
      for (std::size_t i = 0; i < kSide; ++i) {
        for (std::size_t m = 0; m < k; ++m) {
          gain(square.row * kSide + i, m) += routes.row_gain[m][i];
          gain(square.column * kSide + i, m) += routes.column_gain[m][i];
        }
      }
      const auto left =
          MakeResidualBlock(square.row, square.column, routes.row_left, routes.column_left);
      if (!left) continue;
      weight[n] += 1.0 / left->over_rows;
      left_[n].push_back(*left);
    }
    gains[n] = std::move(gain);
  });
  edge_weights_ = Matrix<double>(size_, k);
  residual_weight_ = 0.0;
  for (std::size_t n = 0; n < tasks; ++n) {
    for (std::size_t p = 0; p < size_; ++p) {
      for (std::size_t m = 0; m < k; ++m) edge_weights_(p, m) += gains[n](p, m);
    }
    residual_weight_ += weight[n];
  }
}

void ProductPairs::AddFlow(const Matrix<float>& v, Matrix<float>* flow) const {
  if (squares_.empty()) return;
  const std::size_t padded = blocks_ * kSide;
  const std::size_t cuts = v.rows();
  std::vector<float> potential(cuts * padded, 0.0F);
  for (std::size_t c = 0; c < cuts; ++c)
    std::copy(v.row(c).begin(), v.row(c).end(),
              potential.begin() + static_cast<std::ptrdiff_t>(c * padded));
  sums_.resize(left_.size());
  ParallelFor(left_.size(), 1, [&](std::size_t n, std::size_t) {
    sums_[n].assign(cuts * padded, 0.0F);
    for (const ResidualBlock& left : left_[n])
      FlowSquare(left, 1.0F, cuts, padded, potential.data(), sums_[n].data());
  });
  ParallelFor(size_, 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = 0; c < cuts; ++c) {
      for (std::size_t p = begin; p < end; ++p) {
        double sum = 0.0;
        for (const std::vector<float>& part : sums_) sum += part[c * padded + p];
        (*flow)(c, p) += static_cast<float>(sum);
      }
    }
  });
}

}  // namespace submarine::internal
