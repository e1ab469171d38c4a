#include "submarine/filter/lattice_stream.h"

#include <algorithm>
#include <utility>

#include "submarine/base/parallel.h"
#include "submarine/filter/kernel/grid_operator.h"
#include "submarine/filter/lattice/lattice.h"
#include "submarine/filter/lattice/lattice_workspace.h"
#include "submarine/filter/operator_choice.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kBlockFloats = 2048;  // a block and its inputs stay in the L1 cache

using WeightedLattice = LatticeStream::WeightedLattice;

// The lattices that `op` is the sum of; empty if it has other parts.
std::vector<WeightedLattice> ListLattices(const GaussianOperator& op) {
  if (const auto* lattice = dynamic_cast<const LatticeOperator*>(&op)) return {{1.0, lattice}};
  const auto* sum = dynamic_cast<const SumOperator*>(&op);
  std::vector<WeightedLattice> lattices;
  if (sum == nullptr) return lattices;
  for (const SumOperator::Part& part : sum->parts()) {
    if (dynamic_cast<const GridOperator*>(part.op.get()) != nullptr) continue;
    const auto* lattice = dynamic_cast<const LatticeOperator*>(part.op.get());
    if (lattice == nullptr) return {};
    lattices.push_back({part.factor, lattice});
  }
  return lattices;
}

}  // namespace

struct LatticeStream::Part {
  double factor;
  const LatticeOperator* op;
  std::unique_ptr<LatticeOperator::WorkspaceLease> lease;

  bool gathers() const { return op->Parts().empty(); }
};

LatticeStream::LatticeStream(std::size_t size, std::size_t columns)
    : size_(size), columns_(columns), padded_(PaddedChannels(columns)) {}

LatticeStream::~LatticeStream() = default;

std::unique_ptr<LatticeStream> LatticeStream::Make(const GaussianOperator& op,
                                                   std::size_t columns) {
  std::unique_ptr<LatticeStream> stream = Make(ListLattices(op), columns);
  const auto* sum = dynamic_cast<const SumOperator*>(&op);
  if (stream == nullptr || sum == nullptr) return stream;
  for (const SumOperator::Part& part : sum->parts()) {
    if (const auto* grid = dynamic_cast<const GridOperator*>(part.op.get()))
      stream->grids_.push_back({static_cast<float>(part.factor), grid});
  }
  return stream;
}

std::unique_ptr<LatticeStream> LatticeStream::Make(std::span<const WeightedLattice> lattices,
                                                   std::size_t columns) {
  if (columns == 0 || lattices.empty()) return nullptr;
  std::unique_ptr<LatticeStream> stream(new LatticeStream(lattices.front().op->size(), columns));
  // Depends on the number of pixels only, so it is the same for all.
  stream->part_pixels_ = PartPixels(lattices.front().op->lattice());
  stream->parts_at_once_ = PartsAtOnce(NumThreads());
  for (const auto& [factor, lattice] : lattices) {
    auto lease = std::make_unique<LatticeOperator::WorkspaceLease>(*lattice);
    lattice->ReserveTables(stream->padded_, lease->get());
    stream->parts_.push_back({factor, lattice, std::move(lease)});
    stream->gathers_ = stream->gathers_ || stream->parts_.back().gathers();
    if (lattice->options().self_terms) continue;
    stream->self_.resize(lattice->size(), 0.0F);
    const std::vector<float>& diagonal = lattice->Diagonal();
    for (std::size_t a = 0; a < diagonal.size(); ++a)
      stream->self_[a] += static_cast<float>(factor) * diagonal[a];
  }
  return stream;
}

template <class AfterBlock>
void LatticeStream::VisitBlocks(std::size_t begin, std::size_t end, const MakeRows& make_rows,
                                const AfterBlock& after_block) const {
  const std::size_t block_rows = std::max<std::size_t>(1, kBlockFloats / padded_);
  Matrix<float> block(block_rows, padded_);
  for (std::size_t first = begin; first < end; first += block_rows) {
    const std::size_t last = std::min(end, first + block_rows);
    make_rows(first, last, block.data());
    after_block(first, last, block);
  }
}

