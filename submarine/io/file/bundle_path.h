// Names of files in a bundle, a directory that is made to be given to others: nothing else of the
// disk is read through one.
#pragma once

#include <filesystem>
#include <string>

namespace submarine::internal {

// Whether the name is relative and cannot leave the directory it is relative to, unless by links.
bool IsNameInBundle(const std::string& name);

// bundle/file. Throws FileError if links lead out of the bundle. Does not check that the file
// exists; its reader does.
std::filesystem::path PathInBundle(const std::filesystem::path& bundle,
                                   const std::filesystem::path& file);

}  // namespace submarine::internal
