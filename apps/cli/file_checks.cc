#include "apps/cli/file_checks.h"

#include <fmt/format.h>

#include <system_error>

#include "submarine/base/error.h"

namespace submarine::apps {
namespace {

std::filesystem::file_type TypeOf(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (error && status.type() != std::filesystem::file_type::not_found) {
    throw FileError(fmt::format("cannot look at \"{}\": {}", path.string(), error.message()));
  }
  return status.type();
}

}  // namespace

bool Exists(const std::filesystem::path& path) {
  return TypeOf(path) != std::filesystem::file_type::not_found;
}

bool IsDirectory(const std::filesystem::path& path) {
  return TypeOf(path) == std::filesystem::file_type::directory;
}

}  // namespace submarine::apps