void LatticeStream::Spread(const MakeRows& make_rows, const Matrix<float>* x) {
  x_ = x;
  for (const Part& part : parts_) {
    if (!part.gathers()) part.op->ClearSums(padded_, part.lease->get());
  }
  const std::size_t count = (size_ + part_pixels_ - 1) / part_pixels_;
  for (std::size_t first = 0; first < count; first += parts_at_once_) {
    const std::size_t last = std::min(count, first + parts_at_once_);
    ParallelFor(last - first, 1,
                [&](std::size_t k, std::size_t) { SpreadRange(first + k, first, make_rows); });
    for (const Part& part : parts_) {
      if (!part.gathers()) part.op->AddRows(first, last, padded_, part.lease->get());
    }
  }
  for (const Part& part : parts_) {
    if (part.gathers()) part.op->GatherSums(*x, part.lease->get());
  }
}

void LatticeStream::SpreadRange(std::size_t number, std::size_t first_at_once,
                                const MakeRows& make_rows) {
  std::vector<float*> sums;
  for (const Part& part : parts_) {
    sums.push_back(part.gathers()
                       ? nullptr
                       : part.op->ClearRows(number, first_at_once, padded_, part.lease->get()));
  }
  const std::size_t begin = number * part_pixels_;
  VisitBlocks(begin, std::min(size_, begin + part_pixels_), make_rows,
              [&](std::size_t first, std::size_t last, const Matrix<float>& block) {
                const RowsView rows{block.data(), padded_, block.rows()};
                for (std::size_t k = 0; k < parts_.size(); ++k) {
                  if (sums[k] == nullptr) continue;
                  const LatticeOperator& op = *parts_[k].op;
                  SplatFromPixels(rows, padded_, op.Parts().pixels(op.lattice()).From(first), 0,
                                  last - first, sums[k]);
                }
              });
}

void LatticeStream::Visit(const MakeRows& make_rows) const {
  ParallelFor(size_, part_pixels_, [&](std::size_t begin, std::size_t end) {
    VisitBlocks(begin, end, make_rows, [](std::size_t, std::size_t, const Matrix<float>&) {});
  });
}

void LatticeStream::Blur(float factor) {
  factor_ = factor;
  MultiplyGrids(factor);
  for (const Part& part : parts_) {
    LatticeOperator::Workspace* workspace = part.lease->get();
    workspace->front.Swap(&workspace->back);
    part.op->BlurProduct(padded_, workspace, factor * static_cast<float>(part.factor));
  }
}

void LatticeStream::MultiplyGrids(float factor) {
  if (grids_.empty()) return;
  if (of_grids_.size() == 0) of_grids_ = Matrix<float>::Unset(size_, columns_);
  grids_.front().op->Multiply(x_->data(), columns_, factor * grids_.front().factor,
                              of_grids_.data());
  for (std::size_t k = 1; k < grids_.size(); ++k)
    grids_[k].op->AddProduct(*x_, factor * grids_[k].factor, &of_grids_);
}

void LatticeStream::BlurLast(float factor) {
  Blur(factor);
  for (const Part& part : parts_) {
    LatticeOperator::Workspace* workspace = part.lease->get();
    workspace->parts.Release();
    workspace->back.Release();
  }
}

void LatticeStream::Slice(std::size_t first, std::size_t last, const float* base, const float* x,
                          float* block) const {
  if (self_.empty()) {
    SliceRows(first, last, base, nullptr, block);
    return;
  }
  // The last rows of x are read from a copy, which has padding.
  const std::size_t copied = std::min(last - first, (padded_ - columns_ + columns_ - 1) / columns_);
  const std::size_t before = last - first - copied;
  Matrix<float> copy(copied, columns_);
  std::copy_n(x + before * columns_, copied * columns_, copy.data());
  SliceRows(first, last - copied, base, x, block);
  SliceRows(last - copied, last, base + before * columns_, copy.data(), block + before * padded_);
}

void LatticeStream::SliceRows(std::size_t first, std::size_t last, const float* base,
                              const float* x, float* block) const {
  SliceBase onto{base,    columns_, x == nullptr ? nullptr : self_.data() + first,
                 factor_, x,        columns_};
  for (const Part& part : parts_) {
    SliceOnto(part.lease->get()->front.data(), padded_, part.op->lattice().pixels().From(first),
              onto, last - first, block);
    onto = {block, padded_, nullptr, 0.0F, nullptr, 0};
  }
  if (grids_.empty()) return;
  for (std::size_t a = first; a < last; ++a) {
    const auto from = of_grids_.row(a);
    float* to = block + (a - first) * padded_;
    for (std::size_t c = 0; c < columns_; ++c) to[c] += from[c];
  }
}

}  // namespace submarine::internal
