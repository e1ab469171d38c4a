#include "submarine/solver/exact/bucket.h"

#include <algorithm>
#include <utility>

namespace submarine::internal {
namespace {

// Long enough to hide the cost of finding the start of a block, short enough to stay in the L1
// cache.
constexpr std::size_t kSmallestBlock = 256;

bool AnyNonZero(const std::int64_t* begin, const std::int64_t* end) {
  return std::any_of(begin, end, [](std::int64_t stride) { return stride != 0; });
}

bool IsContiguous(const std::vector<std::int64_t>& offsets) {
  for (std::size_t j = 0; j < offsets.size(); ++j) {
    if (offsets[j] != static_cast<std::int64_t>(j)) return false;
  }
  return true;
}

}  // namespace

Bucket::Bucket(int cardinality, std::vector<int> axes, std::vector<TableSource> sources)
    : cardinality_(static_cast<std::size_t>(cardinality)),
      axes_(std::move(axes)),
      outer_axes_(axes_.size()),
      sources_(std::move(sources)) {
  while (outer_axes_ > 0 && block_size_ < kSmallestBlock) {
    block_size_ *= static_cast<std::size_t>(axes_[--outer_axes_]);
  }
  for (std::size_t k = 0; k < outer_axes_; ++k) num_blocks_ *= static_cast<std::size_t>(axes_[k]);

  inside_.assign(cardinality_ * block_size_, 0.0);
  for (const TableSource& source : sources_) {
    if (!VariesOutside(source.strides)) {
      AddToInside(source);
    } else if (!VariesInside(source.strides)) {
      outside_.push_back(source);
    } else {
      std::vector<std::int64_t> offsets = BlockOffsets(source.strides);
      const bool contiguous = IsContiguous(offsets);
      both_.push_back({source, std::move(offsets), contiguous});
    }
  }
}

bool Bucket::VariesInside(const TableStrides& strides) const {
  const std::int64_t* data = strides.separator.data();
  return AnyNonZero(data + outer_axes_, data + axes_.size());
}

bool Bucket::VariesOutside(const TableStrides& strides) const {
  const std::int64_t* data = strides.separator.data();
  return AnyNonZero(data, data + outer_axes_);
}

std::vector<std::int64_t> Bucket::BlockOffsets(const TableStrides& strides) const {
  std::vector<std::int64_t> offsets(1, 0);
  offsets.reserve(block_size_);
  for (std::size_t k = axes_.size(); k-- > outer_axes_;) {
    const std::size_t inner = offsets.size();
    for (int label = 1; label < axes_[k]; ++label) {
      const std::int64_t shift = label * strides.separator[k];
      for (std::size_t j = 0; j < inner; ++j) offsets.push_back(offsets[j] + shift);
    }
  }
  return offsets;
}

std::int64_t Bucket::BlockBase(const TableStrides& strides, std::size_t block) const {
  std::int64_t base = 0;
  for (std::size_t k = outer_axes_; k-- > 0;) {
    const auto axis = static_cast<std::size_t>(axes_[k]);
    base += strides.separator[k] * static_cast<std::int64_t>(block % axis);
    block /= axis;
  }
  return base;
}

void Bucket::AddToInside(const TableSource& source) {
  const std::vector<std::int64_t> offsets = BlockOffsets(source.strides);
  for (std::size_t x = 0; x < cardinality_; ++x) {
    const double* values = source.values + static_cast<std::int64_t>(x) * source.strides.eliminated;
    double* row = inside_.data() + x * block_size_;
    for (std::size_t j = 0; j < block_size_; ++j) row[j] += source.scale * values[offsets[j]];
  }
}

void Bucket::FillBlock(std::size_t block, std::span<double> rows) const {
  std::copy(inside_.begin(), inside_.end(), rows.begin());
  for (const TableSource& source : outside_) {
    const double* values = source.values + BlockBase(source.strides, block);
    for (std::size_t x = 0; x < cardinality_; ++x) {
      const double value =
          source.scale * values[static_cast<std::int64_t>(x) * source.strides.eliminated];
      double* row = rows.data() + x * block_size_;
      for (std::size_t j = 0; j < block_size_; ++j) row[j] += value;
    }
  }
  for (const BlockSource& both : both_) {
    const double* start = both.source.values + BlockBase(both.source.strides, block);
    const double scale = both.source.scale;
    for (std::size_t x = 0; x < cardinality_; ++x) {
      const double* values = start + static_cast<std::int64_t>(x) * both.source.strides.eliminated;
      double* row = rows.data() + x * block_size_;
      if (both.contiguous) {
        for (std::size_t j = 0; j < block_size_; ++j) row[j] += scale * values[j];
      } else {
        const std::int64_t* offsets = both.offsets.data();
        for (std::size_t j = 0; j < block_size_; ++j) row[j] += scale * values[offsets[j]];
      }
    }
  }
}

double Bucket::At(std::int64_t x, std::span<const int> labels) const {
  double value = 0.0;
  for (const TableSource& source : sources_) {
    std::int64_t index = x * source.strides.eliminated;
    for (std::size_t k = 0; k < axes_.size(); ++k) index += source.strides.separator[k] * labels[k];
    value += source.scale * source.values[index];
  }
  return value;
}

Bucket::Target::Target(const Bucket& bucket, TableStrides strides, double* sums)
    : bucket_(&bucket), strides_(std::move(strides)), sums_(sums) {
  if (!bucket.VariesInside(strides_)) {
    pattern_ = Pattern::kConstant;
    return;
  }
  offsets_ = bucket.BlockOffsets(strides_);
  pattern_ = IsContiguous(offsets_) ? Pattern::kContiguous : Pattern::kScattered;
}

void Bucket::Target::Add(std::size_t block, std::span<const double> rows) const {
  const std::size_t size = bucket_->block_size();
  double* start = sums_ + bucket_->BlockBase(strides_, block);
  for (std::size_t x = 0; x < bucket_->cardinality(); ++x) {
    double* sums = start + static_cast<std::int64_t>(x) * strides_.eliminated;
    const double* row = rows.data() + x * size;
    switch (pattern_) {
      case Pattern::kConstant: {
        double sum = 0.0;
        for (std::size_t j = 0; j < size; ++j) sum += row[j];
        *sums += sum;
        break;
      }
      case Pattern::kContiguous:
        for (std::size_t j = 0; j < size; ++j) sums[j] += row[j];
        break;
      case Pattern::kScattered:
        for (std::size_t j = 0; j < size; ++j) sums[offsets_[j]] += row[j];
        break;
    }
  }
}

}  // namespace submarine::internal
