#include "apps/report/page_encoding.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "apps/cli/terminal.h"
#include "submarine/base/parallel.h"

namespace submarine::apps {
namespace {

using internal::ParallelFor;

struct Piece {
  std::string deflated;
  std::size_t bytes = 0;  // before
  uLong check = 0;        // Adler-32
};

// zlib does not write to its input; the cast is for its C interface.
Bytef* InputOf(std::string_view bytes) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // NOLINT
}

// The part of a deflate stream for at most `most` bytes from `begin` on: all but the last end at
// the border of a byte, and what comes before them is their dictionary.
Piece DeflatePiece(std::string_view all, std::size_t begin, std::size_t most, int level) {
  constexpr int kWindowBits = 15;
  constexpr int kMemoryLevel = 8;  // zlib's default
  const std::string_view bytes = all.substr(begin, most);
  const bool last = begin + bytes.size() == all.size();
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, -kWindowBits, kMemoryLevel, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::bad_alloc();
  }
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, deflateEnd);
  const std::size_t before = std::min(begin, std::size_t{1} << kWindowBits);
  if (before > 0) {
    deflateSetDictionary(&stream, InputOf(all.substr(begin - before)), static_cast<uInt>(before));
  }
  constexpr uLong kFlush = 16;  // for the end at a byte's border
  Piece piece{std::string(deflateBound(&stream, bytes.size()) + kFlush, '\0'), bytes.size(),
              adler32(adler32(0, nullptr, 0), InputOf(bytes), static_cast<uInt>(bytes.size()))};
  stream.next_in = InputOf(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(piece.deflated.data());
  stream.avail_out = static_cast<uInt>(piece.deflated.size());
  const int status = deflate(&stream, last ? Z_FINISH : Z_SYNC_FLUSH);
  if (status != (last ? Z_STREAM_END : Z_OK) || stream.avail_in > 0 || stream.avail_out == 0)
    throw std::logic_error("zlib refuses to compress");
  piece.deflated.resize(stream.total_out);
  return piece;
}

}  // namespace

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

std::string Deflate(std::string_view bytes) {
  // After an interrupt the user waits, so compress fast. Otherwise use a level that takes half the
  // time of zlib's default, for pages that are a few percent larger.
  constexpr int kLevel = 4;
  const int level = Interrupted() ? Z_BEST_SPEED : kLevel;
  // Pieces are compressed in parallel and do not depend on the number of threads.
  constexpr std::size_t kPiece = std::size_t{1} << 19;
  const std::size_t count = std::max<std::size_t>(1, (bytes.size() + kPiece - 1) / kPiece);
  std::vector<Piece> pieces(count);
  ParallelFor(count, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k)
      pieces[k] = DeflatePiece(bytes, k * kPiece, kPiece, level);
  });
  std::string result = "\x78\x5e";  // zlib: deflate with a window of 32 KiB
  uLong check = adler32(0, nullptr, 0);
  for (const Piece& piece : pieces) {
    result += piece.deflated;
    check = adler32_combine(check, piece.check, static_cast<z_off_t>(piece.bytes));
  }
  for (int shift = 24; shift >= 0; shift -= 8) result += static_cast<char>(check >> shift & 0xff);
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
