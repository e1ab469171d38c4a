// A file to which one process at a time appends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace submarine::apps {

class LockedFile {
 public:
  // Creates the file if there is none. Throws InvalidInput when another process has locked it,
  // FileError when it cannot be opened.
  explicit LockedFile(const std::filesystem::path& file);
  ~LockedFile();
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Throw FileError.
  std::uint64_t Size() const;
  void CutTo(std::uint64_t bytes);
  void Append(std::string_view text);  // on disk when this returns

 private:
  [[noreturn]] void Fail() const;
  bool IsStillThere() const;

  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace submarine::apps
