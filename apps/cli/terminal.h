// Shows progress: a line that is updated in place on a terminal, occasional lines in a log
// otherwise.
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "submarine/base/stopwatch.h"

namespace submarine::apps {

class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Shows the latest text with the time since the start: in place on a terminal, updated several
  // times a second; otherwise as a separate line after 1.5 s and then every 8. A thread does this,
  // so that phases that do not report also show that they are running.
  void Show(const std::string& text);
  void Clear();

 private:
  void Tick(const std::stop_token& stop);
  void Draw();

  const bool terminal_;
  internal::Stopwatch clock_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::string text_;
  bool shown_ = false;
  double next_seconds_;
  std::jthread ticker_;  // none if quiet
};

// From the first call on, Ctrl-C (and SIGTERM, and SIGHUP) only sets a flag; a second one ends the
// program at once.
void CatchInterrupts();
bool Interrupted();

}  // namespace submarine::apps
