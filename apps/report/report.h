// The page of a bundle: one self-contained HTML file made from what `solve`, `stereo`, `segment` or
// `fit` wrote to a directory. docs/formats.md lists the files it looks for.
#pragma once

#include <filesystem>
#include <string>

namespace submarine::apps {

struct ReportOptions {
  // The page is kept below this size: pictures, values and marginals of large pictures are shown at
  // a lower resolution, and of marginals only the most probable labels. The page says so.
  double max_megabytes = 20.0;
};

// Throws FileError, naming the file, when summary.json or a file it names is missing, ill-formed or
// of another size than the rest.
std::string BuildReport(const std::filesystem::path& bundle, const ReportOptions& options = {});

// To bundle/report.html.
void WriteReport(const std::filesystem::path& bundle, const ReportOptions& options = {});

}  // namespace submarine::apps
