#include "submarine/base/number_text.h"

#include <locale.h>  // NOLINT(modernize-deprecated-headers): newlocale is POSIX
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): strtod_l likewise
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include <cerrno>
#include <cmath>
#include <string>

namespace submarine::internal {
namespace {

locale_t PlainLocale() {
  static const locale_t kPlain = newlocale(LC_ALL_MASK, "C", nullptr);
  return kPlain;
}

double Convert(const char* text, char** stop, double) {
  return strtod_l(text, stop, PlainLocale());
}
long double Convert(const char* text, char** stop, long double) {
  return strtold_l(text, stop, PlainLocale());
}

template <class T>
std::from_chars_result Parse(const char* begin, const char* end, T& value) {
  const std::string text(begin, end);
  const std::size_t digits = text.starts_with('-') ? 1 : 0;
  // strtod accepts what from_chars does not: spaces, a plus, hexadecimal numbers.
  const bool refused = digits >= text.size() || text[digits] == '+' || text[digits] == '-' ||
                       std::string_view(" \t\n\v\f\r").find(text[digits]) != std::string::npos;
  if (refused) return {begin, std::errc::invalid_argument};
  const bool hexadecimal = text[digits] == '0' && digits + 1 < text.size() &&
                           (text[digits + 1] == 'x' || text[digits + 1] == 'X');
  if (hexadecimal) {
    value = digits == 1 ? T{-0.0} : T{0};
    return {begin + digits + 1, std::errc{}};
  }
  char* stop = nullptr;
  errno = 0;
  const T parsed = Convert(text.c_str(), &stop, T{});
  if (stop == text.c_str()) return {begin, std::errc::invalid_argument};
  const char* parsed_end = begin + (stop - text.c_str());
  // The C library may also report a subnormal number as out of range.
  if (errno == ERANGE && (parsed == T{0} || std::isinf(parsed)))
    return {parsed_end, std::errc::result_out_of_range};
  value = parsed;
  return {parsed_end, std::errc{}};
}

}  // namespace

std::from_chars_result FloatFromChars(const char* begin, const char* end, double& value) {
  return Parse(begin, end, value);
}
std::from_chars_result FloatFromChars(const char* begin, const char* end, long double& value) {
  return Parse(begin, end, value);
}

}  // namespace submarine::internal
