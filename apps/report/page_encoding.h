// How bytes travel inside an HTML page: compressed, as text, without ending the element they are in.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace submarine::apps {

std::string Base64(std::string_view bytes);
constexpr std::size_t Base64Size(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

// zlib format, which browsers call "deflate". Gives up, without a value, as soon as the result is
// longer than `max_bytes`.
std::optional<std::string> Deflate(std::string_view bytes,
                                   std::size_t max_bytes = std::numeric_limits<std::size_t>::max());

// JSON text that can stand in a <script> element: "<" is only found inside strings, where it may be
// written as an escape, and without it no tag or comment can begin.
std::string ScriptSafeJson(std::string_view json);

}  // namespace submarine::apps
