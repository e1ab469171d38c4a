#include "submarine/io/file/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "submarine/base/error.h"
#include "submarine/io/file/io_test_util.h"

namespace submarine::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ReadWholeFile, ReturnsEveryByte) {
  const TempDir dir;
  std::string bytes;
  for (unsigned k = 0; k < 300000; ++k) bytes += static_cast<char>(k * 7919);
  EXPECT_EQ(ReadWholeFile(dir.WriteText("a", bytes)), bytes);
  EXPECT_EQ(ReadWholeFile(dir.WriteText("b", "")), "");
}

TEST(ReadWholeFile, ReadsFilesThatReportNoSize) {
  EXPECT_THAT(ReadWholeFile("/proc/self/status"), HasSubstr("Pid:"));
}

TEST(ReadWholeFile, NamesWhatIsWrong) {
  const TempDir dir;
  dir.WriteText("f", "12345");
  EXPECT_THAT(MessageOf<FileError>([&] { ReadWholeFile(dir / "none"); }),
              AllOf(HasSubstr("none"), HasSubstr("No such file or directory")));
  EXPECT_THAT(MessageOf<FileError>([&] { ReadWholeFile(dir.path()); }),
              HasSubstr("Is a directory"));
  EXPECT_THAT(MessageOf<FileError>([&] { ReadWholeFile(dir / "f/g"); }),
              HasSubstr("Not a directory"));
  EXPECT_THAT(MessageOf<FileError>([&] { ReadWholeFile(""); }), HasSubstr("No such file"));
  EXPECT_THAT(MessageOf<FileError>([&] { ReadWholeFile(dir / "f", 4); }),
              HasSubstr("more than the 4 bytes"));
  EXPECT_EQ(ReadWholeFile(dir / "f", 5), "12345");
  // An endless source stops at the limit.
  EXPECT_THAT(MessageOf<FileError>([&] { ReadWholeFile("/dev/zero", 1 << 20); }),
              HasSubstr("more than"));
}

// A pipe or device does not say how much will come.
TEST(ReadWholeFile, EndlessSourcesStopBeforeTheLimitOfFiles) {
  EXPECT_THAT(MessageOf<FileError>([&] { ReadWholeFile("/dev/zero"); }),
              AllOf(HasSubstr("/dev/zero"), HasSubstr("more than the 268435456 bytes")));
}

TEST(ReadTextFile, LooksAtTheBeginningFirst) {
  const TempDir dir;
  EXPECT_EQ(ReadTextFile(dir.WriteText("a", "MARKOV\n\xe9")), "MARKOV\n\xe9");
  EXPECT_THAT(MessageOf<FileError>([&] { ReadTextFile("/dev/zero"); }),
              AllOf(HasSubstr("/dev/zero"), HasSubstr("is not a text file")));
  const auto file = dir.WriteText("b", std::string("MARKOV\0 2", 9));
  EXPECT_THAT(MessageOf<FileError>([&] { ReadTextFile(file); }), HasSubstr("NUL at byte 7"));
}

TEST(InputFile, KnowsItsSizeAndReportsTruncation) {
  const TempDir dir;
  InputFile file(dir.WriteText("f", "12345"));
  EXPECT_EQ(file.size(), 5u);
  char bytes[8] = {};
  file.Read(bytes, 3);
  EXPECT_EQ(std::string(bytes), "123");
  EXPECT_EQ(file.bytes_left(), 2u);
  EXPECT_THAT(MessageOf<FileError>([&] { file.Read(bytes, 4); }), HasSubstr("truncated"));
}

TEST(InputFile, RefusesWhatHasNoSize) {
  EXPECT_THAT(MessageOf<FileError>([] { InputFile file("/dev/zero"); }),
              HasSubstr("not a regular file"));
  EXPECT_THAT(MessageOf<FileError>([] { InputFile file("/"); }), HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace submarine::internal
