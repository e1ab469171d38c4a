#include "apps/fit/run_store.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "apps/cli/file_checks.h"
#include "apps/solve/solve_output.h"
#include "submarine/base/error.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/file/json_file.h"

namespace submarine::apps {

using internal::ReadJsonFile;
using internal::WriteFileAtomically;
using nlohmann::json;

RunStore::RunStore(const std::filesystem::path& directory, std::string command)
    : runs_(directory / "runs"), command_(std::move(command)) {
  std::error_code error;
  std::filesystem::create_directories(runs_, error);
  if (error) {
    throw FileError(
        fmt::format("cannot make the directory \"{}\": {}", runs_.string(), error.message()));
  }
  lock_ = std::make_unique<DirectoryLock>(runs_);
  if (lock_->state() == DirectoryLock::State::kHeldByAnother)
    throw InvalidInput(fmt::format("another process writes to {}", directory.string()));
}

std::optional<json> RunStore::Find(const std::string& name,
                                   const nlohmann::ordered_json& parameters) const {
  if (!Exists(FileOf(name))) return std::nullopt;
  json stored = ReadJsonFile(FileOf(name));
  if (!stored.is_object() || !stored.contains("parameters") || !stored.contains("result"))
    Refuse(name);
  // Converted to text and back, like the stored ones.
  if (stored["parameters"] != json::parse(parameters.dump())) return std::nullopt;
  return std::move(stored["result"]);
}

void RunStore::Store(const std::string& name, const nlohmann::ordered_json& record) const {
  WriteFileAtomically(FileOf(name), JsonText(record));
}

void RunStore::Refuse(const std::string& name) const {
  throw FileError(fmt::format("{} is not what {} wrote; delete it to run this again",
                              FileOf(name).string(), command_));
}

}  // namespace submarine::apps
