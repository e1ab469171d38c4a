// Products with a sum of lattices, block by block without storing a matrix: a solver that turns row
// a of K x into row a of the next x needs to hold neither.
//
//   stream.Spread(make_row)                              x, row by row
//   stream.Blur(factor)                                  factor K x is ready
//   stream.Spread(rows that come from stream.Slice)      the next x
//
// The same numbers as AddProduct up to rounding, and like those bit-identical for any number of
// threads.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "submarine/filter/kernel/gaussian_operator.h"

namespace submarine::internal {

class GridOperator;
class LatticeOperator;

class LatticeStream {
 public:
  // Null unless `op`, which must outlive this object, is a lattice, or a sum of lattices and grids with
  // at least one lattice. Throws TooLarge.
  static std::unique_ptr<LatticeStream> Make(const GaussianOperator& op, std::size_t columns);
  // The same for a sum of at least one lattice.
  struct WeightedLattice {
    double factor;
    const LatticeOperator* op;
  };
  static std::unique_ptr<LatticeStream> Make(std::span<const WeightedLattice> lattices,
                                             std::size_t columns);
  ~LatticeStream();
  LatticeStream(const LatticeStream&) = delete;
  LatticeStream& operator=(const LatticeStream&) = delete;

  // Rows of blocks have this many floats; those beyond the columns are padding, but finite.
  std::size_t row_stride() const { return padded_; }
  // Whether x is read once more after it was spread: lattices of many vertices compared to pixels gather
  // it vertex by vertex, grids multiply it as a whole.
  bool gathers() const { return gathers_ || !grids_.empty(); }
  // Whether the x that is spread must be kept until it is sliced: for that, or because Slice
  // subtracts its self terms.
  bool needs_x() const { return !self_.empty() || gathers_ || !grids_.empty(); }

  // Calls make_rows(first, last, block) for ranges of a few rows, which it writes to `block`, and
  // spreads them. Several threads visit the ranges; each visits those of a larger range in
  // ascending order.
  using MakeRows = std::function<void(std::size_t first, std::size_t last, float* block)>;
  // `x`: where make_rows stores the rows, too; may be null where needs_x() is false.
  void Spread(const MakeRows& make_rows, const Matrix<float>* x);
  // The same without spreading: for the last x, which is not multiplied any more.
  void Visit(const MakeRows& make_rows) const;
  // The larger ranges are those of this many rows from 0 on, and the rest.
  std::size_t range_rows() const { return part_pixels_; }

  void Blur(float factor);
  // The same for the last time: nothing is spread afterwards, and the memory for it is freed.
  void BlurLast(float factor);

  // block_a = base_a + factor sum_{b != a} k_ab x_b for rows first..last-1 of the x that was spread
  // before Blur. `base` and `x` point to row `first`; x may be null where needs_x() is false. Rows
  // of both have as many floats as columns. base may be read one register beyond its end
  // (base/matrix.h); x is not read beyond row last - 1, because another thread may be writing
  // there.
  void Slice(std::size_t first, std::size_t last, const float* base, const float* x,
             float* block) const;

 private:
  struct Part;
  // Its product is found as a whole, before rows of it are sliced.
  struct Grid {
    float factor;
    const GridOperator* op;
  };
  void MultiplyGrids(float factor);
  template <class AfterBlock>
  void VisitBlocks(std::size_t begin, std::size_t end, const MakeRows& make_rows,
                   const AfterBlock& after_block) const;
  LatticeStream(std::size_t size, std::size_t columns);
  void SpreadRange(std::size_t number, std::size_t first_at_once, const MakeRows& make_rows);
  // If x is null, no self terms are subtracted. Row last - 1 of x may be read beyond its end.
  void SliceRows(std::size_t first, std::size_t last, const float* base, const float* x,
                 float* block) const;

  std::size_t size_;
  std::size_t columns_;
  std::size_t padded_;
  std::size_t part_pixels_ = 0;
  std::size_t parts_at_once_ = 1;  // see lattice_parts.h
  float factor_ = 0.0F;
  std::vector<Part> parts_;
  bool gathers_ = false;  // some lattice has too many vertices for sums by parts
  std::vector<Grid> grids_;
  Matrix<float> of_grids_;            // the sum of their products
  const Matrix<float>* x_ = nullptr;  // that was spread
  std::vector<float> self_;           // sum over parts of their k_aa; empty if self terms stay
};

}  // namespace submarine::internal
