// Ordered application: LatticeOperator::AddFlow and TotalVariation (lattice_levels.h).
//
// Let C_k be the filtered mass at or above node k; C_0 = T, the filtered ones. A variable on node j
// receives sum_{l<j} - sum_{l>j} of the mass on node l, that is T - C_j - C_(j+1); one between
// nodes j and j+1 interpolates linearly between both. So C_1, ..., C_cells are each filtered once.
// Most variables of most columns are on node 0: they spread nothing and receive -C_1.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "submarine/base/parallel.h"
#include "submarine/filter/lattice/lattice.h"
#include "submarine/filter/lattice/lattice_levels.h"
#include "submarine/filter/lattice/lattice_workspace.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kFlowPixelGrain = 4096;
constexpr std::size_t kFlowVertexGrain = 256;

}  // namespace

struct LatticeOperator::LevelEntry {
  std::uint32_t column;
  float level;  // > 0
};

// The levels above 0, per variable.
struct LatticeOperator::FlowEntries {
  std::vector<std::uint32_t> begin;             // in its chunk, per variable
  std::vector<std::uint32_t> count;             // per variable
  std::vector<std::vector<LevelEntry>> chunks;  // of kFlowPixelGrain variables

  const LevelEntry* of(std::size_t a) const {
    return chunks[a / kFlowPixelGrain].data() + begin[a];
  }
};

LatticeOperator::FlowEntries LatticeOperator::ListEntries(const Matrix<float>& v,
                                                          const ColumnLevels& levels,
                                                          std::size_t first) const {
  FlowEntries entries;
  entries.begin.resize(size());
  entries.count.resize(size());
  entries.chunks.resize((size() + kFlowPixelGrain - 1) / kFlowPixelGrain);
  ParallelFor(size(), kFlowPixelGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<LevelEntry>& chunk = entries.chunks[begin / kFlowPixelGrain];
    std::vector<float> s(levels.columns());
    for (std::size_t a = begin; a < end; ++a) {
      entries.begin[a] = static_cast<std::uint32_t>(chunk.size());
      if (levels.Row(v.data() + a * v.cols() + first, s.data())) {
        for (std::size_t i = 0; i < s.size(); ++i) {
          if (s[i] > 0.0F) chunk.push_back({static_cast<std::uint32_t>(i), s[i]});
        }
      }
      entries.count[a] = static_cast<std::uint32_t>(chunk.size()) - entries.begin[a];
    }
  });
  return entries;
}

// Row v of z: C_1 of all columns, then C_2 of all columns, ... before blurring.
void LatticeOperator::SplatLevels(const FlowEntries& entries, std::size_t columns,
                                  std::size_t cells, std::size_t padded, float* z) const {
  const SplatLists& lists = Lists();
  ParallelFor(lattice_.num_vertices, kFlowVertexGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      float* row = z + v * padded;
      std::fill(row, row + padded, 0.0F);
      for (std::size_t k = lists.begin[v]; k < lists.begin[v + 1]; ++k) {
        const std::size_t a = lists.entry[k].pixel;
        const float weight = lists.entry[k].weight;
        const LevelEntry* entry = entries.of(a);
        for (std::size_t n = 0; n < entries.count[a]; ++n) {
          const auto node = static_cast<std::size_t>(entry[n].level);
          const float upper = weight * (entry[n].level - static_cast<float>(node));
          float* mass = row + entry[n].column;
          if (node > 0) mass[(node - 1) * columns] += weight - upper;
          if (node < cells) mass[node * columns] += upper;
        }
      }
      for (std::size_t k = cells - 1; k > 0; --k) {
        for (std::size_t i = 0; i < columns; ++i)
          row[(k - 1) * columns + i] += row[k * columns + i];
      }
    }
  });
}

