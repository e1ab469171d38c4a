// Results for the pixels of a picture, written as files of a bundle and described for its page
// (docs/formats.md, "Bundles and the report page").
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/report/report.h"
#include "apps/solve/bundle.h"
#include "submarine/solve/solve.h"

namespace submarine::apps {

// The role of a panel in the overlay, which shows labels over the picture and wipes from before to
// after. A main panel is shown first, and large.
enum class PanelRole { kPlain, kPicture, kBefore, kAfter, kMain };

class PicturePage {
 public:
  PicturePage(const Bundle* bundle, int width, int height, const std::string& title);

  // NAME.png: samples from 0 to 255, 1 or 3 channels innermost.
  void AddPicture(const std::string& name, const std::string& file, int channels,
                  std::span<const float> samples, PanelRole role = PanelRole::kPlain);
  // file.png, coloured from dark (low) to light (high). NaN is grey.
  void AddColoured(const std::string& name, const std::string& file, std::span<const float> values,
                   double low, double high, const std::string& unit,
                   PanelRole role = PanelRole::kPlain);
  // file.png with one colour per label, and a legend of those that occur; negative labels are
  // unknown. The file has a palette whose indices are the labels, 255 for unknown, unless there are
  // too many labels.
  void AddLabels(const std::string& name, const std::string& file, std::span<const int> labels,
                 const std::vector<std::string>& names,
                 const std::vector<std::array<std::uint8_t, 3>>& colours, PanelRole role);
  // file.npy, shown for the pixel under the cursor.
  void AddValues(const std::string& name, const std::string& file, std::span<const float> values,
                 const std::string& unit);
  // marginals.npy with all labels (top = 0), or the `top` most probable ones of every pixel as
  // marginals_top.npy and marginals_top_labels.npy.
  void AddMarginals(const MarginalRows& marginals, int top, const std::string& label,
                    const std::vector<std::string>& names);
  // The main result, in large digits at the top: the number, and the rest of the sentence.
  void AddLead(const std::string& number, const std::string& what);
  // One sentence about the results, below the lead.
  void SetVerdict(const std::string& sentence);
  void AddFact(const std::string& what, const std::string& value);
  // A setting that made a difference.
  void AddParameter(const std::string& what, const std::string& value);
  // Of a class, between 0 and 1; none before: only after.
  void AddChange(const std::string& name, const std::optional<double>& before, double after);
  void AddNote(const std::string& sentence);
  void AddPlot(nlohmann::ordered_json plot);

  const nlohmann::ordered_json& json() const { return page_; }

 private:
  void AddRole(PanelRole role);  // to the last panel
  std::size_t pixels() const;
  void CheckCount(std::size_t count) const;

  const Bundle& bundle_;
  int width_;
  int height_;
  nlohmann::ordered_json page_;
};

// Completes a bundle: adds the page, unless it is null, to the summary, writes summary.json and, if
// options for it are given, report.html, and moves everything into place.
void FinishBundle(nlohmann::ordered_json summary, const std::string& kind,
                  const nlohmann::ordered_json& page, Bundle* bundle,
                  const std::optional<ReportOptions>& report = ReportOptions());

}  // namespace submarine::apps
