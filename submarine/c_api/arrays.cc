#include "submarine/c_api/arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"

namespace submarine::c_api {
namespace {

constexpr std::size_t kGrain = 65536;  // entries per task

std::size_t ItemSize(std::int32_t dtype) {
  switch (dtype) {
    case SM_INT8:
    case SM_UINT8:
      return 1;
    case SM_INT16:
    case SM_UINT16:
      return 2;
    case SM_INT32:
    case SM_UINT32:
    case SM_FLOAT32:
      return 4;
    case SM_INT64:
    case SM_UINT64:
    case SM_FLOAT64:
      return 8;
    default:
      return 0;
  }
}

template <class T, class Source>
T Converted(Source value, const char* name) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_floating_point_v<Source>) {
    throw InvalidInput(fmt::format("{} has fractions, expected whole numbers", name));
  } else {
    if (!std::in_range<std::conditional_t<std::is_same_v<T, char>, signed char, T>>(value))
      throw InvalidInput(
          fmt::format("{} has {}, which {} bits cannot hold", name, value, 8 * sizeof(T)));
    return static_cast<T>(value);
  }
}

// The entries of the last axis lie `step` bytes apart; `first` is where row `r` of those begins.
const std::byte* RowOf(const sm_array& array, const std::vector<std::int64_t>& strides,
                       std::size_t r) {
  const auto* first = static_cast<const std::byte*>(array.data);
  for (int axis = array.ndim - 2; axis >= 0; --axis) {
    const auto n = static_cast<std::size_t>(array.shape[axis]);
    first += strides[static_cast<std::size_t>(axis)] * static_cast<std::int64_t>(r % n);
    r /= n;
  }
  return first;
}

template <class T, class Source>
void CopyFrom(const sm_array& array, const char* name, T* values) {
  const std::size_t size = SizeOf(array);
  if (size == 0) return;
  if (std::is_same_v<T, Source> && IsContiguous(array)) {
    std::memcpy(values, array.data, size * sizeof(T));
    return;
  }
  const std::vector<std::int64_t> strides = StridesOf(array);
  const std::size_t cols =
      array.ndim == 0 ? 1 : static_cast<std::size_t>(array.shape[array.ndim - 1]);
  const std::int64_t step = array.ndim == 0 ? 0 : strides.back();
  const std::size_t grain = std::max<std::size_t>(1, kGrain / cols);
  internal::ParallelFor(size / cols, grain, [&](std::size_t begin, std::size_t end) {
    T* value = values + begin * cols;
    for (std::size_t r = begin; r < end; ++r) {
      const std::byte* from = RowOf(array, strides, r);
      for (std::size_t c = 0; c < cols; ++c, from += step) {
        Source source;
        std::memcpy(&source, from, sizeof(Source));  // which need not be aligned
        *value++ = Converted<T>(source, name);
      }
    }
  });
}

}  // namespace

const sm_array& Checked(const sm_array* array, const char* name) {
  if (array == nullptr) throw InvalidInput(fmt::format("{} is null", name));
  if (array->ndim < 0 || array->ndim > SM_MAX_AXES)
    throw InvalidInput(
        fmt::format("{} has {} axes, expected 0 to {}", name, array->ndim, SM_MAX_AXES));
  if (ItemSize(array->dtype) == 0)
    throw InvalidInput(fmt::format("{} has the unknown dtype {}", name, array->dtype));
  std::int64_t size = 1;
  for (int axis = 0; axis < array->ndim; ++axis) {
    const std::int64_t n = array->shape[axis];
    if (n < 0) throw InvalidInput(fmt::format("{} has an axis of {} entries", name, n));
    if (n > 0 && size > std::numeric_limits<std::int64_t>::max() / 8 / n)
      throw InvalidInput(fmt::format("{} has more entries than memory can hold", name));
    size *= n;
  }
  if (size > 0 && array->data == nullptr)
    throw InvalidInput(fmt::format("{} has {} entries and no data", name, size));
  return *array;
}

std::size_t SizeOf(const sm_array& array) {
  std::size_t size = 1;
  for (int axis = 0; axis < array.ndim; ++axis) size *= static_cast<std::size_t>(array.shape[axis]);
  return size;
}

std::vector<std::int64_t> StridesOf(const sm_array& array) {
  std::vector<std::int64_t> strides(array.strides, array.strides + array.ndim);
  if (!std::all_of(strides.begin(), strides.end(), [](std::int64_t s) { return s == 0; }))
    return strides;
  auto stride = static_cast<std::int64_t>(ItemSize(array.dtype));
  for (std::size_t axis = strides.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(1, array.shape[axis]);
  }
  return strides;
}

bool IsContiguous(const sm_array& array) {
  const std::vector<std::int64_t> strides = StridesOf(array);
  auto expected = static_cast<std::int64_t>(ItemSize(array.dtype));
  for (std::size_t axis = strides.size(); axis-- > 0;) {
    if (array.shape[axis] != 1 && strides[axis] != expected) return false;
    expected *= array.shape[axis];
  }
  return true;
}

template <class T>
void CopyTo(const sm_array& array, const char* name, T* values) {
  switch (array.dtype) {
    case SM_INT8:
      return CopyFrom<T, std::int8_t>(array, name, values);
    case SM_INT16:
      return CopyFrom<T, std::int16_t>(array, name, values);
    case SM_INT32:
      return CopyFrom<T, std::int32_t>(array, name, values);
    case SM_INT64:
      return CopyFrom<T, std::int64_t>(array, name, values);
    case SM_UINT8:
      return CopyFrom<T, std::uint8_t>(array, name, values);
    case SM_UINT16:
      return CopyFrom<T, std::uint16_t>(array, name, values);
    case SM_UINT32:
      return CopyFrom<T, std::uint32_t>(array, name, values);
    case SM_UINT64:
      return CopyFrom<T, std::uint64_t>(array, name, values);
    case SM_FLOAT32:
      return CopyFrom<T, float>(array, name, values);
    default:
      return CopyFrom<T, double>(array, name, values);
  }
}
template void CopyTo(const sm_array&, const char*, float*);
template void CopyTo(const sm_array&, const char*, double*);
template void CopyTo(const sm_array&, const char*, std::int32_t*);
template void CopyTo(const sm_array&, const char*, std::uint8_t*);
template void CopyTo(const sm_array&, const char*, char*);

sm_array Transposed(const sm_array& array) {
  const std::vector<std::int64_t> strides = StridesOf(array);
  sm_array transposed = array;
  for (int axis = 0; axis < array.ndim; ++axis) {
    const int from = array.ndim - 1 - axis;
    transposed.shape[axis] = array.shape[from];
    transposed.strides[axis] = strides[static_cast<std::size_t>(from)];
  }
  return transposed;
}

const sm_array* ArrayAt(std::span<const sm_array> arrays, std::size_t number) {
  if (number >= arrays.size())
    throw InvalidInput(
        fmt::format("the options name array {}, and there are {}", number, arrays.size()));
  return &arrays[number];
}

}  // namespace submarine::c_api
