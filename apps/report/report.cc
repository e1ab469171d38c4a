#include "apps/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/cli/file_checks.h"
#include "apps/report/page_encoding.h"
#include "apps/report/page_grid.h"
#include "apps/report/page_pictures.h"
#include "apps/report/report_marginals.h"
#include "apps/report/report_summary.h"
#include "apps/report/report_template.h"
#include "submarine/base/error.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/file/bundle_path.h"
#include "submarine/io/file/npy.h"
#include "submarine/io/image/colour_map.h"

namespace submarine::apps {
namespace {

using internal::NpyReader;
using internal::NpyShape;
using internal::PathInBundle;
using internal::ShapeText;
using internal::WriteFileAtomically;

using Json = nlohmann::ordered_json;

// For the elements around the data, and the ends of compressed blocks.
constexpr std::size_t kSpareBytes = 20'000;

// More pixels than a screen has make a page slow to open; of larger pictures only every second,
// third, ... pixel is shown.
constexpr double kMaxShownPixels = 2e6;
constexpr std::int64_t kMaxStep = 256;
// The fraction of the allowed size for pictures and values; the rest is for marginals.
constexpr double kShareOfPictures = 0.75;
constexpr std::int64_t kThumbnailSide = 360;

std::string PngUri(const PngFile& png) { return "data:image/png;base64," + Base64(png.bytes); }

// The colours of ColourMap, one after the other as rrggbb, for the bars beside the panels.
std::string ColourTable() {
  constexpr int kColours = 256;
  std::string table;
  for (int k = 0; k < kColours; ++k) {
    const std::array<std::uint8_t, 3> colour = ColourMap(k / (kColours - 1.0));
    table += fmt::format("{:02x}{:02x}{:02x}", colour[0], colour[1], colour[2]);
  }
  return table;
}

// All panels, values and marginals belong to one picture or volume; the first of them sets its
// size.
class PictureSize {
 public:
  void Check(const std::filesystem::path& file, std::int64_t width, std::int64_t height,
             std::int64_t depth = 1) {
    if (width < 1 || height < 1 || depth < 1) {
      throw FileError(fmt::format("\"{}\" is {} pixels, expected at least one pixel", file.string(),
                                  SizeText({width, height, depth})));
    }
    if (first_.empty()) {
      first_ = file;
      grid_ = {width, height, depth};
    } else if (width != grid_.width || height != grid_.height || depth != grid_.depth) {
      throw FileError(fmt::format("\"{}\" is {} pixels, expected {} as \"{}\" is", file.string(),
                                  SizeText({width, height, depth}), SizeText(grid_),
                                  first_.string()));
    }
  }
  // Compares all axes of an array but the `last` ones.
  void CheckArray(const std::filesystem::path& file, const NpyShape& shape, std::size_t last) {
    const std::size_t axes = shape.size() - last;
    Check(file, shape[axes - 1], shape[axes - 2], axes == 3 ? shape[0] : 1);
  }
  bool known() const { return !first_.empty(); }
  const PageGrid& grid() const { return grid_; }
  void set_step(std::int64_t step) { grid_.step = step; }

 private:
  static std::string SizeText(const PageGrid& size) {
    const std::string flat = fmt::format("{} x {}", size.width, size.height);
    return size.depth == 1 ? flat : fmt::format("{} x {}", flat, size.depth);
  }

  std::filesystem::path first_;
  PageGrid grid_;
};

// Whether an array with `last` axes per pixel belongs to a picture or a volume.
bool IsLaidOut(const NpyShape& shape, std::size_t last) {
  return shape.size() == 2 + last || shape.size() == 3 + last;
}

class ReportBuilder {
 public:
  ReportBuilder(std::filesystem::path bundle, const ReportOptions& options)
      : bundle_(std::move(bundle)),
        max_bytes_(static_cast<std::size_t>(1e6 * options.max_megabytes)),
        summary_(ReadReportSummary(bundle_)) {}

