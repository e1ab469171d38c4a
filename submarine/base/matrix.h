// A dense row-major matrix: one row per variable, labels (or cuts) innermost. Kernels work on rows,
// so that one edge touches two contiguous runs of memory whatever the graph looks like.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "submarine/base/aligned_memory.h"

namespace submarine {

template <class T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(std::size_t rows, std::size_t cols, T value = T{})
      : rows_(rows), cols_(cols), values_(rows * cols, value) {}
  // The values are indeterminate until written.
  static Matrix Unset(std::size_t rows, std::size_t cols) {
    Matrix matrix;
    matrix.rows_ = rows;
    matrix.cols_ = cols;
    matrix.values_.resize(rows * cols);
    return matrix;
  }

  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  std::size_t size() const { return values_.size(); }
  T* data() { return values_.data(); }
  const T* data() const { return values_.data(); }

  std::span<T> row(std::size_t r) { return {values_.data() + r * cols_, cols_}; }
  std::span<const T> row(std::size_t r) const { return {values_.data() + r * cols_, cols_}; }
  T& operator()(std::size_t r, std::size_t c) { return values_[r * cols_ + c]; }
  const T& operator()(std::size_t r, std::size_t c) const { return values_[r * cols_ + c]; }

  bool operator==(const Matrix&) const = default;

 private:
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::vector<T, UninitialisedAllocator<T>> values_;
};

}  // namespace submarine
