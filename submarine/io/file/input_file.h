// Reading bytes, with one clear sentence for a file that is missing, a directory, unreadable or too
// large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace submarine::internal {

// A regular file opened for reading. Its size is known before anything is read, so that readers can
// check what a header claims against what is there before they allocate.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);  // throws FileError
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  std::uint64_t bytes_left() const { return size_ > position_ ? size_ - position_ : 0; }

  // Exactly `bytes` bytes; throws FileError when the file ends before that.
  void Read(void* destination, std::size_t bytes);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;
};

inline constexpr std::uint64_t kMaxTextFileBytes = std::uint64_t{4} << 30;

// The limit for inputs that do not report their size: pipes, devices, files of /proc.
inline constexpr std::uint64_t kMaxStreamBytes = std::uint64_t{256} << 20;

// Receives the first 64 KiB of a file, or all of a shorter one, and may throw before the rest is
// read.
using BeginningCheck = std::function<void(std::string_view)>;

// Accepts pipes as well as regular files; throws FileError beyond `max_bytes`, and for pipes and
// the like beyond kMaxStreamBytes.
std::string ReadWholeFile(const std::filesystem::path& path,
                          std::uint64_t max_bytes = kMaxTextFileBytes,
                          const BeginningCheck& check = nullptr);

// Also throws FileError for a NUL among the first bytes, which text does not contain.
std::string ReadTextFile(const std::filesystem::path& path,
                         std::uint64_t max_bytes = kMaxTextFileBytes);

}  // namespace submarine::internal
