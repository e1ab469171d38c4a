#include "submarine/io/file/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "submarine/base/error.h"
#include "submarine/io/file/io_test_util.h"

namespace submarine::internal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A .npy file assembled by hand, independent of the writer under test.
std::string Npy(const std::string& dict, const std::string& payload, char version = 1) {
  std::string header = dict;
  header += '\n';
  std::string file = std::string("\x93NUMPY") + version + '\0';
  const auto length = static_cast<std::uint32_t>(header.size());
  for (int k = 0; k < (version == 1 ? 2 : 4); ++k)
    file += static_cast<char>(length >> (8 * k) & 0xff);
  return file + header + payload;
}

std::string Dict(const std::string& type, const std::string& shape,
                 const std::string& fortran = "False") {
  return "{'descr': '" + type + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

template <class T>
std::string Bytes(std::initializer_list<T> values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

template <class T>
struct NpyArray {
  NpyShape shape;
  std::vector<T> values;
};

template <class T>
NpyArray<T> ReadNpyAs(const std::filesystem::path& path) {
  NpyReader reader(path);
  NpyArray<T> array{reader.shape(), std::vector<T>(reader.count())};
  reader.ReadTo(std::span(array.values));
  return array;
}

TEST(Npy, ReadsEveryTypeAndVersion) {
  const TempDir dir;
  const auto read = [&](const std::string& contents) {
    return ReadNpyAs<double>(dir.WriteText("a.npy", contents)).values;
  };
  for (const char version : {'\1', '\2', '\3'}) {
    EXPECT_THAT(read(Npy(Dict("<f8", "(3,)"), Bytes<double>({1.5, -2, 1e300}), version)),
                ElementsAre(1.5, -2, 1e300));
  }
  EXPECT_THAT(read(Npy(Dict("<f4", "(2,)"), Bytes<float>({0.25f, -3.0f}))), ElementsAre(0.25, -3));
  EXPECT_THAT(read(Npy(Dict("<i8", "(2,)"), Bytes<std::int64_t>({-5, 1LL << 40}))),
              ElementsAre(-5, std::ldexp(1, 40)));
  EXPECT_THAT(read(Npy(Dict("<u8", "(1,)"), Bytes<std::uint64_t>({1ULL << 63}))),
              ElementsAre(std::ldexp(1, 63)));
  EXPECT_THAT(read(Npy(Dict("<i4", "(2,)"), Bytes<std::int32_t>({-7, 8}))), ElementsAre(-7, 8));
  EXPECT_THAT(read(Npy(Dict("<u4", "(1,)"), Bytes<std::uint32_t>({4000000000u}))),
              ElementsAre(4e9));
  EXPECT_THAT(read(Npy(Dict("<i2", "(1,)"), Bytes<std::int16_t>({-300}))), ElementsAre(-300));
  EXPECT_THAT(read(Npy(Dict("<u2", "(1,)"), Bytes<std::uint16_t>({65535}))), ElementsAre(65535));
  EXPECT_THAT(read(Npy(Dict("|i1", "(1,)"), Bytes<std::int8_t>({-128}))), ElementsAre(-128));
  EXPECT_THAT(read(Npy(Dict("|u1", "(2,)"), Bytes<std::uint8_t>({0, 255}))), ElementsAre(0, 255));
  EXPECT_THAT(read(Npy(Dict("|b1", "(2,)"), Bytes<std::uint8_t>({0, 1}))), ElementsAre(0, 1));
}

TEST(Npy, ReadsFloatsInChunksAndRefusesWhatTheyCannotHold) {
  const TempDir dir;
  const auto read = [&](const std::string& contents) {
    NpyReader reader(dir.WriteText("a.npy", contents));
    std::vector<float> values(reader.count());
    reader.ReadTo(std::span(values));
    return values;
  };
  const float largest = std::numeric_limits<float>::max();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(read(Npy(Dict("<f4", "(2,)"), Bytes<float>({0.1F, infinity}))),
              ElementsAre(0.1F, infinity));
  EXPECT_THAT(read(Npy(Dict("<i8", "(1,)"), Bytes<std::int64_t>({-(1LL << 40)}))),
              ElementsAre(-std::ldexp(1.0F, 40)));
  // Up to half a unit of the last place beyond the largest float, numbers round to it.
  const double edge = 0x1.ffffffp127;
  const double below = std::nextafter(edge, 0.0);
  EXPECT_THAT(read(Npy(Dict("<f8", "(4,)"), Bytes<double>({0.1, -below, INFINITY, 1e-300}))),
              ElementsAre(0.1F, -largest, infinity, 0.0F));
  for (const double bad : {edge, -edge, 1e300}) {
    EXPECT_THAT(MessageOf<FileError>([&] {
                  read(Npy(Dict("<f8", "(2,)"), Bytes<double>({0.0, bad})));
                }),
                AllOf(HasSubstr("a.npy"), HasSubstr("at index 1"), HasSubstr("float32")));
  }
  std::vector<double> many(40000);  // several chunks
  for (std::size_t k = 0; k < many.size(); ++k) many[k] = static_cast<double>(k);
  WriteNpy(dir / "many.npy", std::span<const double>(many), NpyShape{200, 200});
  NpyReader reader(dir / "many.npy");
  std::vector<float> values(many.size());
  reader.ReadTo(std::span(values));
  for (std::size_t k = 0; k < many.size(); ++k) ASSERT_EQ(values[k], static_cast<float>(k));
  std::vector<float> few(3);
  EXPECT_THROW(NpyReader(dir / "many.npy").ReadTo(std::span(few)), InvalidInput);
}

TEST(Npy, ReadsShapes) {
  const TempDir dir;
  const auto shape = [&](const std::string& text, std::size_t count) {
    return ReadNpyAs<double>(
               dir.WriteText("a.npy", Npy(Dict("|u1", text), std::string(count, '\0'))))
        .shape;
  };
  EXPECT_THAT(shape("()", 1), ElementsAre());
  EXPECT_THAT(shape("(2, 3, 4)", 24), ElementsAre(2, 3, 4));
  EXPECT_THAT(shape("(2L, 3L)", 6), ElementsAre(2, 3));
  EXPECT_THAT(shape("(0, 9223372036854775807, 9223372036854775807)", 0),
              ElementsAre(0, std::numeric_limits<std::int64_t>::max(),
                          std::numeric_limits<std::int64_t>::max()));
}

TEST(Npy, IntegersAreReadExactlyAndOnlyFromIntegers) {
  const TempDir dir;
  const std::int64_t large = (1LL << 60) + 1;  // no double
  dir.WriteText("i.npy", Npy(Dict("<i8", "(1,)"), Bytes<std::int64_t>({large})));
  EXPECT_THAT(ReadNpyAs<std::int64_t>(dir / "i.npy").values, ElementsAre(large));
  dir.WriteText("f.npy", Npy(Dict("<f8", "(1,)"), Bytes<double>({1.0})));
  EXPECT_THAT(MessageOf<FileError>([&] { ReadNpyAs<std::int64_t>(dir / "f.npy"); }),
              AllOf(HasSubstr("f.npy"), HasSubstr("float64"), HasSubstr("integers were expected")));
  dir.WriteText("u.npy", Npy(Dict("<u8", "(1,)"), Bytes<std::uint64_t>({1ULL << 63})));
  EXPECT_THAT(MessageOf<FileError>([&] { ReadNpyAs<std::int64_t>(dir / "u.npy"); }),
              HasSubstr("beyond the range"));
}

TEST(Npy, RefusesWhatItCannotRead) {
  const TempDir dir;
  const std::string one = Bytes<double>({1.0});
  const auto message = [&](const std::string& contents) {
    const auto path = dir.WriteText("bad.npy", contents);
    const std::string text = MessageOf<FileError>([&] { ReadNpyAs<double>(path); });
    EXPECT_THAT(text, HasSubstr("bad.npy"));
    return text;
  };
  EXPECT_THAT(message(Npy(Dict("<f8", "(1, 1)", "True"), one)), HasSubstr("Fortran order"));
  EXPECT_THAT(message(Npy(Dict(">f8", "(1,)"), one)), HasSubstr("big-endian"));
  EXPECT_THAT(message(Npy(Dict("|O", "(1,)"), one)), HasSubstr("Python objects"));
  EXPECT_THAT(message(Npy(Dict("<f2", "(4,)"), one)), HasSubstr("<f2"));
  EXPECT_THAT(message(Npy(Dict("<c16", "(1,)"), one + one)), HasSubstr("<c16"));
  EXPECT_THAT(message(Npy(Dict("<U2", "(1,)"), one)), HasSubstr("<U2"));
  EXPECT_THAT(message(Npy(Dict("", "(1,)"), one)), HasSubstr("type"));
  EXPECT_THAT(
      message(Npy("{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (1,), }", one)),
      HasSubstr("records"));
  EXPECT_THAT(message(Npy(Dict("<f8", "(1,)"), one, 4)), HasSubstr("version 4"));
  EXPECT_THAT(message(Npy(Dict("<f8", "(2,)"), one)),
              AllOf(HasSubstr("truncated"), HasSubstr("16 bytes"), HasSubstr("8 bytes follow")));
  EXPECT_THAT(message(Npy(Dict("<f8", "(1,)"), one + "x")), HasSubstr("too long"));
  EXPECT_THAT(message(Npy(Dict("<f8", "(1000000, 1000000)"), one)),
              AllOf(HasSubstr("truncated"), HasSubstr("8.0 TB"), HasSubstr("8 bytes follow")));
  EXPECT_THAT(message(Npy(Dict("<f8", "(9223372036854775807, 16)"), one)), HasSubstr("truncated"));
  EXPECT_THAT(message(""), HasSubstr("too short"));
  EXPECT_THAT(message("PNG and more bytes"), HasSubstr("does not begin with"));
  EXPECT_THAT(message("\x93NUMPY\x02" + Bytes<std::uint8_t>({0, 255, 255, 255, 255})),
              HasSubstr("truncated"));
}

TEST(Npy, RefusesMalformedHeaders) {
  const TempDir dir;
  for (const std::string dict :
       {"", "{", "{}", "nonsense", "{'descr': '<f8'}",
        "{'descr': '<f8', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} more",
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'x': 1}", "{'descr': '<f8"}) {
    const auto path = dir.WriteText("bad.npy", Npy(dict, Bytes<double>({1.0})));
    EXPECT_THAT(MessageOf<FileError>([&] { ReadNpyAs<double>(path); }),
                HasSubstr("malformed .npy header"))
        << dict;
  }
}

TEST(Npy, EveryTruncationIsRefused) {
  const TempDir dir;
  const std::string whole = Npy(Dict("<f8", "(1,)"), Bytes<double>({1.0}));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto path = dir.WriteText("cut.npy", whole.substr(0, size));
    EXPECT_THROW(ReadNpyAs<double>(path), FileError) << size;
  }
}

TEST(Npy, RoundTripsThroughEveryWriter) {
  const TempDir dir;
  std::mt19937_64 random(1);
  Matrix<double> planes(6, 4);
  for (std::size_t k = 0; k < planes.size(); ++k)
    planes.data()[k] = std::normal_distribution<>()(random);
  planes(2, 1) = std::numeric_limits<double>::quiet_NaN();
  WriteNpy(dir / "m.npy", planes, {2, 3, 4});
  const auto back = ReadNpyAs<double>(dir / "m.npy");
  EXPECT_THAT(back.shape, ElementsAre(2, 3, 4));
  EXPECT_EQ(std::memcmp(back.values.data(), planes.data(), planes.size() * sizeof(double)), 0);
  EXPECT_EQ(dir.Text("m.npy").size(), 128 + planes.size() * sizeof(double));
  WriteNpy(dir / "m.npy", planes);
  EXPECT_THAT(ReadNpyAs<double>(dir / "m.npy").shape, ElementsAre(6, 4));

  const std::int32_t labels[] = {3, -1, 7};
  WriteNpy(dir / "l.npy", std::span<const std::int32_t>(labels), NpyShape{3});
  EXPECT_THAT(ReadNpyAs<std::int64_t>(dir / "l.npy").values, ElementsAre(3, -1, 7));
  const float floats[] = {0.5f};
  WriteNpy(dir / "f.npy", std::span<const float>(floats), NpyShape{});
  EXPECT_THAT(ReadNpyAs<double>(dir / "f.npy").values, ElementsAre(0.5));
  const std::uint8_t bytes[] = {9, 200};
  WriteNpy(dir / "b.npy", std::span<const std::uint8_t>(bytes), NpyShape{1, 2});
  EXPECT_THAT(ReadNpyAs<std::int64_t>(dir / "b.npy").values, ElementsAre(9, 200));
  const std::int64_t wide[] = {1LL << 60};
  WriteNpy(dir / "w.npy", std::span<const std::int64_t>(wide), NpyShape{1});
  EXPECT_THAT(ReadNpyAs<std::int64_t>(dir / "w.npy").values, ElementsAre(1LL << 60));
  WriteNpy(dir / "e.npy", std::span<const double>(), NpyShape{0, 5});
  EXPECT_THAT(ReadNpyAs<double>(dir / "e.npy").shape, ElementsAre(0, 5));
}

TEST(Npy, WriterRefusesShapesThatDoNotFitAndBadDestinations) {
  const TempDir dir;
  const Matrix<double> planes(6, 4);
  EXPECT_THAT(MessageOf<InvalidInput>([&] {
                WriteNpy(dir / "x.npy", planes, {5, 5});
              }),
              HasSubstr("(5, 5)"));
  EXPECT_THROW(WriteNpy(dir / "x.npy", planes, {-6, -4}), InvalidInput);
  EXPECT_EQ(dir.NumFiles(), 0);
  EXPECT_THAT(MessageOf<FileError>([&] { WriteNpy(dir / "no/x.npy", planes); }),
              HasSubstr("no/x.npy"));
  EXPECT_THAT(MessageOf<FileError>([&] { WriteNpy("/dev/full", planes); }),
              HasSubstr("No space left"));
}

// Integers that double cannot represent, of either sign and at both ends of the range: up to a
// constant.
TEST(NpyTest, LargeIntegersKeepTheirDifferences) {
  const TempDir dir;
  const auto read = [&](const std::vector<std::int64_t>& values) {
    WriteNpy(dir / "i.npy", std::span<const std::int64_t>(values), NpyShape{2, 2});
    NpyReader reader(dir / "i.npy");
    std::vector<double> numbers(4);
    reader.ReadUpToConstants(2, numbers);
    return numbers;
  };
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(read({-3, 7, 5, 1}), (std::vector<double>{-3, 7, 5, 1}));
  const std::vector<double> far = read({kLeast, kLargest, kLeast + 3, kLargest - 5});
  EXPECT_EQ(far[2] - far[0], 3.0);
  EXPECT_EQ(far[3] - far[1], -5.0);
  const std::vector<double> wide = read({kLeast, 0, kLargest, 1});
  EXPECT_EQ(wide[2] - wide[0], 0x1p64);
  EXPECT_EQ(wide[3], 1.0);
  // The same bits as unsigned numbers: the former negative ones are now 2^64 larger.
  std::string bytes = dir.Text("i.npy");
  bytes[bytes.find("<i8") + 1] = 'u';
  dir.WriteText("u.npy", bytes);
  NpyReader reader(dir / "u.npy");
  std::vector<double> numbers(4);
  reader.ReadUpToConstants(2, numbers);
  EXPECT_EQ(numbers[0] - numbers[2], 1.0);
}

}  // namespace
}  // namespace submarine::internal
