#include "apps/cli/locked_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "submarine/base/error.h"

namespace submarine::apps {

LockedFile::LockedFile(const std::filesystem::path& file) : path_(file) {
  for (;;) {
    descriptor_ = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) Fail();
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      ::close(descriptor_);
      throw InvalidInput(fmt::format("another process writes to {}", file.string()));
    }
    if (IsStillThere()) return;
    ::close(descriptor_);
  }
}

LockedFile::~LockedFile() { ::close(descriptor_); }

// The previous holder of the lock may have replaced the file.
bool LockedFile::IsStillThere() const {
  struct stat locked {};
  struct stat there {};
  return ::fstat(descriptor_, &locked) == 0 && ::stat(path_.c_str(), &there) == 0 &&
         locked.st_dev == there.st_dev && locked.st_ino == there.st_ino;
}

void LockedFile::Fail() const {
  const int error = errno;
  throw FileError(fmt::format("{}: cannot be written: {}", path_.string(),
                              std::generic_category().message(error)));
}

std::uint64_t LockedFile::Size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) Fail();
  return static_cast<std::uint64_t>(status.st_size);
}

void LockedFile::CutTo(std::uint64_t bytes) {
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) Fail();
}

void LockedFile::Append(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) Fail();
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  ::fdatasync(descriptor_);  // if that is not supported, the text is still written
}

}  // namespace submarine::apps