  std::string Build() {
    json_["folder"] = FolderName();
    json_["colours"] = ColourTable();
    MeasureSize();
    AddPictures();
    while (static_cast<double>(Size()) > kShareOfPictures * static_cast<double>(max_bytes_) &&
           size_.known() && size_.grid().step < kMaxStep) {
      size_.set_step(size_.grid().step + 1);
      AddPictures();
    }
    if (Size() > max_bytes_) DropPictures();
    if (size_.grid().step > 1) NoteStep();
    AddGallery();
    AddMarginals();
    // With marginals the page draws its own picture of labels and entropies.
    if (summary_.panels.empty() && !json_.contains("marginals")) {
      AddFigure("picture.png", "Labels and entropy");
      if (Size() > 3 * max_bytes_) DropPictures();
    }
    const PageGrid& grid = size_.grid();
    json_["width"] = grid.shown_width();
    json_["height"] = grid.shown_height();
    json_["depth"] = grid.depth;
    json_["step"] = grid.step;
    json_["full"] = {grid.width, grid.height};
    json_["notes"] = notes_;
    return Assemble();
  }

 private:
  std::string FolderName() const {
    std::error_code ignored;
    const std::filesystem::path whole = std::filesystem::weakly_canonical(bundle_, ignored);
    return (whole.has_filename() ? whole : bundle_).filename().string();
  }

  std::filesystem::path Path(const std::filesystem::path& file) const {
    return PathInBundle(bundle_, file);
  }

  // Reads only the beginnings of the files, so that files that are too large are not read in full.
  void MeasureSize() {
    for (const PanelFile& panel : summary_.panels) {
      const PngFile png = ReadPngFile(Path(panel.file));
      size_.Check(bundle_ / panel.file, png.width, png.height);
    }
    for (const ValueFile& value : summary_.values) {
      if (value.optional && !ExistsInBundle(bundle_, value.file)) continue;
      const std::filesystem::path path = Path(value.file);
      const NpyReader reader(path);
      if (IsLaidOut(reader.shape(), 0)) {
        size_.CheckArray(path, reader.shape(), 0);
      } else if (!value.optional) {
        throw FileError(fmt::format("\"{}\" has shape {}, expected (height, width)", path.string(),
                                    ShapeText(reader.shape())));
      }
    }
    if (const auto path = MarginalsPath()) {
      const NpyReader reader(*path);
      if (IsLaidOut(reader.shape(), 1)) size_.CheckArray(*path, reader.shape(), 1);
    }
    const double excess = static_cast<double>(size_.grid().pixels()) / kMaxShownPixels;
    size_.set_step(
        std::clamp<std::int64_t>(std::llround(std::ceil(std::sqrt(excess))), 1, kMaxStep));
  }

  // Adds the pictures at the current step, replacing any added before.
  void AddPictures() {
    blocks_.clear();
    block_bytes_ = 0;
    picture_bytes_ = 0;
    for (const char* list : {"panels", "figures", "values"}) json_[list] = Json::array();
    const std::int64_t step = size_.grid().step;
    for (const PanelFile& panel : summary_.panels) {
      const std::filesystem::path path = Path(panel.file);
      AddPicture("panels", panel.name,
                 step == 1 ? ReadPngFile(path)
                           : ReadShrunkPng(path, step,
                                           panel.labels ? Shrinking::kMiddle : Shrinking::kMean));
    }
    for (const PanelFile& figure : summary_.figures)
      AddPicture("figures", figure.name, ReadPngFile(Path(figure.file)));
    AddValues();
  }

  void NoteStep() {
    const PageGrid& grid = size_.grid();
    notes_.push_back(fmt::format(
        "The page shows {} x {} of the {} x {} pixels (pictures averaged over {} x {}, labels and "
        "numbers from the middle of each): with more it would be slow to open or larger than {:g} "
        "MB "
        "(--max-mb). The files beside it have all of them.",
        grid.shown_width(), grid.shown_height(), grid.width, grid.height, grid.step, grid.step,
        1e-6 * static_cast<double>(max_bytes_)));
  }

