#include "apps/report/page_encoding.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>

#include "submarine/base/parallel.h"

namespace submarine::apps {
namespace {

// Partly repetitive, also at distances that reach over pieces.
std::string Bytes(std::size_t count) {
  std::mt19937 random(7);
  std::string bytes(count, '\0');
  for (std::size_t k = 0; k < count; ++k) {
    bytes[k] =
        k >= 30'000 && random() % 8 != 0 ? bytes[k - 30'000] : static_cast<char>(random() % 256);
  }
  return bytes;
}

std::string Inflate(const std::string& deflated, std::size_t bytes) {
  std::string inflated(bytes + 1, '\0');
  uLongf size = inflated.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(inflated.data()), &size,
                       reinterpret_cast<const Bytef*>(deflated.data()), deflated.size()),
            Z_OK);
  inflated.resize(size);
  return inflated;
}

TEST(Deflate, IsZlibOfAnyLength) {
  constexpr std::size_t kPiece = std::size_t{1} << 19;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kPiece - 1, kPiece, kPiece + 1, 3 * kPiece + 77}) {
    const std::string bytes = Bytes(size);
    const std::string deflated = Deflate(bytes);
    EXPECT_EQ(Inflate(deflated, size), bytes) << size;
    const internal::ThreadLimit one(1);
    EXPECT_EQ(Deflate(bytes), deflated) << size;
  }
}

TEST(Deflate, PiecesCompressAsWellAsTheWhole) {
  const std::string bytes = Bytes(std::size_t{5} << 19);
  uLongf whole = compressBound(bytes.size());
  std::string together(whole, '\0');
  ASSERT_EQ(compress2(reinterpret_cast<Bytef*>(together.data()), &whole,
                      reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), 4),
            Z_OK);
  EXPECT_LT(static_cast<double>(Deflate(bytes).size()), 1.01 * static_cast<double>(whole));
}

}  // namespace
}  // namespace submarine::apps
