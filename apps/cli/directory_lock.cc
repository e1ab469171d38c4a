#include "apps/cli/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace submarine::apps {

DirectoryLock::DirectoryLock(const std::filesystem::path& directory, Wait wait)
    : descriptor_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0) {
    if (errno == ENOENT) state_ = State::kGone;
    return;
  }
  if (::flock(descriptor_, wait == Wait::kNot ? LOCK_EX | LOCK_NB : LOCK_EX) != 0) {
    if (errno == EWOULDBLOCK) state_ = State::kHeldByAnother;
    return;
  }
  // Between opening and locking, the previous holder of the lock may have removed the directory.
  struct stat locked {};
  struct stat there {};
  const bool same = ::fstat(descriptor_, &locked) == 0 && ::stat(directory.c_str(), &there) == 0 &&
                    locked.st_dev == there.st_dev && locked.st_ino == there.st_ino;
  state_ = same ? State::kHeld : State::kGone;
}

DirectoryLock::~DirectoryLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace submarine::apps
