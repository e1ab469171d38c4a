#include "apps/report/writing_time.h"

namespace submarine::apps {
namespace {

// Pictures are compressed, on one thread; arrays are copied to the disk.
constexpr double kFilesPerVariable = 4e-7;
constexpr double kFilesPerValue = 8e-9;
// Marginals are read, sorted and compressed on all cores, of which there were two.
constexpr double kPagePerVariable = 1.5e-7;
constexpr double kPagePerValue = 3e-8;

constexpr double kLargestShareOfPage = 0.25;

double Seconds(std::size_t variables, std::size_t labels, double per_variable, double per_value) {
  return static_cast<double>(variables) * (per_variable + per_value * static_cast<double>(labels));
}

}  // namespace

WritingTime::WritingTime(std::size_t variables, std::size_t labels)
    : file_seconds_(Seconds(variables, labels, kFilesPerVariable, kFilesPerValue)),
      page_seconds_(Seconds(variables, labels, kPagePerVariable, kPagePerValue)) {}

double WritingTime::Reserve(bool page, double time_limit) const {
  return file_seconds_ +
         (page && page_seconds_ <= kLargestShareOfPage * time_limit ? page_seconds_ : 0.0);
}

std::optional<ReportOptions> WritingTime::PageInTime(const std::optional<ReportOptions>& wanted,
                                                     double seconds, double time_limit,
                                                     std::vector<std::string>* notes) const {
  if (!wanted || seconds + page_seconds_ <= time_limit) return wanted;
  notes->emplace_back(
      "The time limit left no time for report.html; `submarine report` makes it of this "
      "directory.");
  return std::nullopt;
}

}  // namespace submarine::apps
