#include "submarine/io/file/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <string>

#include "submarine/base/error.h"
#include "submarine/io/file/io_test_util.h"

namespace submarine::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(AtomicFile, WritesWhatWasGivenInPieces) {
  const TempDir dir;
  std::string expected;
  {
    AtomicFile file(dir / "out.txt");
    for (int k = 0; k < 100; ++k) {
      const std::string piece(static_cast<std::size_t>(k) * 997, static_cast<char>('a' + k % 26));
      file.Write(piece);
      expected += piece;
    }
    const std::string large(1 << 20, '!');  // longer than the buffer
    file.Write(large);
    expected += large;
    EXPECT_FALSE(std::filesystem::exists(dir / "out.txt"));
    file.Commit();
  }
  EXPECT_EQ(dir.Text("out.txt"), expected);
  EXPECT_EQ(dir.NumFiles(), 1);
}

TEST(AtomicFile, WithoutCommitTheDestinationIsUntouched) {
  const TempDir dir;
  dir.WriteText("out.txt", "old");
  try {
    AtomicFile file(dir / "out.txt");
    file.Write(std::string(1 << 20, 'x'));
    throw std::runtime_error("interrupted");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(dir.Text("out.txt"), "old");
  EXPECT_EQ(dir.NumFiles(), 1);
}

TEST(AtomicFile, KilledProcessesLeaveNothing) {
  const TempDir dir;
  dir.WriteText("old.txt", "old");
  for (const char* name : {"old.txt", "new.txt"}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      AtomicFile file(dir / name);
      file.Write(std::string(1 << 20, 'x'));
      ::raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  EXPECT_EQ(dir.Text("old.txt"), "old");
  EXPECT_EQ(dir.NumFiles(), 1);
}

TEST(AtomicFile, ReplacesAndKeepsPermissions) {
  const TempDir dir;
  dir.WriteText("out.txt", "old and longer");
  ASSERT_EQ(::chmod((dir / "out.txt").c_str(), 0640), 0);
  WriteFileAtomically(dir / "out.txt", "new");
  EXPECT_EQ(dir.Text("out.txt"), "new");
  struct stat status {};
  ASSERT_EQ(::stat((dir / "out.txt").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST(AtomicFile, FollowsSymbolicLinks) {
  const TempDir dir;
  dir.WriteText("real.txt", "old");
  std::filesystem::create_symlink(dir / "real.txt", dir / "link.txt");
  WriteFileAtomically(dir / "link.txt", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link.txt"));
  EXPECT_EQ(dir.Text("real.txt"), "new");
}

TEST(AtomicFile, FollowsLinksToWhatIsNotThereYet) {
  const TempDir dir;
  std::filesystem::create_symlink("later.txt", dir / "link.txt");
  std::filesystem::create_symlink("link.txt", dir / "chain.txt");
  WriteFileAtomically(dir / "chain.txt", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "chain.txt"));
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link.txt"));
  EXPECT_EQ(dir.Text("later.txt"), "new");
  std::filesystem::create_symlink("missing/later.txt", dir / "nowhere.txt");
  EXPECT_THAT(MessageOf<FileError>([&] { WriteFileAtomically(dir / "nowhere.txt", "x"); }),
              AllOf(HasSubstr("nowhere.txt"), HasSubstr("No such file or directory")));
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "nowhere.txt"));
}

TEST(AtomicFile, NamesMayBeAsLongAsTheFileSystemAllows) {
  const TempDir dir;
  const std::string longest(255, 'n');
  WriteFileAtomically(dir / longest, "new");
  EXPECT_EQ(dir.Text(longest), "new");
  EXPECT_EQ(dir.NumFiles(), 1);
  EXPECT_THAT(MessageOf<FileError>([&] { WriteFileAtomically(dir / (longest + "n"), "x"); }),
              HasSubstr("File name too long"));
  EXPECT_EQ(dir.NumFiles(), 1);
}

TEST(AtomicFile, RelativeNameWithoutDirectory) {
  const TempDir dir;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  WriteFileAtomically("plain.txt", "here");
  std::filesystem::current_path(before);
  EXPECT_EQ(dir.Text("plain.txt"), "here");
}

TEST(AtomicFile, UnwritableDestinationsAreNamed) {
  const TempDir dir;
  dir.WriteText("file.txt", "kept");
  const auto message = [](const std::filesystem::path& path) {
    return MessageOf<FileError>([&] { WriteFileAtomically(path, "x"); });
  };
  EXPECT_THAT(message(dir / "file.txt/x.npy"),
              AllOf(HasSubstr("file.txt/x.npy"), HasSubstr("Not a directory")));
  EXPECT_THAT(message(dir / "missing/x.npy"),
              AllOf(HasSubstr("missing/x.npy"), HasSubstr("No such file or directory")));
  EXPECT_THAT(message(dir.path()), HasSubstr("Is a directory"));
  EXPECT_THAT(message(dir.path() / ""), HasSubstr("Is a directory"));
  EXPECT_THAT(message(""), HasSubstr("No such file"));
  EXPECT_THAT(message("/proc/nothing"), HasSubstr("cannot write \"/proc/nothing\""));
  EXPECT_EQ(dir.Text("file.txt"), "kept");
  EXPECT_EQ(dir.NumFiles(), 1);
}

TEST(AtomicFile, FullDiskIsReportedForSmallAndLargeWrites) {
  for (const std::size_t size : {std::size_t{10}, std::size_t{1} << 20}) {
    EXPECT_THAT(
        MessageOf<FileError>([&] { WriteFileAtomically("/dev/full", std::string(size, 'x')); }),
        AllOf(HasSubstr("/dev/full"), HasSubstr("No space left on device")));
  }
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));  // not replaced by a file
}

}  // namespace
}  // namespace submarine::internal
