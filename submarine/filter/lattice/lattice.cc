#include "submarine/filter/lattice/lattice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "submarine/base/aligned_memory.h"
#include "submarine/base/error.h"
#include "submarine/base/freed_memory.h"
#include "submarine/base/parallel.h"
#include "submarine/base/simd/wide_registers.h"
#include "submarine/filter/lattice/lattice_diagonal.h"
#include "submarine/filter/lattice/lattice_workspace.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kVertexGrain = 1024;
constexpr std::size_t kPixelGrain = 4096;

RowsView ViewRows(const Matrix<float>& x) {
  const std::size_t padded = PaddedChannels(x.cols());
  // Row a ends, padding included, at a * cols + padded.
  const std::size_t spare = padded - x.cols();
  const std::size_t unreadable = (spare + x.cols() - 1) / x.cols();
  return {x.data(), x.cols(), x.rows() - std::min(x.rows(), unreadable)};
}

// z_v += rows_k, in ascending order, for all k with first <= v = vertex[k] < last.
SUBMARINE_FOR_WIDE_REGISTERS void AddToVertices(const float* __restrict rows, std::size_t padded,
                                                const std::uint32_t* __restrict vertex,
                                                std::size_t count, std::size_t first,
                                                std::size_t last, float* __restrict z) {
  for (std::size_t k = 0; k < count; ++k) {
    if (vertex[k] - first >= last - first) continue;  // those below wrap around
    float* sum = z + vertex[k] * padded;
    const float* row = rows + k * padded;
    for (std::size_t i = 0; i < padded; ++i) sum[i] += row[i];
  }
}

}  // namespace

LatticeOperator::LatticeOperator(const GaussianKernel& kernel, const LatticeOptions& options)
    : name_(kernel.name), options_(options) {
  CheckLatticeOptions(options);
  CheckKernel(kernel);
  CheckNormalised(kernel);
  stencil_ = MakeLatticeStencil(static_cast<int>(kernel.dimension()), options);
  lattice_ = BuildLattice(LatticePoints(kernel), stencil_, options.max_bytes);
}

LatticeOperator::LatticeOperator(const LatticePoints& points, const LatticeOptions& options,
                                 LatticeStencil stencil)
    : name_(points.name),
      options_(options),
      stencil_(std::move(stencil)),
      lattice_(BuildLattice(points, stencil_, options.max_bytes)) {}

std::unique_ptr<LatticeOperator> LatticeOperator::MakeClassic(const Matrix<float>& features,
                                                              bool normalised,
                                                              std::size_t max_bytes) {
  LatticeOptions options;
  options.self_terms = true;
  options.max_bytes = max_bytes;
  std::unique_ptr<LatticeOperator> op(
      new LatticeOperator(LatticePoints("features", features), options,
                          MakeClassicStencil(static_cast<int>(features.cols()))));
  if (normalised) NormaliseClassic(op->stencil_, &op->lattice_);
  return op;
}

std::unique_ptr<LatticeOperator> LatticeOperator::MakeNormalised(const GaussianKernel& kernel,
                                                                 const LatticeOptions& options,
                                                                 std::vector<double>* scale) {
  CheckLatticeOptions(options);
  CheckKernel(kernel);
  std::unique_ptr<LatticeOperator> op(
      new LatticeOperator(LatticePoints(kernel), options,
                          MakeLatticeStencil(static_cast<int>(kernel.dimension()), options)));
  NormaliseByRowSums(op->stencil_, &op->lattice_, scale);
  return op;
}

void LatticeOperator::CheckSymmetric() const {
  if (stencil_.by_axes) throw std::logic_error("the classic lattice has products only");
}

LatticeOperator::~LatticeOperator() = default;

