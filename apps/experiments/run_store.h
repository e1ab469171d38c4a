// Finished runs of an experiment, one file each, DIRECTORY/runs/NAME.json: an experiment that was killed goes on where it was.
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
  // Makes the directory; `command` is for messages. Throws FileError, and InvalidInput when another process writes to it:
  // tables of one would stand beside the summary of the other.
  RunStore(const std::filesystem::path& directory, std::string command);

  // The "result" of the file if its "parameters" are exactly these. Throws FileError for a file that is not ours.
  std::optional<nlohmann::json> Find(const std::string& name,
                                     const nlohmann::ordered_json& parameters) const;
  // `record` has at least "parameters" and "result". A file appears when it is complete.
  void Store(const std::string& name, const nlohmann::ordered_json& record) const;

  // Throws the FileError of a result that cannot be understood.
  [[noreturn]] void Refuse(const std::string& name) const;

 private:
  std::filesystem::path FileOf(const std::string& name) const { return runs_ / (name + ".json"); }

  std::filesystem::path runs_;
  std::string command_;
  std::unique_ptr<DirectoryLock> lock_;
};

}  // namespace submarine::apps
