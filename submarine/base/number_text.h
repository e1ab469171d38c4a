// Parses numbers independently of the locale, which the program that uses the library may change.
#pragma once

#include <charconv>
#include <concepts>
#include <version>

namespace submarine::internal {

// std::from_chars by means of the C library, for standard libraries that have it for integers only
// (libc++ before 20). Unlike from_chars, it copies the text.
std::from_chars_result FloatFromChars(const char* begin, const char* end, double& value);
std::from_chars_result FloatFromChars(const char* begin, const char* end, long double& value);

template <class T>
std::from_chars_result FromChars(const char* begin, const char* end, T& value) {
#ifndef __cpp_lib_to_chars
  if constexpr (std::floating_point<T>)
    return FloatFromChars(begin, end, value);
  else  // NOLINT(readability-else-after-return): the other branch must not be compiled
#endif
    return std::from_chars(begin, end, value);
}

}  // namespace submarine::internal
