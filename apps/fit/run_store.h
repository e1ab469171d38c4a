// Finished runs of an experiment, one file each, DIRECTORY/runs/NAME.json: an experiment that was
// killed continues where it stopped.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "apps/cli/directory_lock.h"

namespace submarine::apps {

class RunStore {
 public:
  // Makes the directory; `command` is for messages ("submarine fit"). Throws FileError, and InvalidInput when another
  // process writes to it, because the tables of one would be mixed with the summary of the other.
  RunStore(const std::filesystem::path& directory, std::string command);

  // The "result" in the file if its "parameters" are exactly these. Throws FileError for a file of
  // another origin.
  std::optional<nlohmann::json> Find(const std::string& name,
                                     const nlohmann::ordered_json& parameters) const;
  // `record` has at least "parameters" and "result". The file is written atomically.
  void Store(const std::string& name, const nlohmann::ordered_json& record) const;

  // Throws the FileError for a result that cannot be parsed.
  [[noreturn]] void Refuse(const std::string& name) const;

 private:
  std::filesystem::path FileOf(const std::string& name) const { return runs_ / (name + ".json"); }

  std::filesystem::path runs_;
  std::string command_;
  std::unique_ptr<DirectoryLock> lock_;
};

}  // namespace submarine::apps