void LatticeOperator::CheckShapes(const Matrix<float>& x, const Matrix<float>& out) const {
  if (x.rows() != size() || out.rows() != size() || x.cols() != out.cols()) {
    throw InvalidInput(
        fmt::format("the input of a lattice is {} x {} and its output {} x {}, expected {} rows "
                    "and equally many columns",
                    x.rows(), x.cols(), out.rows(), out.cols(), size()));
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

const SplatParts& LatticeOperator::Parts() const {
  std::call_once(parts_once_, [&] { parts_ = BuildSplatParts(lattice_); });
  return parts_;
}

void LatticeOperator::ReserveTables(std::size_t padded, Workspace* workspace) const {
  const std::size_t table = lattice_.num_vertices * padded;
  const std::size_t in_parts =
      Parts().empty() ? 0 : Parts().MostRows(PartsAtOnce(NumThreads())) * padded;
  CheckWorkspace(2 * table + in_parts);
  workspace->front.Reserve(table);
  workspace->back.Reserve(table);
  workspace->parts.Reserve(in_parts);
}

void LatticeOperator::Splat(const Matrix<float>& x, Workspace* workspace) const {
  const std::size_t padded = PaddedChannels(x.cols());
  const RowsView rows = ViewRows(x);
  const SplatParts& parts = Parts();
  if (parts.empty()) {
    GatherSums(x, workspace);
    workspace->front.Swap(&workspace->back);
    return;
  }
  ClearSums(padded, workspace);
  const std::size_t at_once = PartsAtOnce(NumThreads());
  for (std::size_t first = 0; first < parts.num_parts(); first += at_once) {
    const std::size_t last = std::min(parts.num_parts(), first + at_once);
    ParallelFor(last - first, 1, [&](std::size_t k, std::size_t) {
      const std::size_t begin = (first + k) * parts.part_pixels;
      const std::size_t end = std::min(size(), begin + parts.part_pixels);
      SplatFromPixels(rows, x.cols(), parts.pixels(lattice_), begin, end,
                      ClearRows(first + k, first, padded, workspace));
    });
    AddRows(first, last, padded, workspace);
  }
  workspace->front.Swap(&workspace->back);
}

void LatticeOperator::GatherSums(const Matrix<float>& x, Workspace* workspace) const {
  const RowsView rows = ViewRows(x);
  const SplatLists& lists = Lists();
  float* z = workspace->back.data();
  ParallelFor(lattice_.num_vertices, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    SplatToVertices(rows, x.cols(), lists.begin.data(), lists.entry.data(), begin, end, z);
  });
}

void LatticeOperator::ClearSums(std::size_t padded, Workspace* workspace) const {
  float* z = workspace->back.data();
  ParallelFor(lattice_.num_vertices, kPixelGrain, [&](std::size_t begin, std::size_t end) {
    std::fill(z + begin * padded, z + end * padded, 0.0F);
  });
}

float* LatticeOperator::ClearRows(std::size_t part, std::size_t first, std::size_t padded,
                                  Workspace* workspace) const {
  const std::vector<std::uint32_t>& begin = Parts().row_begin;
  float* rows = workspace->parts.data() + (begin[part] - begin[first]) * padded;
  std::fill(rows, rows + (begin[part + 1] - begin[part]) * padded, 0.0F);
  return rows;
}

void LatticeOperator::AddRows(std::size_t first, std::size_t last, std::size_t padded,
                              Workspace* workspace) const {
  const SplatParts& parts = Parts();
  const std::size_t begin = parts.row_begin[first];
  const std::size_t count = parts.row_begin[last] - begin;
  const std::uint32_t* vertex = parts.vertex_of_row.data() + begin;
  // Every task looks at all rows, and adds those of its own vertices.
  const std::size_t threads = NumThreads();
  const std::size_t vertices = lattice_.num_vertices;
  const std::size_t grain = threads == 1 ? vertices : vertices / (2 * threads) + 1;
  ParallelFor(vertices, grain, [&](std::size_t first_vertex, std::size_t last_vertex) {
    AddToVertices(workspace->parts.data(), padded, vertex, count, first_vertex, last_vertex,
                  workspace->back.data());
  });
}

void LatticeOperator::Blur(std::size_t first, std::size_t last, std::size_t padded,
                           FloatBuffer* front, FloatBuffer* back, float factor) const {
  const std::size_t m = lattice_.num_vertices;
  const std::size_t grain = std::max<std::size_t>(16, kVertexGrain * 24 / padded);
  for (std::size_t k = first; k < last; ++k) {
    const BlurPass pass = MakeBlurPass(lattice_, stencil_, k, k + 1 == last ? factor : 1.0);
    const float* in = front->data();
    float* out = back->data();
    ParallelFor(m, grain, [&](std::size_t begin, std::size_t end) {
      BlurVertices(pass, in, padded, begin, end, out);
    });
    front->Swap(back);
  }
}

void LatticeOperator::BlurProduct(std::size_t padded, Workspace* workspace, float factor) const {
  Blur(0, stencil_.laziness.size(), padded, &workspace->front, &workspace->back, factor);
}

void LatticeOperator::Filter(const Matrix<float>& x, const float* self, float factor,
                             Matrix<float>* out) const {
  CheckShapes(x, *out);
  if (x.cols() == 0) return;
  const std::size_t padded = PaddedChannels(x.cols());
  WorkspaceLease lease(*this);
  ReserveTables(padded, lease.get());
  Splat(x, lease.get());
  BlurProduct(padded, lease.get());
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
  CheckSymmetric();
  std::call_once(diagonal_once_, [&] { diagonal_ = LatticeDiagonal(lattice_, stencil_); });
  return diagonal_;
}

const std::vector<float>& LatticeOperator::RowSums() const {
  std::call_once(row_sums_once_, [&] { row_sums_ = LatticeRowSums(lattice_, stencil_); });
  return row_sums_;
}

void LatticeOperator::DiscardVertices() {
  for (std::size_t c = 0; c <= lattice_.num_chunks(); ++c)
    first_records_.push_back(lattice_.FirstRecord(c));
  Free(&lattice_.neighbour_begin);
  Free(&lattice_.neighbour);
  lists_ = {};
  parts_ = {};
}

void LatticeOperator::DiscardPixels(std::size_t first, std::size_t last) {
  const auto discard = [](auto* values, std::size_t begin, std::size_t end) {
    DiscardPages(values->data() + begin, (end - begin) * sizeof(values->front()));
  };
  const std::size_t corners = lattice_.corners;
  const std::size_t last_chunk = (last + lattice_.chunk - 1) / lattice_.chunk;
  discard(&lattice_.simplex_vertex, first_records_[first / lattice_.chunk] * corners,
          first_records_[last_chunk] * corners);
  discard(&lattice_.weight, first * corners, last * corners);
  discard(&lattice_.simplex_of, first, last);
}

LatticeCounts LatticeOperator::Counts() const {
  const SplatParts& parts = Parts();
  return {.pixels = size(),
          .dimension = lattice_.corners - 1,
          .vertices = lattice_.num_vertices,
          .simplices = lattice_.simplex_vertex.size() / lattice_.corners,
          .chunk_vertices = lattice_.chunk_vertices,
          .parts = parts.empty() ? 1 : parts.num_parts(),
          .part_rows = parts.empty() ? size() : parts.num_rows()};
}

std::string LatticeOperator::Description() const {
  const std::string boundary =
      stencil_.kept == LatticeOptions().kept
          ? ""
          : fmt::format(" keeping {:.3g} of the mass at missing vertices", stencil_.kept);
  return fmt::format("lattice of {} vertices in dimension {}, {} blur passes{}",
                     lattice_.num_vertices, stencil_.dimension, stencil_.laziness.size(), boundary);
}

std::size_t LatticeOperator::bytes() const {
  const std::lock_guard lock(idle_mutex_);
  std::size_t bytes = lattice_.bytes() + lists_.bytes() + parts_.bytes() +
                      (diagonal_.capacity() + row_sums_.capacity()) * sizeof(float);
  for (const auto& workspace : idle_) bytes += workspace->bytes();
  return bytes;
}

}  // namespace submarine::internal
