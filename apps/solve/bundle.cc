#include "apps/solve/bundle.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <vector>

#include "apps/cli/messages.h"
#include "submarine/base/error.h"

namespace submarine::apps {
namespace fs = std::filesystem;
namespace {

// Does not contain the name of the bundle, which may already have the maximum length.
constexpr std::string_view kStagingPrefix = ".submarine-bundle-";

[[noreturn]] void Fail(const fs::path& path, std::string_view what, const std::error_code& error) {
  throw FileError(fmt::format("{}: {}: {}", path.string(), what, error.message()));
}

// "results/" and "results" are the same directory, and it may be given through a link.
fs::path Resolved(const fs::path& directory) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(fs::absolute(directory, error), error);
  if (error) Fail(directory, "cannot be a directory", error);
  return path.filename().empty() ? path.parent_path() : path;
}

// A name that no bundle of this process has had and that is no beginning of another's: messages
// that name it, which may be printed when it is gone, are about one bundle only.
std::string NewStagingName() {
  static std::atomic<unsigned> counter{0};
  return fmt::format("{}{}-{}.tmp", kStagingPrefix, ::getpid(), counter.fetch_add(1));
}

// Staging directories of running processes are locked.
void RemoveLitter(const fs::path& parent) {
  std::error_code ignored;
  for (fs::directory_iterator entry(parent, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    const fs::path& path = entry->path();
    if (!path.filename().string().starts_with(kStagingPrefix) ||
        entry->symlink_status(ignored).type() != fs::file_type::directory) {
      continue;
    }
    const DirectoryLock lock(path);
    std::error_code stays;
    if (lock.state() == DirectoryLock::State::kHeld) fs::remove_all(path, stays);
  }
}

}  // namespace

Bundle::Bundle(const fs::path& directory)
    : shown_((directory / "").parent_path()), directory_(Resolved(directory)) {
  std::error_code error;
  if (fs::exists(directory_, error) && !fs::is_directory(directory_, error)) {
    throw FileError(
        fmt::format("{}: exists and is not a directory, expected a directory for the results",
                    directory.string()));
  }
  if (fs::exists(directory_, error) && ::access(directory_.c_str(), W_OK | X_OK) != 0) {
    Fail(directory, "cannot be written to", {errno, std::generic_category()});
  }
  fs::create_directories(directory_.parent_path(), error);
  if (error) Fail(directory, "cannot be made", error);
  RemoveLitter(directory_.parent_path());
  for (;;) {
    const fs::path path = directory_.parent_path() / NewStagingName();
    if (::mkdir(path.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      Fail(directory, "cannot be made", {errno, std::generic_category()});
    }
    // Until it is locked, another process may take it for a leftover.
    lock_ = std::make_unique<DirectoryLock>(path);
    if (lock_->state() == DirectoryLock::State::kHeldByAnother ||
        lock_->state() == DirectoryLock::State::kGone) {
      continue;
    }
    staging_ = path;
    break;
  }
  ShowInstead(staging_.string(), shown_.string());
}

Bundle::~Bundle() {
  std::error_code ignored;
  if (!staging_.empty()) fs::remove_all(staging_, ignored);
}

void Bundle::Commit() {
  std::error_code error;
  bool made = false;
  if (!fs::exists(directory_, error)) {
    fs::rename(staging_, directory_, error);
    made = !error;
    // Another process may have made it in the meantime.
    if (error && error != std::errc::directory_not_empty && error != std::errc::file_exists)
      Fail(shown_, "cannot be made", error);
  }
  if (!made) ReplaceFiles();
  staging_.clear();
  lock_.reset();
}

void Bundle::ReplaceFiles() {
  // Two commits at the same time take turns; otherwise their files would be mixed.
  const DirectoryLock turn(directory_, DirectoryLock::Wait::kUntilFree);
  std::error_code error;
  std::vector<fs::path> names;
  for (fs::directory_iterator entry(staging_, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename() != "summary.json") names.push_back(entry->path().filename());
  }
  if (error) Fail(shown_, "cannot be written", error);
  if (fs::exists(File("summary.json"), error)) names.emplace_back("summary.json");
  for (const fs::path& name : names) {
    fs::rename(staging_ / name, directory_ / name, error);
    if (error) Fail(shown_ / name, "cannot be written", error);
  }
  if (std::find(names.begin(), names.end(), fs::path("report.html")) == names.end())
    fs::remove(directory_ / "report.html", error);
  fs::remove_all(staging_, error);
}

}  // namespace submarine::apps
