#include "apps/report/picture_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <variant>

#include "apps/report/report.h"
#include "apps/solve/solve_output.h"
#include "submarine/base/error.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/file/npy.h"
#include "submarine/io/image/colour_map.h"
#include "submarine/io/image/png.h"

namespace submarine::apps {
namespace {

using internal::NpyShape;
using internal::WriteFileAtomically;
using internal::WriteNpy;

using Json = nlohmann::ordered_json;

// The `top` most probable labels of a row, in descending order.
template <class T>
std::vector<std::int32_t> MostProbable(std::span<const T> row, std::size_t top) {
  std::vector<std::int32_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(top), order.end(),
                    [&](std::int32_t i, std::int32_t j) {
                      const T p = row[static_cast<std::size_t>(i)];
                      const T q = row[static_cast<std::size_t>(j)];
                      return p != q ? p > q : i < j;
                    });
  order.resize(top);
  return order;
}

// The colour of unlabelled pixels, as in the annotations of Pascal VOC.
constexpr std::array<std::uint8_t, 3> kUnknownColour = {224, 224, 192};
constexpr std::size_t kUnknownIndex = 255;

void WriteLabels(const std::filesystem::path& path, int width, int height,
                 std::span<const int> labels,
                 const std::vector<std::array<std::uint8_t, 3>>& colours) {
  const bool all_known = std::all_of(labels.begin(), labels.end(), [](int l) { return l >= 0; });
  std::vector<std::uint8_t> bytes;
  if (colours.size() <= (all_known ? kUnknownIndex + 1 : kUnknownIndex)) {
    std::vector<std::array<std::uint8_t, 3>> palette = colours;
    if (!all_known) {
      palette.resize(kUnknownIndex);
      palette.push_back(kUnknownColour);
    }
    bytes.resize(labels.size());
    std::transform(labels.begin(), labels.end(), bytes.begin(), [](int label) {
      return static_cast<std::uint8_t>(label < 0 ? static_cast<int>(kUnknownIndex) : label);
    });
    WriteIndexedPng(path, width, height, bytes, palette);
    return;
  }
  bytes.reserve(3 * labels.size());
  for (const int label : labels) {
    for (const std::uint8_t sample :
         label < 0 ? kUnknownColour : colours[static_cast<std::size_t>(label)])
      bytes.push_back(sample);
  }
  WritePng(path, width, height, 3, bytes);
}

}  // namespace

PicturePage::PicturePage(const Bundle* bundle, int width, int height, const std::string& title)
    : bundle_(*bundle), width_(width), height_(height) {
  page_["title"] = title;
  for (const char* part :
       {"lead", "panels", "values", "facts", "parameters", "changes", "plots", "notes"})
    page_[part] = Json::array();
}

std::size_t PicturePage::pixels() const {
  return static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_);
}

void PicturePage::CheckCount(std::size_t count) const {
  if (count != pixels()) {
    throw InvalidInput(
        fmt::format("{} values for a picture of {} x {} pixels", count, width_, height_));
  }
}

void PicturePage::AddPicture(const std::string& name, const std::string& file, int channels,
                             std::span<const float> samples, PanelRole role) {
  CheckCount(samples.size() / static_cast<std::size_t>(channels));
  std::vector<std::uint8_t> bytes(samples.size());
  std::transform(samples.begin(), samples.end(), bytes.begin(), [](float v) {
    return static_cast<std::uint8_t>(std::clamp(std::lround(v), 0L, 255L));
  });
  WritePng(bundle_.File(file + ".png"), width_, height_, channels, bytes);
  page_["panels"].push_back({{"name", name}, {"file", file + ".png"}});
  AddRole(role);
}

void PicturePage::AddRole(PanelRole role) {
  if (role == PanelRole::kPlain) return;
  page_["panels"].back()["role"] = role == PanelRole::kPicture  ? "picture"
                                   : role == PanelRole::kBefore ? "before"
                                   : role == PanelRole::kAfter  ? "after"
                                                                : "main";
}

void PicturePage::AddColoured(const std::string& name, const std::string& file,
                              std::span<const float> values, double low, double high,
                              const std::string& unit, PanelRole role) {
  CheckCount(values.size());
  std::vector<std::uint8_t> bytes;
  bytes.reserve(3 * values.size());
  const double range = high > low ? high - low : 1.0;
  for (const float value : values) {
    for (const std::uint8_t sample : ColourMap((value - low) / range)) bytes.push_back(sample);
  }
  WritePng(bundle_.File(file + ".png"), width_, height_, 3, bytes);
  page_["panels"].push_back({{"name", name},
                             {"file", file + ".png"},
                             {"scale", {{"low", low}, {"high", high}, {"unit", unit}}}});
  AddRole(role);
}

