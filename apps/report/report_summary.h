// summary.json for the report page: its text, which the page shows, and the files it names.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace submarine::apps {

struct PanelFile {
  std::string name;
  std::filesystem::path file;
  bool labels = false;  // its colours are labels, which have no mean
};

// A picture with labels from another bundle, for a page about several; both empty if there are
// none.
struct GalleryFile {
  std::filesystem::path picture;
  std::filesystem::path labels;
};

struct ValueFile {
  std::string name;
  std::string unit;
  std::filesystem::path file;
  bool optional = false;  // used if it exists, but not named in the summary
};

struct MarginalsFile {
  std::filesystem::path file;
  std::filesystem::path labels_file;  // empty: all labels in order
  std::string label;                  // what a label is called
  std::vector<std::string> names;     // empty: 0, 1, 2, ...
  bool optional = false;
};

struct ReportSummary {
  std::string text;  // valid JSON, an object
  std::vector<PanelFile> panels;
  std::vector<PanelFile> figures;  // pictures of any size
  std::vector<GalleryFile> gallery;
  std::vector<ValueFile> values;
  std::optional<MarginalsFile> marginals;
};

// Reads bundle/summary.json. Unknown keys are allowed; a known one of the wrong type throws
// FileError. Without the key "page", the usual outputs of `solve` are used if they exist.
ReportSummary ReadReportSummary(const std::filesystem::path& bundle);

// Whether the file exists; false if that cannot be determined.
bool ExistsInBundle(const std::filesystem::path& bundle, const std::filesystem::path& file);

}  // namespace submarine::apps
