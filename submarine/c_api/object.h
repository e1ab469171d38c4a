// What stands behind the handles of c_api.h, and how every function of it ends: with a status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/matrix.h"
#include "submarine/c_api.h"

struct sm_object {
  sm_object() = default;
  sm_object(const sm_object&) = delete;
  sm_object& operator=(const sm_object&) = delete;
  virtual ~sm_object() = default;

  virtual nlohmann::json Description() const = 0;
  // Throws InvalidInput for names and indices that there are not.
  virtual sm_array View(std::string_view name, std::size_t index) const;
};

namespace submarine::c_api {

using Json = nlohmann::json;

// JSON has no infinities: these are texts.
Json NumberJson(double value);

sm_status KeepError(const std::exception_ptr& error);

// Runs the body of a function of c_api.h.
template <class Body>
sm_status Guarded(const Body& body) noexcept {
  try {
    body();
    return SM_OK;
  } catch (...) {
    return KeepError(std::current_exception());
  }
}

template <class T>
const T& Given(const T* argument, const char* name) {
  if (argument == nullptr) throw InvalidInput(std::string(name) + " is null");
  return *argument;
}
inline std::string Text(const char* text, const char* name) { return &Given(text, name); }

// Runs a body that returns a new object, and hands it out.
template <class Body>
sm_status Made(sm_object** result, const Body& body) noexcept {
  return Guarded([&] {
    Given(result, "the place for the result");
    *result = body().release();
  });
}

// The object as one of this class. `what` is for the message: "the model".
template <class T>
const T& As(const sm_object* object, const char* what) {
  const auto* found = dynamic_cast<const T*>(&Given(object, what));
  if (found == nullptr) throw InvalidInput(std::string(what) + " is another kind of object");
  return *found;
}
template <class T>
T& As(sm_object* object, const char* what) {
  return const_cast<T&>(As<T>(static_cast<const sm_object*>(object), what));
}

template <class T>
constexpr sm_dtype DtypeOf() {
  if constexpr (std::is_same_v<T, double>) return SM_FLOAT64;
  if constexpr (std::is_same_v<T, float>) return SM_FLOAT32;
  if constexpr (std::is_same_v<T, std::uint8_t>) return SM_UINT8;
  if constexpr (std::is_same_v<T, std::int32_t>) return SM_INT32;
}

template <class T>
sm_array ViewOf(const T* data, std::initializer_list<std::size_t> shape,
                std::initializer_list<std::size_t> strides = {}) {
  sm_array view = {};
  view.data = data;
  view.dtype = DtypeOf<T>();
  for (const std::size_t n : shape) view.shape[view.ndim++] = static_cast<std::int64_t>(n);
  int axis = 0;
  for (const std::size_t n : strides) view.strides[axis++] = static_cast<std::int64_t>(n);
  return view;
}

template <class T>
sm_array ViewOf(const Matrix<T>& matrix) {
  return ViewOf(matrix.data(), {matrix.rows(), matrix.cols()});
}

// An array that a function found, and whatever else it has to say.
template <class Container>
class Values final : public sm_object {
 public:
  explicit Values(Container values, Json description = Json::object())
      : values_(std::move(values)), description_(std::move(description)) {
    shape_ = {values_.size()};
  }
  Values(Container values, std::vector<std::size_t> shape)
      : values_(std::move(values)), description_(Json::object()), shape_(std::move(shape)) {}

  Json Description() const override {
    Json description = description_;
    description["kind"] = "values";
    return description;
  }
  sm_array View(std::string_view name, std::size_t index) const override {
    if (name != "values" || index != 0) return sm_object::View(name, index);
    sm_array view = ViewOf(values_.data(), {});
    for (const std::size_t n : shape_) view.shape[view.ndim++] = static_cast<std::int64_t>(n);
    return view;
  }

 private:
  Container values_;
  Json description_;
  std::vector<std::size_t> shape_;
};

template <class T>
std::unique_ptr<sm_object> ValuesOf(Matrix<T> matrix) {
  const std::vector<std::size_t> shape = {matrix.rows(), matrix.cols()};
  return std::make_unique<Values<Matrix<T>>>(std::move(matrix), shape);
}
template <class Container>
std::unique_ptr<sm_object> ValuesOf(Container values, std::vector<std::size_t> shape) {
  return std::make_unique<Values<Container>>(std::move(values), std::move(shape));
}
inline std::unique_ptr<sm_object> ValuesOf(Json description) {
  return std::make_unique<Values<std::vector<double>>>(std::vector<double>(),
                                                       std::move(description));
}

}  // namespace submarine::c_api
