#include "submarine/io/file/bundle_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "submarine/base/error.h"

namespace submarine::internal {

bool IsNameInBundle(const std::string& name) {
  const std::filesystem::path path = name;
  return !name.empty() && name.find('\0') == std::string::npos && path.is_relative() &&
         std::none_of(path.begin(), path.end(), [](const auto& part) { return part == ".."; });
}

std::filesystem::path PathInBundle(const std::filesystem::path& bundle,
                                   const std::filesystem::path& file) {
  std::error_code missing;
  const std::filesystem::path here = bundle.empty() ? "." : bundle;
  const std::filesystem::path root = std::filesystem::canonical(here, missing);
  const std::filesystem::path target = std::filesystem::canonical(here / file, missing);
  if (missing) return bundle / file;
  if (std::mismatch(root.begin(), root.end(), target.begin(), target.end()).first != root.end()) {
    throw FileError(fmt::format("\"{}\" is a link out of the bundle, expected a file inside it",
                                (bundle / file).string()));
  }
  return bundle / file;
}

}  // namespace submarine::internal
