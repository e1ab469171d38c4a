// What writing results takes, estimated from their size: a time limit covers it, too.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "apps/report/report.h"

namespace submarine::apps {

class WritingTime {
 public:
  WritingTime(std::size_t variables, std::size_t labels);

  double file_seconds() const { return file_seconds_; }  // pictures and arrays
  double page_seconds() const { return page_seconds_; }  // the page that shows them

  // What a solve leaves for writing: files always come, the page only where it takes a small part of
  // the limit or time happens to be left.
  double Reserve(bool page, double time_limit) const;

  // The page that was wanted, if there is time for it `seconds` after the start of the call.
  // Otherwise none, and a note that says so.
  std::optional<ReportOptions> PageInTime(const std::optional<ReportOptions>& wanted,
                                          double seconds, double time_limit,
                                          std::vector<std::string>* notes) const;

 private:
  double file_seconds_;
  double page_seconds_;
};

}  // namespace submarine::apps