  // Thumbnails of pictures of other bundles.
  void AddGallery() {
    json_["gallery"] = Json::array();
    for (const GalleryFile& item : summary_.gallery) {
      Json entry = Json::object();
      if (!item.labels.empty() && Size() < max_bytes_) {
        const PngFile png = OverlayThumbnail(Path(item.picture), Path(item.labels), kThumbnailSide);
        entry = {{"width", png.width}, {"height", png.height}, {"src", PngUri(png)}};
        picture_bytes_ += entry["src"].get_ref<const std::string&>().size();
      }
      json_["gallery"].push_back(std::move(entry));
    }
  }

  // A picture of any size, shown if it exists but not linked to the others.
  void AddFigure(const char* file, const char* name) {
    if (ExistsInBundle(bundle_, file)) AddPicture("figures", name, ReadPngFile(Path(file)));
  }

  void AddPicture(const char* list, const std::string& name, const PngFile& png) {
    Json entry = {
        {"name", name}, {"width", png.width}, {"height", png.height}, {"src", PngUri(png)}};
    picture_bytes_ += entry["src"].get_ref<const std::string&>().size();
    json_[list].push_back(std::move(entry));
  }

  void DropPictures() {
    for (const char* list : {"panels", "figures"}) {
      for (Json& entry : json_[list]) entry.erase("src");
    }
    picture_bytes_ = 0;
    notes_.push_back(
        fmt::format("The pictures are left out: with them this page would be larger than {:g} MB "
                    "(--max-mb).",
                    1e-6 * static_cast<double>(max_bytes_)));
  }

  void AddValues() {
    const PageGrid& grid = size_.grid();
    for (const ValueFile& value : summary_.values) {
      if (value.optional && !ExistsInBundle(bundle_, value.file)) continue;
      NpyReader reader(Path(value.file));
      if (!IsLaidOut(reader.shape(), 0)) continue;
      std::vector<float> numbers(reader.count());
      reader.ReadTo(std::span(numbers));
      if (grid.step > 1) {
        // In place: the source of a shown pixel never comes before it.
        for (std::size_t k = 0; k < grid.shown_pixels(); ++k)
          numbers[k] = numbers[grid.SourceOf(k)];
        numbers.resize(grid.shown_pixels());
      }
      const std::string_view bytes(reinterpret_cast<const char*>(numbers.data()),
                                   numbers.size() * sizeof(float));
      json_["values"].push_back({{"name", value.name},
                                 {"unit", value.unit},
                                 {"block", AddBlock(Base64(Deflate(bytes)))}});
    }
  }

  // None if there are no marginals.
  std::optional<std::filesystem::path> MarginalsPath() const {
    if (!summary_.marginals) return std::nullopt;
    const MarginalsFile& file = *summary_.marginals;
    if (file.optional && !ExistsInBundle(bundle_, file.file)) return std::nullopt;
    return Path(file.file);
  }

  void AddMarginals() {
    const auto path = MarginalsPath();
    if (!path) return;
    const MarginalsFile& file = *summary_.marginals;
    NpyReader reader(*path);
    if (!IsLaidOut(reader.shape(), 1)) {
      const std::string problem =
          fmt::format("\"{}\" has shape {}, expected (height, width, labels)", path->string(),
                      ShapeText(reader.shape()));
      if (!file.optional) throw FileError(problem);
      notes_.emplace_back("The marginals are not shown, since they are not of a picture.");
      return;
    }
    CheckLabels(file, *path, reader.shape().back());
    const QuantisedMarginals marginals =
        file.labels_file.empty() ? ReadMarginals(*path, size_.grid(), &reader)
                                 : ReadTopMarginals(*path, size_.grid(), &reader,
                                                    Path(file.labels_file), file.names.size());
    EmbedMarginals(file, marginals);
  }

