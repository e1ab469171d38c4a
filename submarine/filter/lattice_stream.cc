#include "submarine/filter/lattice_stream.h"

#include <algorithm>
#include <utility>

#include "submarine/base/parallel.h"
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
};

LatticeStream::LatticeStream(std::size_t size, std::size_t columns)
    : size_(size), columns_(columns), padded_(PaddedChannels(columns)) {}

LatticeStream::~LatticeStream() = default;

std::unique_ptr<LatticeStream> LatticeStream::Make(const GaussianOperator& op,
                                                   std::size_t columns) {
  return Make(ListLattices(op), columns);
}

std::unique_ptr<LatticeStream> LatticeStream::Make(std::span<const WeightedLattice> lattices,
                                                   std::size_t columns) {
  const bool suitable =
      columns > 0 && !lattices.empty() &&
      std::none_of(lattices.begin(), lattices.end(),
                   [](const WeightedLattice& part) { return part.op->Parts().empty(); });
  if (!suitable) return nullptr;
  std::unique_ptr<LatticeStream> stream(new LatticeStream(lattices.front().op->size(), columns));
  // Depends on the number of pixels only, so it is the same for all.
  stream->part_pixels_ = lattices.front().op->Parts().part_pixels;
  for (const auto& [factor, lattice] : lattices) {
    auto lease = std::make_unique<LatticeOperator::WorkspaceLease>(*lattice);
    lattice->ReserveTables(stream->padded_, lease->get());
    stream->parts_.push_back({factor, lattice, std::move(lease)});
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

void LatticeStream::Spread(const MakeRows& make_rows) {
  ParallelFor(size_, part_pixels_, [&](std::size_t begin, std::size_t end) {
    for (const Part& part : parts_) {
      const std::uint32_t* row = part.op->Parts().row_begin.data() + begin / part_pixels_;
      float* table = part.lease->get()->parts.data();
      std::fill(table + row[0] * padded_, table + row[1] * padded_, 0.0F);
    }
    VisitBlocks(begin, end, make_rows,
                [&](std::size_t first, std::size_t last, const Matrix<float>& block) {
                  const RowsView rows{block.data(), padded_, block.rows()};
                  for (const Part& part : parts_) {
                    const PixelCorners pixels =
                        part.op->Parts().pixels(part.op->lattice()).From(first);
                    SplatFromPixels(rows, padded_, pixels, 0, last - first,
                                    part.lease->get()->parts.data());
                  }
                });
  });
}

void LatticeStream::Visit(const MakeRows& make_rows) const {
  ParallelFor(size_, part_pixels_, [&](std::size_t begin, std::size_t end) {
    VisitBlocks(begin, end, make_rows, [](std::size_t, std::size_t, const Matrix<float>&) {});
  });
}

void LatticeStream::Blur(float factor) {
  factor_ = factor;
  for (const Part& part : parts_) {
    part.op->GatherParts(padded_, part.lease->get());
    part.op->BlurProduct(padded_, part.lease->get(), factor * static_cast<float>(part.factor));
  }
}

void LatticeStream::BlurLast(float factor) {
  Blur(factor);
  for (const Part& part : parts_) {
    LatticeOperator::Workspace* workspace = part.lease->get();
    workspace->parts.Release();
    workspace->back.Release();
    workspace->front.DiscardBeyond(part.op->lattice().num_vertices * padded_);
  }
}

void LatticeStream::Slice(std::size_t first, std::size_t last, const float* base, const float* x,
                          float* block) const {
  if (!needs_x()) {
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
}

}  // namespace submarine::internal
