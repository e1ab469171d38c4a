// Whether a file exists, as distinct from not being allowed to look.
#pragma once

#include <filesystem>

namespace submarine::apps {

// Throw FileError if this cannot be determined: a directory on the path that may not be searched, a
// name that is too long, circular links.
bool Exists(const std::filesystem::path& path);
bool IsDirectory(const std::filesystem::path& path);

}  // namespace submarine::apps