void PicturePage::AddLabels(const std::string& name, const std::string& file,
                            std::span<const int> labels, const std::vector<std::string>& names,
                            const std::vector<std::array<std::uint8_t, 3>>& colours,
                            PanelRole role) {
  CheckCount(labels.size());
  WriteLabels(bundle_.File(file + ".png"), width_, height_, labels, colours);
  std::vector<std::size_t> pixels(names.size(), 0);
  std::size_t unknown = 0;
  for (const int label : labels) ++(label < 0 ? unknown : pixels[static_cast<std::size_t>(label)]);
  Json legend = Json::array();
  const auto add = [&](const std::string& of, const std::array<std::uint8_t, 3>& colour,
                       std::size_t count) {
    if (count == 0) return;
    const auto& [r, g, b] = colour;
    legend.push_back({{"name", of},
                      {"colour", fmt::format("#{:02x}{:02x}{:02x}", r, g, b)},
                      {"share", static_cast<double>(count) / static_cast<double>(labels.size())}});
  };
  for (std::size_t i = 0; i < names.size(); ++i) add(names[i], colours[i], pixels[i]);
  add("unknown", kUnknownColour, unknown);
  page_["panels"].push_back({{"name", name}, {"file", file + ".png"}, {"legend", legend}});
  AddRole(role);
}

void PicturePage::AddValues(const std::string& name, const std::string& file,
                            std::span<const float> values, const std::string& unit) {
  CheckCount(values.size());
  WriteNpy<float>(bundle_.File(file + ".npy"), values, NpyShape{height_, width_});
  page_["values"].push_back({{"name", name}, {"file", file + ".npy"}, {"unit", unit}});
}

void PicturePage::AddMarginals(const MarginalRows& marginals, int top, const std::string& label,
                               const std::vector<std::string>& names) {
  std::visit(
      [&](const auto& rows) {
        if constexpr (requires { rows.cols(); }) {
          CheckCount(rows.rows());
          Json json = {{"label", label}, {"names", names}};
          const auto kept = std::min(rows.cols(), static_cast<std::size_t>(top));
          if (kept == 0) {
            json["file"] = "marginals.npy";
            WriteNpy(bundle_.File("marginals.npy"), std::span(rows.data(), rows.size()),
                     NpyShape{height_, width_, static_cast<std::int64_t>(rows.cols())});
          } else {
            std::vector<float> values;
            std::vector<std::int32_t> labels;
            for (std::size_t a = 0; a < rows.rows(); ++a) {
              const auto row = rows.row(a);
              for (const std::int32_t i : MostProbable(row, kept)) {
                labels.push_back(i);
                values.push_back(static_cast<float>(row[static_cast<std::size_t>(i)]));
              }
            }
            const NpyShape shape{height_, width_, static_cast<std::int64_t>(kept)};
            WriteNpy<float>(bundle_.File("marginals_top.npy"), values, shape);
            WriteNpy<std::int32_t>(bundle_.File("marginals_top_labels.npy"), labels, shape);
            json["file"] = "marginals_top.npy";
            json["labels_file"] = "marginals_top_labels.npy";
          }
          page_["marginals"] = json;
        }
      },
      marginals);
}

void PicturePage::AddLead(const std::string& number, const std::string& what) {
  page_["lead"].push_back({number, what});
}

void PicturePage::SetVerdict(const std::string& sentence) { page_["verdict"] = sentence; }

void PicturePage::AddFact(const std::string& what, const std::string& value) {
  page_["facts"].push_back({what, value});
}

void PicturePage::AddParameter(const std::string& what, const std::string& value) {
  page_["parameters"].push_back({what, value});
}

void PicturePage::AddChange(const std::string& name, const std::optional<double>& before,
                            double after) {
  page_["changes"].push_back(
      {{"name", name}, {"before", before ? Json(*before) : Json(nullptr)}, {"after", after}});
}

void PicturePage::AddNote(const std::string& sentence) { page_["notes"].push_back(sentence); }

void PicturePage::AddPlot(Json plot) { page_["plots"].push_back(std::move(plot)); }

void FinishBundle(Json summary, const std::string& kind, const Json& page, Bundle* bundle,
                  const std::optional<ReportOptions>& report) {
  summary["kind"] = kind;
  if (!page.is_null()) summary["page"] = page;
  WriteFileAtomically(bundle->File("summary.json"), JsonText(summary));
  if (report) WriteReport(bundle->staging(), *report);
  bundle->Commit();
}

}  // namespace submarine::apps
