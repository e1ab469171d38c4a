// Keys of lattice vertices: one unique integer each.
//
// A vertex has coordinates x_i = (d+1) c_i + r, r in 0..d, sum_i x_i = 0. Its key is the
// mixed-radix number with digits c_0, ..., c_(d-1) (each relative to its least value, with room for
// neighbours) and r last; c_d follows from the sum. Keys have 64 bits if that suffices, else 128.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "submarine/filter/kernel/gaussian_kernel.h"

namespace submarine::internal {

__extension__ using UInt128 = unsigned __int128;

// Stands for no vertex.
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

inline constexpr std::size_t kMaxCorners = kMaxFeatureDimension + 1;

struct LatticeBox {
  std::array<std::int64_t, kMaxCorners> least{};  // of c_i
  std::array<std::int64_t, kMaxCorners> radix{};  // number of values of digit i
};

template <class Key>
class LatticeKeys {
 public:
  LatticeKeys(int dimension, const LatticeBox& box) : d_(dimension), box_(box) {
    Key stride = static_cast<Key>(d_) + 1;
    for (int i = d_ - 1; i >= 0; --i) {
      stride_[i] = stride;
      stride *= static_cast<Key>(box.radix[i]);
    }
    end_ = stride;
    for (int j = 0; j <= d_; ++j) {
      wrap_[j] = static_cast<Key>(d_);
      for (int i = 0; i < d_; ++i) {
        if (i != j) wrap_[j] -= stride_[i];
      }
    }
  }

  // The corner with r = 0 of a simplex; coordinates of `c` are c_stride apart. kD is the dimension,
  // or 0 if unknown at compile time.
  template <int kD = 0>
  Key Base(const std::int32_t* c, std::size_t c_stride) const {
    Key key = 0;
    const int d = kD > 0 ? kD : d_;
    for (int i = 0; i < d; ++i) {
      key += stride_[i] * static_cast<Key>(c[i * c_stride] - box_.least[i]);
    }
    return key;
  }

  // From corner r to corner r+1 the coordinate of rank d - r decreases by one.
  Key NextCorner(Key key, int coordinate) const { return key + 1 - stride_[coordinate]; }

  int Remainder(Key key) const { return static_cast<int>(key % static_cast<Key>(d_ + 1)); }

  // The key of v + u_j. Subtracting 1 from all coordinates turns r into r-1; where r is 0 it
  // borrows one from every digit. Unsigned wrap-around makes both plain additions.
  Key StepInside(int j) const { return stride_[j] - 1; }  // r >= 1
  Key StepAcross(int j) const { return wrap_[j]; }        // r == 0

  Key end() const { return end_; }  // above all keys

 private:
  int d_;
  LatticeBox box_;
  std::array<Key, kMaxCorners> stride_{};  // stride_[d] = 0: that coordinate is not stored
  std::array<Key, kMaxCorners> wrap_{};
  Key end_ = 0;
};

inline std::uint64_t HashKey(std::uint64_t key) {
  key *= std::uint64_t{0x9E3779B97F4A7C15};
  return key ^ (key >> 29);
}
inline std::uint64_t HashKey(UInt128 key) {
  return HashKey(static_cast<std::uint64_t>(key >> 64) * std::uint64_t{0xD6E8FEB86659FD93} ^
                 static_cast<std::uint64_t>(key));
}

// Keys numbered 0, 1, ... in order of first appearance.
template <class Key>
class KeyNumbering {
 public:
  explicit KeyNumbering(std::size_t expected) { Resize(std::max<std::size_t>(64, 2 * expected)); }

  std::uint32_t Number(Key key, std::uint64_t hash) {
    if (2 * (keys_.size() + 1) > slots_.size()) Resize(2 * slots_.size());
    std::size_t slot = (hash >> 8) & mask_;
    while (slots_[slot] != kEmpty) {
      if (keys_[slots_[slot]] == key) return slots_[slot];
      slot = (slot + 1) & mask_;
    }
    slots_[slot] = static_cast<std::uint32_t>(keys_.size());
    keys_.push_back(key);
    return slots_[slot];
  }
  void Prefetch(std::uint64_t hash) const { __builtin_prefetch(&slots_[(hash >> 8) & mask_]); }
  const std::vector<Key>& keys() const { return keys_; }

 private:
  static constexpr std::uint32_t kEmpty = ~std::uint32_t{0};

  void Resize(std::size_t at_least) {
    std::size_t size = 64;
    while (size < at_least) size *= 2;
    slots_.assign(size, kEmpty);
    mask_ = size - 1;
    for (std::size_t n = 0; n < keys_.size(); ++n) {
      std::size_t slot = (HashKey(keys_[n]) >> 8) & mask_;
      while (slots_[slot] != kEmpty) slot = (slot + 1) & mask_;
      slots_[slot] = static_cast<std::uint32_t>(n);
    }
  }

  std::vector<std::uint32_t> slots_;
  std::size_t mask_ = 0;
  std::vector<Key> keys_;
};

template <class Key>
struct NumberedKey {
  Key key;
  std::uint32_t number;
};

// Ascending by key, least significant digit first; `end` is above all keys.
template <class Key>
void RadixSort(std::vector<NumberedKey<Key>>* items, Key end) {
  constexpr int kBits = 11;
  constexpr std::size_t kBuckets = std::size_t{1} << kBits;
  std::vector<NumberedKey<Key>> other(items->size());
  for (int shift = 0; shift < static_cast<int>(8 * sizeof(Key)) && (end - 1) >> shift != 0;
       shift += kBits) {
    std::array<std::size_t, kBuckets> start{};
    const auto bucket = [shift](const NumberedKey<Key>& item) {
      return static_cast<std::size_t>(item.key >> shift) & (kBuckets - 1);
    };
    for (const auto& item : *items) ++start[bucket(item)];
    std::size_t sum = 0;
    for (std::size_t& count : start) {
      const std::size_t next = sum + count;
      count = sum;
      sum = next;
    }
    for (const auto& item : *items) other[start[bucket(item)]++] = item;
    items->swap(other);
  }
}

}  // namespace submarine::internal
