#include "submarine/io/json_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/io/input_file.h"
#include "submarine/io/text_scanner.h"

namespace submarine {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{256} << 20;

// The parser's own message repeats the position and an error code before the reason.
std::string Reason(std::string_view what) {
  for (const std::string_view mark : {"syntax error ", ": ", "] "}) {
    if (const std::size_t at = what.find(mark); at != std::string_view::npos) {
      what.remove_prefix(at + (mark.size() == 2 ? mark.size() : 0));
      break;
    }
  }
  std::string reason;
  for (const char c : what.substr(0, 200)) reason += c >= ' ' && c <= '~' ? c : '?';
  return reason;
}

[[noreturn]] void FailAt(const std::filesystem::path& path, std::string_view text, std::size_t byte,
                         std::string_view message) {
  const std::string_view before = text.substr(0, byte > 0 ? byte - 1 : 0);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 == 0
  throw FileError(
      fmt::format("{}:{}:{}: {}", path.string(), line, before.size() - line_begin + 1, message));
}

// The parser would silently keep the last of two equal keys.
class RepeatedKeyCheck {
 public:
  bool operator()(int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) open_.emplace_back();
    if (event == Json::parse_event_t::object_end) open_.pop_back();
    if (event == Json::parse_event_t::key &&
        !open_.back().insert(value.get<std::string>()).second && repeated_.empty()) {
      repeated_ = value.get<std::string>();
    }
    return true;
  }
  const std::string& repeated() const { return repeated_; }

 private:
  std::vector<std::set<std::string>> open_;
  std::string repeated_;
};

}  // namespace

Json ReadJsonFile(const std::filesystem::path& path) {
  const std::string text = ReadWholeFile(path, kMaxJsonBytes);
  if (std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c); })) {
    throw FileError(fmt::format("\"{}\" is empty, but a JSON object was expected", path.string()));
  }
  RepeatedKeyCheck check;
  Json json;
  try {
    json = Json::parse(text, std::ref(check));
  } catch (const Json::parse_error& error) {
    FailAt(path, text, error.byte, fmt::format("not valid JSON: {}", Reason(error.what())));
  } catch (const Json::exception& error) {
    throw FileError(fmt::format("{}: not usable as JSON: {}", path.string(), Reason(error.what())));
  }
  if (!check.repeated().empty()) {
    throw FileError(
        fmt::format("{}: an object has the key {} twice", path.string(), Quoted(check.repeated())));
  }
  return json;
}

JsonFields::JsonFields(const Json& object, std::string where,
                       std::initializer_list<std::string_view> allowed)
    : object_(object), where_(std::move(where)) {
  if (!object.is_object()) {
    throw FileError(fmt::format("{}: expected a JSON object, but found {} {}", where_,
                                object.type_name(), Quoted(object.dump())));
  }
  for (const auto& item : object.items()) {
    if (std::find(allowed.begin(), allowed.end(), item.key()) == allowed.end()) {
      throw FileError(fmt::format("{}: unknown key {}; known are {}", where_, Quoted(item.key()),
                                  fmt::join(allowed, ", ")));
    }
  }
}

bool JsonFields::Has(std::string_view key) const {
  const auto found = object_.find(key);
  return found != object_.end() && !found->is_null();
}

const Json& JsonFields::At(std::string_view key) const {
  if (!Has(key)) throw FileError(fmt::format("{}: key \"{}\" is missing", where_, key));
  return *object_.find(key);
}

std::int64_t JsonFields::Integer(std::string_view key, std::int64_t min, std::int64_t max) const {
  const Json& value = At(key);
  // get<std::int64_t>() would wrap unsigned values beyond its range.
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<std::uint64_t>() <= static_cast<std::uint64_t>(max)) &&
                    value.get<std::int64_t>() >= min && value.get<std::int64_t>() <= max;
  if (!fits) Refuse(key, fmt::format("must be a whole number from {} to {}", min, max));
  return value.get<std::int64_t>();
}

double JsonFields::Number(std::string_view key) const {
  const Json& value = At(key);
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    Refuse(key, "must be a finite number");
  return value.get<double>();
}

std::vector<double> JsonFields::Numbers(std::string_view key) const {
  const Json& value = At(key);
  if (!value.is_array()) return {Number(key)};
  std::vector<double> numbers;
  for (const Json& item : value) {
    if (!item.is_number() || !std::isfinite(item.get<double>())) {
      Refuse(key, "must be a finite number or a list of them");
    }
    numbers.push_back(item.get<double>());
  }
  return numbers;
}

std::string JsonFields::String(std::string_view key) const {
  const Json& value = At(key);
  if (!value.is_string()) Refuse(key, "must be a string");
  return value.get<std::string>();
}

void JsonFields::Refuse(std::string_view key, std::string_view problem) const {
  throw FileError(
      fmt::format("{}: key \"{}\" {}, but is {}", where_, key, problem, Quoted(At(key).dump())));
}

}  // namespace submarine