  void CheckLabels(const MarginalsFile& file, const std::filesystem::path& path,
                   std::int64_t labels) const {
    if (labels < 1 || labels > static_cast<std::int64_t>(kMaxReportLabels)) {
      throw FileError(fmt::format("\"{}\" has {} labels per pixel, expected 1 to {}", path.string(),
                                  labels, kMaxReportLabels));
    }
    const auto names = static_cast<std::int64_t>(file.names.size());
    const bool top = !file.labels_file.empty();
    if (names > 0 && (top ? labels > names : labels != names)) {
      throw FileError(
          fmt::format("\"{}\" has {} labels per pixel, expected {}{} as summary.json names",
                      path.string(), labels, top ? "at most " : "", names));
    }
  }

  void EmbedMarginals(const MarginalsFile& file, const QuantisedMarginals& marginals) {
    const std::size_t used = Size() + kSpareBytes;
    const auto packed =
        used < max_bytes_ ? PackMarginals(marginals, max_bytes_ - used) : std::nullopt;
    const double megabytes = 1e-6 * static_cast<double>(max_bytes_);
    if (!packed) {
      notes_.push_back(fmt::format(
          "The marginals are left out: with them this page would be larger than {:g} MB "
          "(--max-mb).",
          megabytes));
      return;
    }
    if (packed->kept < marginals.kept) {
      notes_.push_back(fmt::format(
          "Of the {} labels only the {} most probable of every pixel are kept: with more "
          "of them this page would be larger than {:g} MB (--max-mb).",
          marginals.labels, packed->kept, megabytes));
    }
    Json& json = json_["marginals"];
    json = {{"label", file.label},
            {"names", file.names},
            {"labels", marginals.labels},
            {"kept", packed->kept},
            {"block", AddBlock(packed->q)}};
    if (!packed->label.empty()) {
      json["labelBlock"] = AddBlock(packed->label);
      json["labelBytes"] = packed->label_bytes;
    }
  }

  std::size_t AddBlock(std::string base64) {
    block_bytes_ += base64.size();
    blocks_.push_back(std::move(base64));
    return blocks_.size() - 1;
  }

  std::size_t Size() const {
    return kReportTemplate.size() + summary_.text.size() + picture_bytes_ + block_bytes_;
  }

  std::string Assemble() const {
    const std::size_t mark = kReportTemplate.find(kReportBundleMark);
    std::string page;
    page.reserve(Size() + kSpareBytes);
    page += kReportTemplate.substr(0, mark);
    page += fmt::format("<script type=\"application/json\" id=\"summary\">{}</script>\n",
                        ScriptSafeJson(summary_.text));
    page += fmt::format("<script type=\"application/json\" id=\"bundle\">{}</script>\n",
                        ScriptSafeJson(json_.dump(-1, ' ', false, Json::error_handler_t::replace)));
    for (std::size_t k = 0; k < blocks_.size(); ++k) {
      page += fmt::format("<script type=\"text/plain\" id=\"block-{}\">", k);
      page += blocks_[k];
      page += "</script>\n";
    }
    page += kReportTemplate.substr(mark + kReportBundleMark.size());
    return page;
  }

  std::filesystem::path bundle_;
  std::size_t max_bytes_;
  ReportSummary summary_;
  PictureSize size_;
  Json json_;
  std::vector<std::string> notes_;
  std::vector<std::string> blocks_;
  std::size_t picture_bytes_ = 0;
  std::size_t block_bytes_ = 0;
};

}  // namespace

std::string BuildReport(const std::filesystem::path& bundle, const ReportOptions& options) {
  return ReportBuilder(bundle, options).Build();
}

void WriteReport(const std::filesystem::path& bundle, const ReportOptions& options) {
  WriteFileAtomically(bundle / "report.html", BuildReport(bundle, options));
}

}  // namespace submarine::apps
