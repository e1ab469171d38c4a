// Whether a file exists, as distinct from not being allowed to look.
#pragma once

#include <filesystem>

namespace submarine::apps {

// Throw FileError where the question has no answer: a directory on the way that may not be
// searched, a name that is too long, links in a circle.
bool Exists(const std::filesystem::path& path);
bool IsDirectory(const std::filesystem::path& path);

}  // namespace submarine::apps
