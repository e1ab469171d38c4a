#include "apps/bundle.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "submarine/base/error.h"

namespace submarine::apps {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void Fail(const fs::path& path, std::string_view what, const std::error_code& error) {
  throw FileError(fmt::format("{}: {}: {}", path.string(), what, error.message()));
}

// "results/" and "results" are one directory, and it may be given through a link.
fs::path Resolved(const fs::path& directory) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(fs::absolute(directory, error), error);
  if (error) Fail(directory, "cannot be a directory", error);
  return path.filename().empty() ? path.parent_path() : path;
}

}  // namespace

Bundle::Bundle(const fs::path& directory) : directory_(Resolved(directory)) {
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
  std::string pattern =
      (directory_.parent_path() / fmt::format(".{}.XXXXXX", directory_.filename().string()))
          .string();
  if (::mkdtemp(pattern.data()) == nullptr)
    Fail(directory, "cannot be made", {errno, std::generic_category()});
  staging_ = pattern;
  // mkdtemp makes directories that only their owner may enter.
  fs::permissions(staging_,
                  fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read |
                      fs::perms::others_exec,
                  fs::perm_options::add, error);
}

Bundle::~Bundle() {
  std::error_code ignored;
  if (!staging_.empty()) fs::remove_all(staging_, ignored);
}

void Bundle::Commit() {
  std::error_code error;
  if (!fs::exists(directory_, error)) {
    fs::rename(staging_, directory_, error);
    if (error) Fail(directory_, "cannot be made", error);
  } else {
    std::vector<fs::path> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(staging_))
      if (entry.path().filename() != "summary.json") names.push_back(entry.path().filename());
    if (fs::exists(File("summary.json"), error)) names.emplace_back("summary.json");
    for (const fs::path& name : names) {
      fs::rename(staging_ / name, directory_ / name, error);
      if (error) Fail(directory_ / name, "cannot be written", error);
    }
    fs::remove_all(staging_, error);
  }
  staging_.clear();
}

}  // namespace submarine::apps
