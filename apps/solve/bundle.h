// A directory of results that appears whole or not at all: files are made in a directory beside it,
// which takes its place, or whose files replace those of the same name, when all of them are complete.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "apps/cli/directory_lock.h"

namespace submarine::apps {

class Bundle {
 public:
  // Throws FileError when the directory cannot be made or written to. Removes what processes that
  // were killed have left beside it.
  explicit Bundle(const std::filesystem::path& directory);
  ~Bundle();  // without Commit() nothing remains
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  // Where to write the file `name` for now.
  std::filesystem::path File(const std::string& name) const { return staging_ / name; }
  const std::filesystem::path& staging() const { return staging_; }

  // summary.json is the last to be replaced in a directory that exists: what it names is there.
  void Commit();

 private:
  void ReplaceFiles();

  std::filesystem::path shown_;  // as the caller named it, for messages
  std::filesystem::path directory_;
  std::filesystem::path staging_;
  std::unique_ptr<DirectoryLock> lock_;  // on staging_, which says that its process lives
};

}  // namespace submarine::apps
