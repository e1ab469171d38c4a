#include "submarine/c_api/options.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "submarine/base/error.h"

namespace submarine::c_api {
namespace {

[[noreturn]] void Refuse(const char* name, const Json& given, const char* expected) {
  throw InvalidInput(fmt::format("{} is {}, expected {}", name, given.dump(), expected));
}

std::int64_t WholeOf(const char* name, const Json& given, std::int64_t least, std::int64_t most) {
  if (!given.is_number_integer() ||
      (given.is_number_unsigned() &&
       given.get<std::uint64_t>() > static_cast<std::uint64_t>(most)) ||
      given.get<std::int64_t>() < least || given.get<std::int64_t>() > most)
    Refuse(name, given, "a whole number");
  return given.get<std::int64_t>();
}

double NumberOf(const char* name, const Json& given) {
  if (given.is_number()) return given.get<double>();
  if (given == "inf") return std::numeric_limits<double>::infinity();
  if (given == "-inf") return -std::numeric_limits<double>::infinity();
  if (given == "nan") return std::numeric_limits<double>::quiet_NaN();
  Refuse(name, given, "a number");
}

constexpr int kLeastInt = std::numeric_limits<int>::min();
constexpr int kMostInt = std::numeric_limits<int>::max();

}  // namespace

Options::Options(const char* text) : object_(Json::object()) {
  if (text == nullptr || *text == '\0') return;
  object_ = Json::parse(text, nullptr, false);
  if (!object_.is_object()) throw InvalidInput("the options are no JSON object");
}
Options::Options(Json object) : object_(std::move(object)) {
  if (!object_.is_object()) throw InvalidInput("an entry of a list of options is no JSON object");
}

bool Options::Has(const char* name) {
  names_.emplace_back(name);
  const auto found = object_.find(name);
  if (found == object_.end()) return false;
  if (!found->is_null()) return true;
  object_.erase(found);
  return false;
}

Json Options::Take(const char* name) {
  Json value = std::move(object_.at(name));
  object_.erase(name);
  return value;
}

void Options::Read(const char* name, bool* value) {
  if (!Has(name)) return;
  const Json given = Take(name);
  if (!given.is_boolean()) Refuse(name, given, "true or false");
  *value = given.get<bool>();
}

void Options::Read(const char* name, int* value) {
  if (Has(name)) *value = static_cast<int>(WholeOf(name, Take(name), kLeastInt, kMostInt));
}

void Options::Read(const char* name, std::uint64_t* value) {
  if (!Has(name)) return;
  const Json given = Take(name);
  if (!given.is_number_unsigned()) Refuse(name, given, "a whole number >= 0");
  *value = given.get<std::uint64_t>();
}

void Options::Read(const char* name, double* value) {
  if (Has(name)) *value = NumberOf(name, Take(name));
}

void Options::Read(const char* name, std::string* value) {
  if (!Has(name)) return;
  const Json given = Take(name);
  if (!given.is_string()) Refuse(name, given, "a text");
  *value = given.get<std::string>();
}

void Options::Read(const char* name, std::vector<double>* values) {
  if (!Has(name)) return;
  const Json given = Take(name);
  if (!given.is_array()) Refuse(name, given, "a list of numbers");
  values->clear();
  for (const Json& entry : given) values->push_back(NumberOf(name, entry));
}

void Options::Read(const char* name, std::vector<int>* values) {
  if (!Has(name)) return;
  const Json given = Take(name);
  if (!given.is_array()) Refuse(name, given, "a list of whole numbers");
  values->clear();
  for (const Json& entry : given)
    values->push_back(static_cast<int>(WholeOf(name, entry, kLeastInt, kMostInt)));
}

std::vector<Options> Options::ReadList(const char* name) {
  std::vector<Options> list;
  if (!Has(name)) return list;
  Json given = Take(name);
  if (!given.is_array()) Refuse(name, given, "a list");
  for (Json& entry : given) list.emplace_back(std::move(entry));
  return list;
}

void Options::CheckEmpty() const {
  if (object_.empty()) return;
  const std::string name = object_.begin().key();
  const std::vector<std::string_view> known(names_.begin(), names_.end());
  const std::string near = NearestName(name, known);
  throw InvalidInput(fmt::format("there is no option \"{}\"{}", name,
                                 near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

}  // namespace submarine::c_api
