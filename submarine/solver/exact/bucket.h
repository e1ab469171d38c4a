// The table of one variable during elimination, seen in pieces. Its axes are the eliminated
// variable (slowest) and its separator in elimination order; it is the sum of the factors and
// messages that meet there, each of which varies along some of the axes.
//
// The innermost axes of the separator form a block, the unit of work: along a block every source is
// read at precomputed offsets, so the inner loops are plain array sums whatever the order of the
// axes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace submarine::internal {

// The position of an entry in a source: eliminated * x + sum over the separator of stride * label.
struct TableStrides {
  std::int64_t eliminated = 0;
  std::vector<std::int64_t> separator;
};

struct TableSource {
  const double* values = nullptr;
  double scale = 1.0;  // -1 turns energies into log potentials
  TableStrides strides;
};

class Bucket {
 public:
  // `axes` are the cardinalities of the separator.
  Bucket(int cardinality, std::vector<int> axes, std::vector<TableSource> sources);

  std::size_t cardinality() const { return cardinality_; }
  std::size_t block_size() const { return block_size_; }
  std::size_t num_blocks() const { return num_blocks_; }
  std::size_t separator_size() const { return block_size_ * num_blocks_; }

  // rows[x * block_size + j] = the table at label x of the variable and entry j of the block.
  void FillBlock(std::size_t block, std::span<double> rows) const;

  // One value of the table: the variable at label x, the separator at `labels`.
  double At(std::int64_t x, std::span<const int> labels) const;

  // An array laid out by `strides` that receives sums of table entries.
  class Target {
   public:
    Target(const Bucket& bucket, TableStrides strides, double* sums);
    // Adds the rows of one block, laid out as in FillBlock.
    void Add(std::size_t block, std::span<const double> rows) const;

   private:
    enum class Pattern { kConstant, kContiguous, kScattered };
    const Bucket* bucket_;
    TableStrides strides_;
    double* sums_;
    std::vector<std::int64_t> offsets_;
    Pattern pattern_;
  };

 private:
  struct BlockSource {
    TableSource source;
    std::vector<std::int64_t> offsets;
    bool contiguous;
  };

  std::vector<std::int64_t> BlockOffsets(const TableStrides& strides) const;
  std::int64_t BlockBase(const TableStrides& strides, std::size_t block) const;
  bool VariesInside(const TableStrides& strides) const;
  bool VariesOutside(const TableStrides& strides) const;
  void AddToInside(const TableSource& source);

  std::size_t cardinality_;
  std::vector<int> axes_;
  std::size_t outer_axes_;  // axes_[outer_axes_..] make up the block
  std::size_t block_size_ = 1;
  std::size_t num_blocks_ = 1;
  std::vector<TableSource> sources_;
  std::vector<TableSource> outside_;  // constant along a block
  std::vector<double> inside_;        // sum of the sources that are the same in every block
  std::vector<BlockSource> both_;
};

}  // namespace submarine::internal
