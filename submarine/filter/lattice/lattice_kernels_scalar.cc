#include <algorithm>
#include <cmath>

#include "submarine/filter/lattice/lattice_kernels.h"

namespace submarine::internal::scalar {

void LocatePoints(const double* feature, int d, LocatedPoints* out) {
  for (std::size_t p = 0; p < kLocateBlock; ++p) {
    double e[kMaxCorners];
    double sum = 0.0;
    for (int i = d; i > 0; --i) {
      const double f = feature[(i - 1) * kLocateBlock + p];
      e[i] = sum - i * f;
      sum += f;
    }
    e[0] = sum;
    double cell[kMaxCorners];
    double residual[kMaxCorners];
    int rank[kMaxCorners] = {};
    int excess = 0;  // how far the floor is off the plane: -d..0
    for (int i = 0; i <= d; ++i) {
      cell[i] = std::floor(e[i]);
      residual[i] = e[i] - cell[i];
      excess += static_cast<int>(cell[i]);
    }
    for (int i = 0; i <= d; ++i) {
      for (int j = i + 1; j <= d; ++j) ++rank[residual[i] < residual[j] ? i : j];
    }
    for (int i = 0; i <= d; ++i) {
      rank[i] += excess;
      const int shift = rank[i] < 0 ? 1 : (rank[i] > d ? -1 : 0);
      rank[i] += shift * (d + 1);
      cell[i] += shift;
      out->cell[i][p] = static_cast<std::int32_t>(cell[i]);
      out->rank[i][p] = rank[i];
    }
    // Barycentric coordinates are differences of consecutive sorted residuals.
    float sorted[kMaxCorners] = {};
    for (int i = 0; i <= d; ++i) sorted[rank[i]] = static_cast<float>(e[i] - cell[i]);
    out->weight[0][p] = std::max(0.0F, 1.0F + sorted[d] - sorted[0]);
    for (int r = 1; r <= d; ++r)
      out->weight[r][p] = std::max(0.0F, sorted[d - r] - sorted[d + 1 - r]);
    out->repeats[p] = p == 0 ? 0 : 1;
    for (int i = 0; i <= d && out->repeats[p] != 0; ++i) {
      const bool same =
          out->cell[i][p] == out->cell[i][p - 1] && out->rank[i][p] == out->rank[i][p - 1];
      out->repeats[p] = same ? 1 : 0;
    }
  }
}

void SplatToVertices(const RowsView& x, std::size_t channels, const std::uint32_t* begin,
                     const SplatEntry* entry, std::size_t first, std::size_t last, float* z) {
  const std::size_t padded = PaddedChannels(channels);
  for (std::size_t v = first; v < last; ++v) {
    float* row = z + v * padded;
    std::fill(row, row + padded, 0.0F);
    for (std::size_t k = begin[v]; k < begin[v + 1]; ++k) {
      const float* source = x.data + entry[k].pixel * x.stride;
      for (std::size_t c = 0; c < channels; ++c) row[c] += entry[k].weight * source[c];
    }
  }
}

void SplatFromPixels(const RowsView& x, std::size_t channels, const PixelCorners& pixels,
                     std::size_t first, std::size_t last, float* z) {
  const std::size_t padded = PaddedChannels(channels);
  for (std::size_t a = first; a < last; ++a) {
    const float* source = x.data + a * x.stride;
    const std::uint32_t* vertex = pixels.simplex_vertex + pixels.simplex_of[a] * pixels.corners;
    for (std::size_t i = 0; i < pixels.corners; ++i) {
      const float weight = pixels.weight[a * pixels.corners + i];
      float* row = z + vertex[i] * padded;
      for (std::size_t c = 0; c < channels; ++c) row[c] += weight * source[c];
    }
  }
}

void BlurVertices(const BlurPass& pass, const float* in, std::size_t padded, std::size_t first,
                  std::size_t last, float* out) {
  for (std::size_t v = first; v < last; ++v) {
    const std::size_t begin = pass.begin[v];
    const std::size_t end = pass.begin[v + 1];
    const float centre = pass.centre - pass.per_present * static_cast<float>(end - begin);
    for (std::size_t c = 0; c < padded; ++c) {
      float sum = 0.0F;
      for (std::size_t k = begin; k < end; ++k) sum += in[pass.neighbour[k] * padded + c];
      out[v * padded + c] = centre * in[v * padded + c] + pass.move * sum;
    }
  }
}

void SliceToPixels(const float* z, std::size_t z_stride, std::size_t channels,
                   const PixelCorners& pixels, const float* self, const RowsView& x, float factor,
                   std::size_t first, std::size_t last, float* out, std::size_t out_stride) {
  for (std::size_t a = first; a < last; ++a) {
    const std::uint32_t* vertex = pixels.simplex_vertex + pixels.simplex_of[a] * pixels.corners;
    for (std::size_t c = 0; c < channels; ++c) {
      float sum = self == nullptr ? 0.0F : -self[a] * x.data[a * x.stride + c];
      for (std::size_t i = 0; i < pixels.corners; ++i) {
        sum += pixels.weight[a * pixels.corners + i] * z[vertex[i] * z_stride + c];
      }
      out[a * out_stride + c] += factor * sum;
    }
  }
}

void SliceOnto(const float* z, std::size_t padded, const PixelCorners& pixels,
               const SliceBase& onto, std::size_t count, float* out) {
  for (std::size_t a = 0; a < count; ++a) {
    const std::uint32_t* vertex = pixels.simplex_vertex + pixels.simplex_of[a] * pixels.corners;
    for (std::size_t c = 0; c < padded; ++c) {
      float sum = onto.base[a * onto.base_stride + c];
      if (onto.self != nullptr)
        sum -= onto.self_factor * onto.self[a] * onto.x[a * onto.x_stride + c];
      for (std::size_t i = 0; i < pixels.corners; ++i)
        sum += pixels.weight[a * pixels.corners + i] * z[vertex[i] * padded + c];
      out[a * padded + c] = sum;
    }
  }
}

bool LevelRow(const float* v, std::size_t n, const float* node, const float* slope,
              std::size_t cells, std::size_t padded, float* s) {
  bool any = false;
  for (std::size_t i = 0; i < n; ++i) {
    float sum = 0.0F;
    for (std::size_t k = 0; k < cells; ++k) {
      sum += std::clamp((v[i] - node[k * padded + i]) * slope[k * padded + i], 0.0F, 1.0F);
    }
    s[i] = sum;
    any = any || sum > 0.0F;
  }
  return any;
}

}  // namespace submarine::internal::scalar
