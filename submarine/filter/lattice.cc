#include "submarine/filter/lattice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/filter/lattice_diagonal.h"
#include "submarine/filter/lattice_workspace.h"

namespace submarine {
namespace {

constexpr std::size_t kSplatParts = 8;
constexpr std::size_t kVertexGrain = 1024;
constexpr std::size_t kPixelGrain = 4096;

RowsView ViewRows(const Matrix<float>& x) {
  const std::size_t padded = PaddedChannels(x.cols());
  // Row a ends, padding included, at a * cols + padded.
  const std::size_t spare = padded - x.cols();
  const std::size_t unreadable = (spare + x.cols() - 1) / x.cols();
  return {x.data(), x.cols(), x.rows() - std::min(x.rows(), unreadable)};
}

}  // namespace

LatticeOperator::LatticeOperator(const GaussianKernel& kernel, const LatticeOptions& options)
    : name_(kernel.name), options_(options) {
  CheckLatticeOptions(options);
  CheckKernel(kernel);
  stencil_ = MakeLatticeStencil(static_cast<int>(kernel.dimension()), options);
  lattice_ = BuildLattice(kernel, stencil_, options.max_bytes);
  splat_from_pixels_ = lattice_.num_vertices * kSplatParts <= lattice_.num_pixels;
}

LatticeOperator::~LatticeOperator() = default;

void LatticeOperator::CheckShapes(const Matrix<float>& x, const Matrix<float>& out) const {
  if (x.rows() != size() || out.rows() != size() || x.cols() != out.cols()) {
    throw InvalidInput(
        fmt::format("lattice of {} variables was given a {} x {} matrix to apply to and a {} x {} "
                    "one to add to",
                    size(), x.rows(), x.cols(), out.rows(), out.cols()));
  }
}

void LatticeOperator::CheckWorkspace(std::size_t floats) const {
  const std::size_t bytes = floats * sizeof(float) + lattice_.bytes();
  if (bytes > options_.max_bytes) {
    throw TooLarge(fmt::format("applying kernel \"{}\" needs about {} MiB, expected at most {} MiB",
                               name_, bytes >> 20, options_.max_bytes >> 20));
  }
}

const SplatLists& LatticeOperator::Lists() const {
  std::call_once(lists_once_, [&] { lists_ = BuildSplatLists(lattice_); });
  return lists_;
}

void LatticeOperator::Splat(const Matrix<float>& x, Workspace* workspace) const {
  const std::size_t m = lattice_.num_vertices;
  const std::size_t padded = PaddedChannels(x.cols());
  const RowsView rows = ViewRows(x);
  float* z = workspace->front.data();
  if (!splat_from_pixels_) {
    const SplatLists& lists = Lists();
    ParallelFor(m, kVertexGrain, [&](std::size_t begin, std::size_t end) {
      SplatToVertices(rows, x.cols(), lists.begin.data(), lists.entry.data(), begin, end, z);
    });
    return;
  }
  float* parts = workspace->parts.Reserve(kSplatParts * m * padded);
  const std::size_t part_size = (size() + kSplatParts - 1) / kSplatParts;
  ParallelFor(kSplatParts, 1, [&](std::size_t part, std::size_t) {
    float* sums = parts + part * m * padded;
    std::fill(sums, sums + m * padded, 0.0F);
    SplatFromPixels(rows, x.cols(), lattice_.pixels(), std::min(size(), part * part_size),
                    std::min(size(), (part + 1) * part_size), sums);
  });
  ParallelFor(m * padded, kVertexGrain * 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      float sum = parts[k];
      for (std::size_t part = 1; part < kSplatParts; ++part) sum += parts[part * m * padded + k];
      z[k] = sum;
    }
  });
}

void LatticeOperator::Blur(std::size_t first, std::size_t last, std::size_t padded,
                           Workspace* workspace) const {
  const std::size_t m = lattice_.num_vertices;
  const std::size_t grain = std::max<std::size_t>(16, kVertexGrain * 24 / padded);
  for (std::size_t k = first; k < last; ++k) {
    const double c = stencil_.laziness[k];
    const double p = stencil_.NeighbourWeight(c);
    BlurPass pass;
    pass.begin = lattice_.neighbour_begin.data();
    pass.neighbour = lattice_.neighbour.data();
    pass.move = static_cast<float>(p);
    pass.per_present = static_cast<float>(stencil_.kept * p);
    pass.centre = static_cast<float>(c + stencil_.kept * p * stencil_.neighbour_slots());
    const float* in = workspace->front.data();
    float* out = workspace->back.data();
    ParallelFor(m, grain, [&](std::size_t begin, std::size_t end) {
      BlurVertices(pass, in, padded, begin, end, out);
    });
    workspace->front.Swap(&workspace->back);
  }
}

void LatticeOperator::Filter(const Matrix<float>& x, const float* self, float factor,
                             Matrix<float>* out) const {
  CheckShapes(x, *out);
  if (x.cols() == 0) return;
  const std::size_t padded = PaddedChannels(x.cols());
  const std::size_t table = lattice_.num_vertices * padded;
  CheckWorkspace(table * (splat_from_pixels_ ? kSplatParts + 2 : 2));
  WorkspaceLease lease(*this);
  lease.get()->front.Reserve(table);
  lease.get()->back.Reserve(table);
  Splat(x, lease.get());
  Blur(0, stencil_.laziness.size(), padded, lease.get());
  const float* z = lease.get()->front.data();
  ParallelFor(size(), kPixelGrain, [&](std::size_t begin, std::size_t end) {
    SliceToPixels(z, padded, x.cols(), lattice_.pixels(), self, ViewRows(x), factor, begin, end,
                  out->data(), out->cols());
  });
}

void LatticeOperator::AddProduct(const Matrix<float>& x, float factor, Matrix<float>* out) const {
  Filter(x, options_.self_terms ? nullptr : Diagonal().data(), factor, out);
}

void LatticeOperator::AddProductWithSelf(const Matrix<float>& x, float factor,
                                         Matrix<float>* out) const {
  Filter(x, nullptr, factor, out);
}

const std::vector<float>& LatticeOperator::Diagonal() const {
  std::call_once(diagonal_once_, [&] { diagonal_ = LatticeDiagonal(lattice_, stencil_); });
  return diagonal_;
}

const std::vector<float>& LatticeOperator::RowSums() const {
  std::call_once(row_sums_once_, [&] {
    Matrix<float> sums(size(), 1);
    AddProductWithSelf(Matrix<float>(size(), 1, 1.0F), 1.0F, &sums);
    row_sums_.assign(sums.data(), sums.data() + sums.size());
  });
  return row_sums_;
}

std::string LatticeOperator::Description() const {
  return fmt::format("lattice of {} vertices in dimension {}, {} passes, {:.3g} kept",
                     lattice_.num_vertices, stencil_.dimension, stencil_.laziness.size(),
                     stencil_.kept);
}

std::size_t LatticeOperator::bytes() const {
  const std::lock_guard lock(idle_mutex_);
  std::size_t bytes = lattice_.bytes() + lists_.bytes() +
                      (diagonal_.capacity() + row_sums_.capacity()) * sizeof(float);
  for (const auto& workspace : idle_) bytes += workspace->bytes();
  return bytes;
}

std::size_t LatticeOperator::EstimateBytes(std::size_t num_variables, std::size_t dimension,
                                           std::size_t channels) {
  const std::size_t vertices = num_variables * (dimension + 1);
  return LatticeBytes(num_variables, dimension, vertices) +
         2 * vertices * PaddedChannels(channels) * sizeof(float) +
         2 * num_variables * sizeof(float);
}

}  // namespace submarine
