// Writing files so that a reader sees either the old contents or the complete new ones, never a
// part.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace submarine::internal {

// Bytes go to a temporary file on the destination's file system; Commit() moves it into place.
// Without Commit() (an exception, a full disk, a killed process) the destination is untouched and
// nothing remains. Where the file system has no files without a name (NFS), the temporary has one
// beside the destination, which the destructor removes but a killed process leaves.
//
// A destination that exists and is neither a file nor a directory (a pipe, /dev/stdout) cannot be
// replaced and is written directly.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& destination);  // throws FileError
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Buffered. Throws FileError with the reason given by the operating system.
  void Write(std::string_view bytes);
  void Write(const void* bytes, std::size_t count) {
    Write(std::string_view(static_cast<const char*>(bytes), count));
  }

  // Flushes, waits until the bytes are on disk, and renames. Call at most once, as the last
  // operation.
  void Commit();

 private:
  void Open();
  void Flush();
  void WriteThrough(std::string_view bytes);
  void GiveName();
  [[noreturn]] void Fail(int error) const;

  std::filesystem::path destination_;  // as the caller named it, for messages
  std::filesystem::path target_;       // with symbolic links followed
  std::filesystem::path temporary_;    // empty while the temporary has no name
  int descriptor_ = -1;
  bool direct_ = false;  // no temporary
  bool committed_ = false;
  std::string buffer_;
};

void WriteFileAtomically(const std::filesystem::path& path, std::string_view contents);

}  // namespace submarine::internal
