// summary.json as the report page sees it: its text, which the page shows, and the files it names.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace submarine::apps {

struct PanelFile {
  std::string name;
  std::filesystem::path file;
  bool labels = false;  // its colours stand for labels, and have no mean
};

// A picture with labels of another bundle, for a page about several; both empty where there are none.
struct GalleryFile {
  std::filesystem::path picture;
  std::filesystem::path labels;
};

struct ValueFile {
  std::string name;
  std::string unit;
  std::filesystem::path file;
  bool optional = false;  // looked for, but not named
};

struct MarginalsFile {
  std::filesystem::path file;
  std::filesystem::path labels_file;  // empty: all labels in their order
  std::string label;                  // what the labels are
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

// Reads bundle/summary.json. Unknown keys are fine; a known one that is ill-typed throws FileError.
// Without the key "page" the usual outputs of `solve` are looked for.
ReportSummary ReadReportSummary(const std::filesystem::path& bundle);

// bundle/file. Throws FileError where links lead out of the bundle, since a page is often given to
// others and holds whole files. What does not exist is for its reader to say.
std::filesystem::path PathInBundle(const std::filesystem::path& bundle,
                                   const std::filesystem::path& file);

// Whether it is there at all; what cannot be looked at is not.
bool ExistsInBundle(const std::filesystem::path& bundle, const std::filesystem::path& file);

}  // namespace submarine::apps
