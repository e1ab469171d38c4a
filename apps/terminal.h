// What the command shows while it works: a progress line on a terminal, rare lines in a log
// otherwise.
#pragma once

#include <string>

#include "submarine/base/stopwatch.h"

namespace submarine::apps {

class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Shows the text: in place on a terminal, at most 10 times a second; otherwise a line every 10
  // seconds.
  void Show(const std::string& text);
  void Clear();

 private:
  bool quiet_;
  bool terminal_;
  bool shown_ = false;
  double next_seconds_ = 0.0;
  Stopwatch clock_;
};

// From the first call on, Ctrl-C (and SIGTERM, and SIGHUP) only sets a flag; a second one ends the
// program at once.
void CatchInterrupts();
bool Interrupted();

// "3.2 s", "4 min 10 s", "2 h 5 min".
std::string DurationText(double seconds);

}  // namespace submarine::apps