void LatticeOperator::SliceLevels(const FlowEntries& entries, std::size_t columns,
                                  std::size_t cells, std::size_t padded, const float* z,
                                  float factor, float* out, std::size_t out_stride) const {
  const std::size_t corners = lattice_.corners;
  const std::vector<float>& row_sums = RowSums();
  ParallelFor(size(), kFlowPixelGrain, [&](std::size_t begin, std::size_t end) {
    SliceToPixels(z, padded, columns, lattice_.pixels(), nullptr, RowsView{}, -factor, begin, end,
                  out, out_stride);
    for (std::size_t a = begin; a < end; ++a) {
      const std::uint32_t* vertex =
          lattice_.simplex_vertex.data() + lattice_.simplex_of[a] * corners;
      const float* weight = lattice_.weight.data() + a * corners;
      const LevelEntry* entry = entries.of(a);
      for (std::size_t n = 0; n < entries.count[a]; ++n) {
        const auto j = static_cast<std::size_t>(entry[n].level);
        const float upper = entry[n].level - static_cast<float>(j);
        // (1 - upper) C_j + C_(j+1) + upper C_(j+2) - C_1, without C_0 = T.
        const float below = j > 0 ? 1.0F - upper : 0.0F;
        const float here = j > 0 && j < cells ? 1.0F : 0.0F;
        const float above = j + 1 < cells ? upper : 0.0F;
        const float first = j > 0 ? -1.0F : 0.0F;
        const std::size_t below_at = (std::max<std::size_t>(j, 1) - 1) * columns;
        const std::size_t here_at = std::min(j, cells - 1) * columns;
        const std::size_t above_at = std::min(j + 1, cells - 1) * columns;
        float sum = 0.0F;
        for (std::size_t i = 0; i < corners; ++i) {
          const float* row = z + vertex[i] * padded + entry[n].column;
          sum += weight[i] * (below * row[below_at] + here * row[here_at] + above * row[above_at] +
                              first * row[0]);
        }
        const float total = j > 0 ? row_sums[a] : upper * row_sums[a];
        out[a * out_stride + entry[n].column] += factor * (total - sum);
      }
    }
  });
}

std::size_t LatticeOperator::ColumnsAtATime(std::size_t cells) const {
  const std::size_t per_column = 2 * lattice_.num_vertices * cells * sizeof(float);
  return std::max<std::size_t>(1, options_.flow_workspace_bytes / per_column);
}

void LatticeOperator::AddFlow(const Matrix<float>& v, FlowShape shape, float factor,
                              Matrix<float>* out) const {
  CheckSymmetric();
  CheckShapes(v, *out);
  if (v.cols() == 0) return;
  const std::size_t most_cells = static_cast<std::size_t>(options_.levels) - 1;
  const std::size_t step = std::min(v.cols(), ColumnsAtATime(most_cells));
  const NodeRule rule = shape == FlowShape::kClip ? NodeRule::kUnitCells : NodeRule::kQuantiles;
  CheckWorkspace(2 * lattice_.num_vertices * PaddedChannels(step * most_cells));
  WorkspaceLease lease(*this);
  for (std::size_t first = 0; first < v.cols(); first += step) {
    const std::size_t last = std::min(v.cols(), first + step);
    const ColumnLevels levels = ColumnLevels::Soft(v, rule, options_.levels, first, last);
    if (levels.cells() == 0) continue;  // constant columns: no order, no flow
    const std::size_t padded = PaddedChannels(levels.columns() * levels.cells());
    lease.get()->front.Reserve(lattice_.num_vertices * padded);
    lease.get()->back.Reserve(lattice_.num_vertices * padded);
    const FlowEntries entries = ListEntries(v, levels, first);
    SplatLevels(entries, levels.columns(), levels.cells(), padded, lease.get()->front.data());
    Blur(0, stencil_.laziness.size(), padded, &lease.get()->front, &lease.get()->back);
    SliceLevels(entries, levels.columns(), levels.cells(), padded, lease.get()->front.data(),
                factor, out->data() + first, out->cols());
  }
}

