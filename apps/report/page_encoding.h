// Encodes bytes for an HTML page: compressed, as text that cannot end the element it is in.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace submarine::apps {

std::string Base64(std::string_view bytes);
constexpr std::size_t Base64Size(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

// zlib format, which browsers call "deflate".
std::string Deflate(std::string_view bytes);

// JSON text that is safe in a <script> element: "<" occurs only inside strings, where it is written
// as an escape, and without it no tag or comment can begin.
std::string ScriptSafeJson(std::string_view json);

}  // namespace submarine::apps
