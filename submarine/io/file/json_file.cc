#include "submarine/io/file/json_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/io/file/input_file.h"
#include "submarine/io/file/text_scanner.h"

namespace submarine::internal {
namespace {

using Json = nlohmann::json;

// A nested tree of 256 levels takes two levels of JSON for each. Recursion over a value stays far
// from the end of the stack.
constexpr std::size_t kMaxDepth = 600;

// An empty object takes 3 bytes of text and a hundred of memory.
constexpr std::size_t kMaxValues = 4'000'000;

// The parser's message has the position and an error code before the reason, and the last token
// behind it. The position in the file is enough, and reveals nothing of a file that was not meant
// to be read.
std::string Reason(std::string_view what) {
  for (const std::string_view mark : {"syntax error ", ": ", "] "}) {
    if (const std::size_t at = what.find(mark); at != std::string_view::npos) {
      what.remove_prefix(at + (mark.size() == 2 ? mark.size() : 0));
      break;
    }
  }
  std::string shortened(what);
  if (const std::size_t begin = what.find("; last read: '"); begin != std::string_view::npos) {
    const std::size_t end = what.rfind("'; expected ");
    shortened.erase(begin, end == std::string_view::npos ? end : end + 1 - begin);
  }
  std::string reason;
  for (const char c : shortened.substr(0, 200)) reason += c >= ' ' && c <= '~' ? c : '?';
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

// Checks a text before values are built: it must be JSON, not too deep or too large, and without
// repeated keys, of which the parser would silently keep the last.
class JsonCheck : public Json::json_sax_t {
 public:
  std::size_t error_byte = 0;  // where the error is, if it has a position
  std::string error;

  bool null() override { return Count(); }
  bool boolean(bool) override { return Count(); }
  bool number_integer(number_integer_t) override { return Count(); }
  bool number_unsigned(number_unsigned_t) override { return Count(); }
  bool number_float(number_float_t, const string_t&) override { return Count(); }
  bool string(string_t&) override { return Count(); }
  bool binary(binary_t&) override { return Count(); }
  bool start_object(std::size_t) override { return Open(); }
  bool start_array(std::size_t) override { return Open(); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    if (open_.back().insert(name).second) return true;
    return Refuse(fmt::format("an object has the key {} twice", Quoted(name)));
  }
  bool parse_error(std::size_t byte, const std::string&,
                   const nlohmann::detail::exception& problem) override {
    error_byte = std::max<std::size_t>(byte, 1);
    return Refuse(fmt::format("not valid JSON: {}", Reason(problem.what())));
  }

 private:
  bool Refuse(std::string problem) {
    error = std::move(problem);
    return false;
  }
  bool Count() {
    if (++values_ <= kMaxValues) return true;
    return Refuse(fmt::format("it holds more than the {} values allowed", kMaxValues));
  }
  bool Open() {
    if (open_.size() == kMaxDepth) {
      return Refuse(
          fmt::format("lists and objects are nested deeper than the {} levels allowed", kMaxDepth));
    }
    open_.emplace_back();
    return Count();
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  std::vector<std::set<std::string>> open_;  // the keys of every open object
  std::size_t values_ = 0;
};

// The beginning of value.dump(), slightly more than Quoted() shows; the whole could be as long as
// the file.
void AppendBeginning(const Json& value, std::string* text) {
  constexpr std::size_t kEnough = 50;
  const auto append_string = [&](const std::string& string) {
    // The cut may split a multi-byte character.
    *text += Json(string.substr(0, kEnough)).dump(-1, ' ', false, Json::error_handler_t::ignore);
  };
  if (value.is_string()) return append_string(value.get_ref<const std::string&>());
  if (!value.is_structured()) {
    *text += value.dump();
    return;
  }
  *text += value.is_array() ? '[' : '{';
  bool first = true;
  for (const auto& item : value.items()) {
    if (text->size() > kEnough) return;
    if (!first) *text += ',';
    first = false;
    if (value.is_object()) {
      append_string(item.key());
      *text += ':';
    }
    AppendBeginning(item.value(), text);
  }
  *text += value.is_array() ? ']' : '}';
}

std::string QuotedBeginning(const Json& value) {
  std::string text;
  AppendBeginning(value, &text);
  return Quoted(text);
}

}  // namespace

Json ReadJsonFile(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const std::string text = ReadTextFile(path, max_bytes);
  if (std::all_of(text.begin(), text.end(), IsSpace)) {
    throw FileError(fmt::format("\"{}\" is empty, but a JSON object was expected", path.string()));
  }
  // A parser with a callback would search every list for each of its entries.
  JsonCheck check;
  if (!Json::sax_parse(text, &check)) {
    if (check.error_byte > 0) FailAt(path, text, check.error_byte, check.error);
    throw FileError(fmt::format("{}: {}", path.string(), check.error));
  }
  return Json::parse(text);
}

JsonFields::JsonFields(const Json& object, std::string where,
                       std::initializer_list<std::string_view> allowed)
    : object_(object), where_(std::move(where)) {
  if (!object.is_object()) {
    throw FileError(fmt::format("{}: expected a JSON object, but found {} {}", where_,
                                object.type_name(), QuotedBeginning(object)));
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
      fmt::format("{}: key \"{}\" {}, but is {}", where_, key, problem, QuotedBeginning(At(key))));
}

}  // namespace submarine::internal
