// Options as JSON text. What is read is taken out, so that unknown ones can be named.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "submarine/base/names.h"
#include "submarine/c_api/object.h"

namespace submarine::c_api {

class Options {
 public:
  // Null and "" are no options. Throws InvalidInput for what is no JSON object.
  explicit Options(const char* text);
  explicit Options(Json object);

  // What is not given, or null, leaves the value as it is. Throws InvalidInput for another type.
  void Read(const char* name, bool* value);
  void Read(const char* name, int* value);
  void Read(const char* name, std::uint64_t* value);
  void Read(const char* name, double* value);  // also "inf", "-inf", "nan"
  void Read(const char* name, std::string* value);
  void Read(const char* name, std::vector<double>* values);
  void Read(const char* name, std::vector<int>* values);
  template <class T>
  void Read(const char* name, std::optional<T>* value) {
    T given = {};
    if (!Has(name)) return;
    Read(name, &given);
    *value = given;
  }
  // One of the names of an enum.
  template <class Value, class Target>
  void ReadName(const char* name, Target* value) {
    std::optional<std::string> given;
    Read(name, &given);
    if (given) *value = ByName<Value>(*given, name);
  }
  // A list of objects, each with options of its own.
  std::vector<Options> ReadList(const char* name);

  // Throws InvalidInput, with the nearest name that was asked for, if anything is left.
  void CheckEmpty() const;

 private:
  bool Has(const char* name);
  Json Take(const char* name);

  Json object_;
  std::vector<std::string> names_;  // that were asked for
};

}  // namespace submarine::c_api
