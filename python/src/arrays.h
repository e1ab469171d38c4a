// Conversions between numpy arrays and the library's containers. Whatever its dtype, strides and
// byte order, an array's values are converted once, directly into their final memory.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "submarine/submarine.h"

namespace submarine::python {

namespace py = pybind11;

using Shape = std::vector<py::ssize_t>;

inline Shape ShapeOf(const py::array& array) {
  return {array.shape(), array.shape() + array.ndim()};
}

// An array over memory that belongs to `owner`.
template <class T>
py::array ViewOf(T* data, const Shape& shape, py::handle owner) {
  return py::array(py::dtype::of<std::remove_const_t<T>>(), shape, data, owner);
}

template <class T>
py::array ReadOnlyViewOf(const T* data, const Shape& shape, py::handle owner) {
  py::array view = ViewOf(data, shape, owner);
  view.attr("flags").attr("writeable") = false;
  return view;
}

// Throws what numpy throws if the conversion would lose something, as from complex values.
inline void CopyTo(const py::array& target, const py::array& source) {
  py::module_::import("numpy").attr("copyto")(target, source, "same_kind");
}

// The last axis becomes the columns, all others together become the rows.
template <class T>
Matrix<T> ToMatrix(const py::array& source) {
  const Shape shape = ShapeOf(source);
  const auto cols = shape.empty() ? std::size_t{1} : static_cast<std::size_t>(shape.back());
  const auto size = static_cast<std::size_t>(source.size());
  Matrix<T> matrix = Matrix<T>::Unset(cols == 0 ? 0 : size / cols, cols);
  if (matrix.size() > 0) CopyTo(ViewOf(matrix.data(), shape, py::none()), source);
  return matrix;
}

template <class T>
std::vector<T> ToVector(const py::array& source) {
  std::vector<T> values(static_cast<std::size_t>(source.size()));
  if (!values.empty()) CopyTo(ViewOf(values.data(), ShapeOf(source), py::none()), source);
  return values;
}

// An array that keeps the container alive instead of copying it.
template <class Container>
py::array ToArray(Container&& values, Shape shape) {
  using Held = std::remove_cvref_t<Container>;
  auto held = std::make_unique<Held>(std::forward<Container>(values));
  auto* data = held->data();
  const py::capsule owner(held.release(),
                          [](void* held_by) { delete static_cast<Held*>(held_by); });
  return ViewOf(data, shape, owner);
}

template <class T>
py::array ToArray(Matrix<T> matrix) {
  const Shape shape = {static_cast<py::ssize_t>(matrix.rows()),
                       static_cast<py::ssize_t>(matrix.cols())};
  return ToArray(std::move(matrix), shape);
}

template <class T>
py::array ToArray(std::vector<T> values) {
  const Shape shape = {static_cast<py::ssize_t>(values.size())};
  return ToArray(std::move(values), shape);
}

}  // namespace submarine::python
