// Arrays of callers: checked, and converted once, directly into the memory where they stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/c_api.h"

namespace submarine::c_api {

// Throws InvalidInput, naming the array, for null, and for axes, sizes or dtypes that there are not.
const sm_array& Checked(const sm_array* array, const char* name);

std::size_t SizeOf(const sm_array& array);
bool IsContiguous(const sm_array& array);  // the last axis varies fastest, without gaps
std::vector<std::int64_t> StridesOf(const sm_array& array);  // in bytes, never all 0 for no reason

// Converts all values in order. T is float, double, std::int32_t, std::uint8_t or char; throws
// InvalidInput where whole numbers are given as fractions or do not fit.
template <class T>
void CopyTo(const sm_array& array, const char* name, T* values);

template <class T>
std::vector<T> ToVector(const sm_array* array, const char* name) {
  const sm_array& checked = Checked(array, name);
  std::vector<T> values(SizeOf(checked));
  CopyTo(checked, name, values.data());
  return values;
}

// The last axis becomes the columns, all others together become the rows.
template <class T>
Matrix<T> ToMatrix(const sm_array* array, const char* name) {
  const sm_array& checked = Checked(array, name);
  const auto cols = checked.ndim == 0 ? std::size_t{1}
                                      : static_cast<std::size_t>(checked.shape[checked.ndim - 1]);
  Matrix<T> matrix = Matrix<T>::Unset(cols == 0 ? 0 : SizeOf(checked) / cols, cols);
  CopyTo(checked, name, matrix.data());
  return matrix;
}

// The same array with the axes in reverse order.
sm_array Transposed(const sm_array& array);

// One of the arrays that options name by number.
const sm_array* ArrayAt(std::span<const sm_array> arrays, std::size_t number);

}  // namespace submarine::c_api
