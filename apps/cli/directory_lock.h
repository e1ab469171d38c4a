// A lock on a directory, held until the object or the process ends, in whatever way: nothing is
// left that would need cleaning up. Some network file systems have no such locks; there it is
// neither held nor refused.
#pragma once

#include <filesystem>

namespace submarine::apps {

class DirectoryLock {
 public:
  enum class State { kHeld, kHeldByAnother, kGone, kUnknown };
  enum class Wait { kNot, kUntilFree };

  explicit DirectoryLock(const std::filesystem::path& directory, Wait wait = Wait::kNot);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  State state() const { return state_; }

 private:
  int descriptor_ = -1;
  State state_ = State::kUnknown;
};

}  // namespace submarine::apps
