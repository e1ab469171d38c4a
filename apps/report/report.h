// The page of a bundle: one self-contained HTML file made of what `solve`, `stereo`, `segment` or
// `synth` left in a directory. docs/formats.md says what is looked for there.
#pragma once

#include <filesystem>
#include <string>

namespace submarine::apps {

struct ReportOptions {
  // Marginals are thinned until the page is smaller than this. Pictures and values are never
  // thinned; pictures are left out of a page that would be three times as large. The page says so.
  double max_megabytes = 20.0;
};

// Throws FileError, naming the file, when summary.json or a file it names is missing, ill-formed or
// of another size than the rest.
std::string BuildReport(const std::filesystem::path& bundle, const ReportOptions& options = {});

// To bundle/report.html.
void WriteReport(const std::filesystem::path& bundle, const ReportOptions& options = {});

}  // namespace submarine::apps
