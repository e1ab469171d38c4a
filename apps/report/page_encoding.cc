#include "apps/report/page_encoding.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "apps/cli/terminal.h"

namespace submarine::apps {

std::string Base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve(Base64Size(bytes.size()));
  for (std::size_t k = 0; k < bytes.size(); k += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - k);
    std::uint32_t triple = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      const std::uint32_t byte = j < count ? static_cast<unsigned char>(bytes[k + j]) : 0u;
      triple = triple << 8 | byte;
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += j <= count ? kDigits[triple >> (18 - 6 * j) & 63u] : '=';
    }
  }
  return text;
}

std::optional<std::string> Deflate(std::string_view bytes, std::size_t max_bytes) {
  z_stream stream{};
  // After an interrupt the user waits, so compress fast. Otherwise use a level that takes half the
  // time of zlib's default, for pages that are a few percent larger.
  constexpr int kLevel = 4;
  const int level = Interrupted() ? Z_BEST_SPEED : kLevel;
  if (deflateInit(&stream, level) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, deflateEnd);
  constexpr std::size_t kChunk = std::size_t{1} << 20;  // z_stream counts in 32 bits
  std::string result;
  std::vector<unsigned char> out(kChunk);
  std::size_t taken = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    if (stream.avail_in == 0 && taken < bytes.size()) {
      const std::size_t count = std::min(kChunk, bytes.size() - taken);
      // zlib does not write to its input; the cast is for its C interface.
      stream.next_in =
          reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data() + taken));  // NOLINT
      stream.avail_in = static_cast<uInt>(count);
      taken += count;
    }
    stream.next_out = out.data();
    stream.avail_out = static_cast<uInt>(out.size());
    status = deflate(&stream, taken == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    if (status == Z_STREAM_ERROR) throw std::logic_error("zlib refuses to compress");
    result.append(reinterpret_cast<const char*>(out.data()), out.size() - stream.avail_out);
    if (result.size() > max_bytes) return std::nullopt;
  }
  return result;
}

std::string ScriptSafeJson(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace submarine::apps
