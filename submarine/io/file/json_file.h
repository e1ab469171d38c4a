// Strict reading of JSON files: a repeated, unknown or ill-typed key is an error that names the
// file and the key, since it is a typing mistake far more often than an extension.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace submarine::internal {

inline constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{256} << 20;

// Throws FileError: "file:line:column: ..." when the text is not JSON, "file: ..." when an object
// repeats a key or the file is too large, has too many values or is nested too deeply.
nlohmann::json ReadJsonFile(const std::filesystem::path& path,
                            std::uint64_t max_bytes = kMaxJsonBytes);

// Typed access to the keys of one object. `where` begins every message: a file, or a part of one.
class JsonFields {
 public:
  // Throws FileError unless `object` is an object whose keys are all among `allowed`.
  JsonFields(const nlohmann::json& object, std::string where,
             std::initializer_list<std::string_view> allowed);

  bool Has(std::string_view key) const;  // present and not null
  const nlohmann::json& At(std::string_view key) const;
  std::int64_t Integer(std::string_view key, std::int64_t min, std::int64_t max) const;
  double Number(std::string_view key) const;
  std::vector<double> Numbers(std::string_view key) const;  // from a number or a list of numbers
  std::string String(std::string_view key) const;

  const std::string& where() const { return where_; }

  // Throws FileError "where: key "key" <problem>, but is <value>".
  [[noreturn]] void Refuse(std::string_view key, std::string_view problem) const;

 private:
  const nlohmann::json& object_;
  std::string where_;
};

}  // namespace submarine::internal
