#include "submarine/io/file/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "submarine/base/error.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

// Unique within the process; its users resolve collisions with other processes. Does not contain
// the name of the target, which may already have the maximum length.
std::filesystem::path TemporaryNameBeside(const std::filesystem::path& target) {
  static std::atomic<unsigned> counter{0};
  return target.parent_path() /
         fmt::format(".submarine-{}-{}.tmp", ::getpid(), counter.fetch_add(1));
}

// The name by which a file without one can be linked; empty if there is no /proc.
std::string LinkSource(int descriptor) {
  std::string name = fmt::format("/proc/self/fd/{}", descriptor);
  return ::access(name.c_str(), F_OK) == 0 ? name : "";
}

int LinkAs(const std::string& source, const std::filesystem::path& name) {
  return ::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
}

}  // namespace

void AtomicFile::Fail(int error) const {
  throw FileError(fmt::format("cannot write \"{}\": {}", destination_.string(),
                              std::generic_category().message(error)));
}

AtomicFile::AtomicFile(const std::filesystem::path& destination)
    : destination_(destination), target_(destination) {
  if (!destination.has_filename()) Fail(destination.empty() ? ENOENT : EISDIR);
  struct stat status {};
  const bool exists = ::stat(target_.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) Fail(errno);
  if (exists && S_ISDIR(status.st_mode)) Fail(EISDIR);

  if (exists && !S_ISREG(status.st_mode)) {
    direct_ = true;
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) Fail(errno);
    return;
  }
  // Renaming over a symbolic link would replace the link instead of the file behind it, which need
  // not exist yet. Circular links have failed above.
  std::error_code error;
  while (std::filesystem::is_symlink(target_, error)) {
    target_ = target_.parent_path() / std::filesystem::read_symlink(target_, error);
    if (error) Fail(error.value());
  }
  Open();
  // A file that is replaced keeps its permissions, as if it were written in place.
  if (exists) static_cast<void>(::fchmod(descriptor_, status.st_mode & 07777));
}

void AtomicFile::Open() {
#ifdef O_TMPFILE  // Linux
  const std::filesystem::path directory = target_.has_parent_path() ? target_.parent_path() : ".";
  descriptor_ = ::open(directory.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (descriptor_ >= 0 && !LinkSource(descriptor_).empty()) return;
  if (descriptor_ >= 0) ::close(descriptor_);
#endif
  do {
    temporary_ = TemporaryNameBeside(target_);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) Fail(errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!committed_ && !temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::Write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) Flush();
  if (bytes.size() >= kBufferBytes) {
    WriteThrough(bytes);
  } else {
    buffer_.append(bytes);
  }
}

void AtomicFile::Flush() {
  WriteThrough(buffer_);
  buffer_.clear();
}

void AtomicFile::WriteThrough(std::string_view bytes) {
  constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const ssize_t written =
        ::write(descriptor_, bytes.data(), std::min(bytes.size(), kMaxTransfer));
    if (written < 0) {
      if (errno == EINTR) continue;
      Fail(errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

// That of the target if it is free, otherwise one from which it is renamed at once.
void AtomicFile::GiveName() {
  const std::string source = LinkSource(descriptor_);
  if (LinkAs(source, target_) == 0) return;
  while (errno == EEXIST) {
    temporary_ = TemporaryNameBeside(target_);
    if (LinkAs(source, temporary_) == 0) return;
  }
  const int error = errno;
  temporary_.clear();
  Fail(error);
}

void AtomicFile::Commit() {
  Flush();
  if (!direct_ && ::fsync(descriptor_) != 0) Fail(errno);
  if (!direct_ && temporary_.empty()) GiveName();
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) Fail(errno);  // network file systems report a full disk only here
  if (!temporary_.empty() && ::rename(temporary_.c_str(), target_.c_str()) != 0) Fail(errno);
  committed_ = true;
}

void WriteFileAtomically(const std::filesystem::path& path, std::string_view contents) {
  AtomicFile file(path);
  file.Write(contents);
  file.Commit();
}

}  // namespace submarine::internal
