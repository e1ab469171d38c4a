#include "apps/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>

#include "apps/messages.h"

namespace submarine::apps {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void OnSignal(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

// A line that wraps cannot be taken back. Without a known width, nothing is cut off.
std::string FitToTerminal(const std::string& text) {
  struct winsize size {};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return text;
  return text.substr(0, size.ws_col - 1);
}

}  // namespace

ProgressLine::ProgressLine(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressLine::Show(const std::string& text) {
  if (quiet_ || clock_.Seconds() < next_seconds_) return;
  if (terminal_) {
    PrintRaw("\r\033[K" + FitToTerminal(Escaped(text)));
    shown_ = true;
    next_seconds_ = clock_.Seconds() + 0.1;
  } else {
    // Short runs leave no trace in a log.
    if (next_seconds_ > 0.0) PrintRaw(Escaped(text) + "\n");
    next_seconds_ = clock_.Seconds() + 10.0;
  }
}

void ProgressLine::Clear() {
  if (!shown_) return;
  PrintRaw("\r\033[K");
  shown_ = false;
}

void CatchInterrupts() {
  std::signal(SIGINT, OnSignal);
  std::signal(SIGTERM, OnSignal);
  // Under nohup a hangup is ignored, and stays so.
  struct sigaction hangup {};
  if (::sigaction(SIGHUP, nullptr, &hangup) != 0 || hangup.sa_handler != SIG_IGN)
    std::signal(SIGHUP, OnSignal);
}

bool Interrupted() { return interrupted != 0; }

std::string DurationText(double seconds) {
  if (seconds < 60.0) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long long>(seconds);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

}  // namespace submarine::apps