// Per column sum_k (t_(k+1) - t_k) <P_k, K P_k>, K with its diagonal, from the result of
// SplatLevels: <z, B z> = <G z, C G z>.
std::vector<double> LatticeOperator::EnergyOfLevels(const ColumnLevels& levels, std::size_t padded,
                                                    Workspace* workspace) const {
  constexpr std::size_t kGrain = 4096;
  const std::size_t half = stencil_.laziness.size() / 2;
  const std::size_t columns = levels.columns();
  const std::size_t m = lattice_.num_vertices;
  Blur(0, half, padded, &workspace->front, &workspace->back);
  Blur(half, half + 1, padded, &workspace->front, &workspace->back);
  const float* after = workspace->front.data();
  const float* before = workspace->back.data();
  Matrix<double> partial((m + kGrain - 1) / kGrain, columns * levels.cells());
  ParallelFor(m, kGrain, [&](std::size_t begin, std::size_t end) {
    double* sums = partial.data() + begin / kGrain * partial.cols();
    for (std::size_t v = begin; v < end; ++v) {
      for (std::size_t c = 0; c < partial.cols(); ++c) {
        sums[c] += static_cast<double>(after[v * padded + c]) * before[v * padded + c];
      }
    }
  });
  std::vector<double> energy(columns, 0.0);
  for (std::size_t chunk = 0; chunk < partial.rows(); ++chunk) {
    for (std::size_t i = 0; i < columns; ++i) {
      const std::vector<float>& nodes = levels.nodes(i);
      for (std::size_t k = 0; k + 1 < nodes.size(); ++k) {
        energy[i] +=
            (static_cast<double>(nodes[k + 1]) - nodes[k]) * partial(chunk, k * columns + i);
      }
    }
  }
  return energy;
}

// sum_{a<b} K_ab sum_k (t_(k+1) - t_k) [P_a(k) (1 - P_b(k)) + P_b(k) (1 - P_a(k))]
//   = sum_k (t_(k+1) - t_k) [<P, T> - <P, K P> - sum_a K_aa P_a (1 - P_a)],
// with P_a(k) the mass above node k; sum_k (t_(k+1) - t_k) P_a(k) = x_a - t_0.
std::vector<double> LatticeOperator::TotalVariation(const Matrix<float>& x) const {
  CheckSymmetric();
  // Intermediate sums are in single precision, all of nonnegative terms: relative to <P, T> the
  // rounding is of the order of 1e-7, and this margin is added so that the result stays an
  // over-estimate.
  constexpr double kRounding = 2e-6;
  CheckShapes(x, x);
  std::vector<double> total(x.cols(), 0.0);
  if (x.cols() == 0) return total;
  const std::vector<float>& diagonal = Diagonal();
  const std::vector<float>& row_sums = RowSums();
  const auto most_cells = static_cast<std::size_t>(options_.levels - 1);
  const std::size_t step = std::min(x.cols(), ColumnsAtATime(most_cells));
  CheckWorkspace(2 * lattice_.num_vertices * PaddedChannels(step * most_cells));
  WorkspaceLease lease(*this);
  for (std::size_t first = 0; first < x.cols(); first += step) {
    const std::size_t last = std::min(x.cols(), first + step);
    const ColumnLevels levels =
        ColumnLevels::Soft(x, NodeRule::kMixed, options_.levels, first, last);
    if (levels.cells() == 0) continue;
    const std::size_t padded = PaddedChannels(levels.columns() * levels.cells());
    lease.get()->front.Reserve(lattice_.num_vertices * padded);
    lease.get()->back.Reserve(lattice_.num_vertices * padded);
    const FlowEntries entries = ListEntries(x, levels, first);
    SplatLevels(entries, levels.columns(), levels.cells(), padded, lease.get()->front.data());
    const std::vector<double> energy = EnergyOfLevels(levels, padded, lease.get());
    std::vector<double> mass(levels.columns(), 0.0);  // <P, T>
    std::vector<double> self(levels.columns(), 0.0);
    for (std::size_t a = 0; a < size(); ++a) {
      const LevelEntry* entry = entries.of(a);
      for (std::size_t n = 0; n < entries.count[a]; ++n) {
        const std::vector<float>& nodes = levels.nodes(entry[n].column);
        const auto j = std::min(static_cast<std::size_t>(entry[n].level), nodes.size() - 1);
        const double upper = entry[n].level - static_cast<double>(j);
        const double width =
            j + 1 < nodes.size() ? static_cast<double>(nodes[j + 1]) - nodes[j] : 0.0;
        mass[entry[n].column] +=
            row_sums[a] * (static_cast<double>(nodes[j]) + upper * width - nodes[0]);
        self[entry[n].column] += diagonal[a] * width * upper * (1.0 - upper);
      }
    }
    for (std::size_t i = 0; i < levels.columns(); ++i) {
      total[first + i] = std::max(0.0, (1.0 + kRounding) * mass[i] - energy[i] - self[i]);
    }
  }
  return total;
}

}  // namespace submarine::internal
