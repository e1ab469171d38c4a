// A directory of results that appears completely or not at all: files are written to a staging
// directory beside it. When all are complete, that directory is renamed, or its files replace those
// of the same name.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "apps/cli/directory_lock.h"

namespace submarine::apps {

class Bundle {
 public:
  // Throws FileError when the directory cannot be made or written to. Removes what killed processes
  // have left beside it.
  explicit Bundle(const std::filesystem::path& directory);
  ~Bundle();  // without Commit() nothing remains
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  // Where to write the file `name` until Commit().
  std::filesystem::path File(const std::string& name) const { return staging_ / name; }
  const std::filesystem::path& staging() const { return staging_; }

  // In an existing directory, summary.json is replaced last, so that all files it names exist. A
  // page that is there but not here is of other results, and removed.
  void Commit();

 private:
  void ReplaceFiles();

  std::filesystem::path shown_;  // as the caller named it, for messages
  std::filesystem::path directory_;
  std::filesystem::path staging_;
  std::unique_ptr<DirectoryLock> lock_;  // on staging_; shows that the process is running
};

}  // namespace submarine::apps
