// The names of an option's values: one table for ToString, the command and Python.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace submarine {

template <class Value>
using NameTable = std::span<const std::pair<std::string_view, Value>>;

// Specialised beside every enum of options; the default comes first.
template <class Value>
NameTable<Value> Names() = delete;

template <class Value>
requires requires { Names<Value>(); }
std::string_view ToString(Value value) {
  for (const auto& [name, named] : Names<Value>()) {
    if (named == value) return name;
  }
  return "unknown";
}

// The name that takes the fewest edits to get to from this text, if these are few enough for a
// slip: otherwise empty.
std::string NearestName(std::string_view text, std::span<const std::string_view> names);

// Throws InvalidInput: "WHAT is "nam", expected one of name, other; did you mean name?".
[[noreturn]] void RefuseName(std::string_view text, std::span<const std::string_view> names,
                             std::string_view what);

template <class Value>
Value ByName(std::string_view text, std::string_view what) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : Names<Value>()) {
    if (name == text) return value;
    names.push_back(name);
  }
  RefuseName(text, names, what);
}

}  // namespace submarine
