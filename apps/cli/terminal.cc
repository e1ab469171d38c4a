#include "apps/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "apps/cli/messages.h"

namespace submarine::apps {
namespace {

volatile std::sig_atomic_t interrupted = 0;

constexpr std::chrono::milliseconds kTick{100};
constexpr double kFirstLineSeconds = 1.5;
constexpr double kLineSeconds = 8.0;

void OnSignal(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

// A line that wraps cannot be erased. If the width is unknown, nothing is cut off.
std::string FitToTerminal(const std::string& text) {
  struct winsize size {};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return text;
  return text.substr(0, size.ws_col - 1);
}

}  // namespace

// Short runs should leave no line in a log.
ProgressLine::ProgressLine(bool quiet)
    : terminal_(isatty(STDERR_FILENO) == 1), next_seconds_(terminal_ ? 0.0 : kFirstLineSeconds) {
  if (!quiet) ticker_ = std::jthread([this](const std::stop_token& stop) { Tick(stop); });
}

ProgressLine::~ProgressLine() {
  ticker_ = {};
  Clear();
}

void ProgressLine::Show(const std::string& text) {
  if (!ticker_.joinable()) return;
  const std::lock_guard lock(mutex_);
  text_ = text;
}

void ProgressLine::Clear() {
  const std::lock_guard lock(mutex_);
  text_.clear();
  if (!shown_) return;
  PrintRaw("\r\033[K");
  shown_ = false;
}

void ProgressLine::Tick(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, kTick, [] { return false; });
    if (!text_.empty() && clock_.Seconds() >= next_seconds_) Draw();
  }
}

void ProgressLine::Draw() {
  const std::string line =
      fmt::format("{:>6} {}", fmt::format("{:.1f} s", clock_.Seconds()), Escaped(text_));
  if (terminal_) {
    PrintRaw("\r\033[K" + FitToTerminal(line));
    shown_ = true;
  } else {
    PrintRaw(line + "\n");
    next_seconds_ = clock_.Seconds() + kLineSeconds;
  }
}

void CatchInterrupts() {
  std::signal(SIGINT, OnSignal);
  std::signal(SIGTERM, OnSignal);
  // Under nohup, hangups are ignored; keep it that way.
  struct sigaction hangup {};
  if (::sigaction(SIGHUP, nullptr, &hangup) != 0 || hangup.sa_handler != SIG_IGN)
    std::signal(SIGHUP, OnSignal);
}

bool Interrupted() { return interrupted != 0; }

}  // namespace submarine::apps
