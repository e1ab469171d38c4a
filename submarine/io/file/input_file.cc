#include "submarine/io/file/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "submarine/base/error.h"

namespace submarine::internal {
namespace {

[[noreturn]] void FailToRead(const std::filesystem::path& path, int error) {
  throw FileError(
      fmt::format("cannot read \"{}\": {}", path.string(), std::generic_category().message(error)));
}

// Opens anything but a directory, which open() accepts and only read() refuses.
int OpenForReading(const std::filesystem::path& path, struct stat& status) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) FailToRead(path, errno);
  int error = 0;
  if (::fstat(descriptor, &status) != 0) {
    error = errno;
  } else if (S_ISDIR(status.st_mode)) {
    error = EISDIR;
  }
  if (error != 0) {
    ::close(descriptor);
    FailToRead(path, error);
  }
  return descriptor;
}

// One read() that is repeated when a signal interrupts it; 0 at the end of the file.
std::size_t ReadSome(int descriptor, void* destination, std::size_t bytes,
                     const std::filesystem::path& path) {
  // Linux transfers at most about 2 GiB per call, whatever the count.
  constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;
  for (;;) {
    const ssize_t got = ::read(descriptor, destination, std::min(bytes, kMaxTransfer));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) FailToRead(path, errno);
  }
}

class DescriptorCloser {
 public:
  explicit DescriptorCloser(int descriptor) : descriptor_(descriptor) {}
  ~DescriptorCloser() { ::close(descriptor_); }
  DescriptorCloser(const DescriptorCloser&) = delete;
  DescriptorCloser& operator=(const DescriptorCloser&) = delete;

 private:
  int descriptor_;
};

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : path_(path) {
  struct stat status {};
  descriptor_ = OpenForReading(path, status);
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw FileError(fmt::format("cannot read \"{}\": not a regular file", path.string()));
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::Read(void* destination, std::size_t bytes) {
  char* next = static_cast<char*>(destination);
  while (bytes > 0) {
    const std::size_t got = ReadSome(descriptor_, next, bytes, path_);
    if (got == 0) {
      throw FileError(
          fmt::format("\"{}\" is truncated: {} more bytes were expected", path_.string(), bytes));
    }
    next += got;
    bytes -= got;
    position_ += got;
  }
}

std::string ReadWholeFile(const std::filesystem::path& path, std::uint64_t max_bytes,
                          const BeginningCheck& check) {
  struct stat status {};
  const int descriptor = OpenForReading(path, status);
  const DescriptorCloser closer(descriptor);
  const auto expected = static_cast<std::uint64_t>(S_ISREG(status.st_mode) ? status.st_size : 0);
  const std::uint64_t limit = expected > 0 ? max_bytes : std::min(max_bytes, kMaxStreamBytes);
  const auto refuse_beyond_limit = [&](std::uint64_t bytes) {
    if (bytes > limit) {
      throw FileError(fmt::format("\"{}\" has more than the {} bytes allowed for such a file",
                                  path.string(), limit));
    }
  };

  // Check the beginning first: "not such a file" is a better message than one about its size.
  constexpr std::size_t kFirstChunk = std::size_t{1} << 16;
  std::string contents(kFirstChunk, '\0');
  std::size_t filled = 0;
  for (std::size_t got = 1; got > 0 && filled < kFirstChunk; filled += got) {
    got = ReadSome(descriptor, contents.data() + filled, kFirstChunk - filled, path);
  }
  if (check) check(std::string_view(contents).substr(0, filled));
  refuse_beyond_limit(expected);

  // One byte more than expected detects the end of the file without growing the buffer again. Pipes
  // and files of /proc report size 0 and grow geometrically.
  contents.resize(std::max(static_cast<std::size_t>(expected) + 1, kFirstChunk));
  for (std::size_t got = filled; got > 0; filled += got) {
    refuse_beyond_limit(filled);
    if (filled == contents.size()) {
      contents.resize(static_cast<std::size_t>(std::min<std::uint64_t>(2 * filled, limit + 1)));
    }
    got = ReadSome(descriptor, contents.data() + filled, contents.size() - filled, path);
  }
  contents.resize(filled);
  return contents;
}

std::string ReadTextFile(const std::filesystem::path& path, std::uint64_t max_bytes) {
  return ReadWholeFile(path, max_bytes, [&](std::string_view beginning) {
    if (const std::size_t nul = beginning.find('\0'); nul != std::string_view::npos) {
      throw FileError(fmt::format("\"{}\" is not a text file: it has a NUL at byte {}",
                                  path.string(), nul + 1));
    }
  });
}

}  // namespace submarine::internal
