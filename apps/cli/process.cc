#include "apps/cli/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace submarine::apps {
namespace {

// Opens the first of these files that exists.
bool OpenAs(int descriptor, int mode, std::initializer_list<const char*> files) {
  for (const char* file : files) {
    const int opened = ::open(file, mode);  // the lowest free one, as those below it are open
    if (opened == descriptor) return true;
    if (opened >= 0) ::close(opened);
  }
  return false;
}

bool IsOpen(int descriptor) { return ::fcntl(descriptor, F_GETFD) != -1; }

}  // namespace

void PrepareProcess() {
  // Output that nobody can receive must fail, as it does when standard output is closed: writing to
  // a descriptor that is open for reading fails, and so does opening /dev/stdout again, which is
  // then /dev/full.
  const bool open =
      (IsOpen(STDIN_FILENO) || OpenAs(STDIN_FILENO, O_RDONLY, {"/dev/null"})) &&
      (IsOpen(STDOUT_FILENO) || OpenAs(STDOUT_FILENO, O_RDONLY, {"/dev/full", "/dev/null"})) &&
      (IsOpen(STDERR_FILENO) || OpenAs(STDERR_FILENO, O_WRONLY, {"/dev/null"}));
  if (!open) ::_exit(1);  // no streams and no /dev: an error cannot be reported
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
#ifdef __GLIBC__
  // Whenever a block with a mapping of its own is freed, glibc raises the size from which blocks have one, to 32 MB in the
  // end. Freed matrices then stay with the process: a quarter more memory than was estimated.
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
#endif
}

}  // namespace submarine::apps
