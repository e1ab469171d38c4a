// The permutohedral lattice as a GaussianOperator: the cost is linear in N for kernels of any
// width.
//
// The K that it applies is close to the Gaussian but not equal to it (docs/filters.md). It is
// symmetric, nonnegative and, with its diagonal, positive semidefinite by construction
// (lattice_stencil.h), so that certificates about it hold for the model with that K. Results do not
// depend on the number of threads.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/filter/kernel/gaussian_operator.h"
#include "submarine/filter/lattice/lattice_build.h"
#include "submarine/filter/lattice/lattice_parts.h"
#include "submarine/filter/lattice/lattice_stencil.h"

namespace submarine::internal {

class ColumnLevels;
class FloatBuffer;

class LatticeOperator final : public GaussianOperator {
 public:
  // Throws InvalidInput (CheckKernel, CheckLatticeOptions, features too far apart to number the
  // lattice's cells) and TooLarge.
  explicit LatticeOperator(const GaussianKernel& kernel, const LatticeOptions& options = {});
  ~LatticeOperator() override;

  // Of a kernel that is not normalised yet, by its own row sums: the operator of the kernel with
  // the scale 1 / sqrt(row sum), which goes to *scale if that is not null. Builds one lattice.
  static std::unique_ptr<LatticeOperator> MakeNormalised(const GaussianKernel& kernel,
                                                         const LatticeOptions& options,
                                                         std::vector<double>* scale);

  // The permutohedral filter in its classic form (Adams, Baek, Davis 2010), for reproducing
  // published results,
  //
  //   K = alpha S^T B_d ... B_1 B_0 S,   B_j = 1 + (U_j + U_j^T) / 2,   alpha = 1 / (1 + 2^-d),
  //
  // where S spreads variables over the corners of their simplex and U_j moves a vertex along axis j
  // if the target exists: only products with self terms and row sums. The factors do not commute on
  // an incomplete set of vertices, so K is not symmetric, its diagonal is not 1, and its rows sum to
  // 0.4 to 0.9 of the Gaussian's: no certificate may be about it, and no solver option selects it.
  // `normalised` divides on both sides by the square roots of its row sums.
  static std::unique_ptr<LatticeOperator> MakeClassic(const Matrix<float>& features,
                                                      bool normalised, std::size_t max_bytes);

  std::size_t size() const override { return lattice_.num_pixels; }
  void AddProduct(const Matrix<float>& x, float factor, Matrix<float>* out) const override;
  // psi by soft levels (lattice_levels.h).
  void AddFlow(const Matrix<float>& v, FlowShape shape, float factor,
               Matrix<float>* out) const override;
  // By |x_a - x_b| <= sum_kl p_a(k) p_b(l) |t_k - t_l|, with equality where all values are nodes.
  std::vector<double> TotalVariation(const Matrix<float>& x) const override;
  std::string Description() const override;
  std::size_t bytes() const override;

  // out_a += factor sum_b k_ab x_b, k_aa included.
  void AddProductWithSelf(const Matrix<float>& x, float factor, Matrix<float>* out) const;

  // k_aa exactly as contained in AddProductWithSelf. Computed when first needed.
  const std::vector<float>& Diagonal() const;
  // sum_b k_ab, k_aa included, which needs no diagonal. Computed when first needed.
  const std::vector<float>& RowSums() const;
  std::vector<float> RowSumsWithSelf() const override { return RowSums(); }

  // For the last product, in the order of use: frees what only splatting and blurring need, and
  // what slicing needs of pixels first..last-1, both multiples of Lattice::chunk or the end; those
  // discarded before may be among them. Whatever would use it afterwards is undefined.
  void DiscardVertices();
  void DiscardPixels(std::size_t first, std::size_t last);

  const Lattice& lattice() const { return lattice_; }
  // What CountLattice estimates.
  LatticeCounts Counts() const;
  const LatticeOptions& options() const { return options_; }
  const LatticeStencil& stencil() const { return stencil_; }

 private:
  LatticeOperator(const LatticePoints& points, const LatticeOptions& options,
                  LatticeStencil stencil);
  // Throws std::logic_error for the classic filter, which has no flows.
  void CheckSymmetric() const;
  class Workspace;
  class WorkspaceLease;
  friend class LatticeStream;

  void CheckShapes(const Matrix<float>& x, const Matrix<float>& out) const;
  void CheckWorkspace(std::size_t floats) const;
  void Filter(const Matrix<float>& x, const float* self, float factor, Matrix<float>* out) const;
  void ReserveTables(std::size_t padded, Workspace* workspace) const;
  // Fills workspace->front.
  void Splat(const Matrix<float>& x, Workspace* workspace) const;
  // The same into workspace->back, where lattices have many vertices compared to pixels.
  void GatherSums(const Matrix<float>& x, Workspace* workspace) const;
  // By parts, of which some are under way at a time (lattice_parts.h): clears workspace->back; makes
  // and clears the rows of a part where `first` is the first one under way; adds those of parts
  // first..last-1 to workspace->back.
  void ClearSums(std::size_t padded, Workspace* workspace) const;
  float* ClearRows(std::size_t part, std::size_t first, std::size_t padded,
                   Workspace* workspace) const;
  void AddRows(std::size_t first, std::size_t last, std::size_t padded, Workspace* workspace) const;
  // Applies passes first..last-1 to *front, the last one times `factor`, and swaps it with *back
  // after each.
  void Blur(std::size_t first, std::size_t last, std::size_t padded, FloatBuffer* front,
            FloatBuffer* back, float factor = 1.0F) const;
  // All passes of a product, from workspace->front to there.
  void BlurProduct(std::size_t padded, Workspace* workspace, float factor = 1.0F) const;
  const SplatLists& Lists() const;
  const SplatParts& Parts() const;

  // lattice_flow.cc
  struct LevelEntry;
  struct FlowEntries;
  FlowEntries ListEntries(const Matrix<float>& v, const ColumnLevels& levels,
                          std::size_t first) const;
  void SplatLevels(const FlowEntries& entries, std::size_t columns, std::size_t cells,
                   std::size_t padded, float* z) const;
  void SliceLevels(const FlowEntries& entries, std::size_t columns, std::size_t cells,
                   std::size_t padded, const float* z, float factor, float* out,
                   std::size_t out_stride) const;
  std::size_t ColumnsAtATime(std::size_t cells) const;
  std::vector<double> EnergyOfLevels(const ColumnLevels& levels, std::size_t padded,
                                     Workspace* workspace) const;

  std::string name_;
  LatticeOptions options_;
  LatticeStencil stencil_;
  Lattice lattice_;

  std::vector<std::size_t> first_records_;  // of the chunks, and the end: for DiscardPixels

  mutable std::once_flag lists_once_;
  mutable SplatLists lists_;
  mutable std::once_flag parts_once_;
  mutable SplatParts parts_;
  mutable std::once_flag diagonal_once_;
  mutable std::vector<float> diagonal_;
  mutable std::once_flag row_sums_once_;
  mutable std::vector<float> row_sums_;

  // Buffers outlive the calls that use them: allocating costs more than the arithmetic.
  mutable std::mutex idle_mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace submarine::internal
