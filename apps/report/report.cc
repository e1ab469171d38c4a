#include "apps/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/cli/file_checks.h"
#include "apps/report/page_encoding.h"
#include "apps/report/report_marginals.h"
#include "apps/report/report_summary.h"
#include "apps/report/report_template.h"
#include "submarine/base/error.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/file/input_file.h"
#include "submarine/io/file/npy.h"
#include "submarine/io/image/png.h"

namespace submarine::apps {
namespace {

using internal::NpyReader;
using internal::ReadWholeFile;
using internal::ShapeText;
using internal::WriteFileAtomically;

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMaxPictureBytes = std::uint64_t{1} << 30;

// Elements around the data, and the ends of compressed blocks.
constexpr std::size_t kSpareBytes = 20'000;

struct PngFile {
  std::string bytes;
  std::int64_t width = 0;
  std::int64_t height = 0;
};

PngFile ReadPngFile(const std::filesystem::path& path) {
  PngFile png{ReadWholeFile(path, kMaxPictureBytes)};
  const std::string_view begin = std::string_view(png.bytes).substr(0, 24);
  if (begin.size() < 24 || !begin.starts_with("\x89PNG\r\n\x1a\n") ||
      begin.substr(12, 4) != "IHDR") {
    throw FileError(fmt::format("\"{}\" is not a PNG file, expected one", path.string()));
  }
  const auto integer = [&](std::size_t at) {
    std::int64_t value = 0;
    for (const char c : begin.substr(at, 4)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  };
  png.width = integer(16);
  png.height = integer(20);
  return png;
}

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

// All panels, values and marginals are of one picture; the first of them says how large it is.
class PictureSize {
 public:
  void Check(const std::filesystem::path& file, std::int64_t width, std::int64_t height) {
    if (width < 1 || height < 1) {
      throw FileError(fmt::format("\"{}\" is {} x {} pixels, expected at least one pixel",
                                  file.string(), width, height));
    }
    if (first_.empty()) {
      first_ = file;
      width_ = width;
      height_ = height;
    } else if (width != width_ || height != height_) {
      throw FileError(fmt::format("\"{}\" is {} x {} pixels, expected {} x {} as \"{}\" is",
                                  file.string(), width, height, width_, height_, first_.string()));
    }
  }
  std::int64_t width() const { return width_; }
  std::int64_t height() const { return height_; }

 private:
  std::filesystem::path first_;
  std::int64_t width_ = 0;
  std::int64_t height_ = 0;
};

class ReportBuilder {
 public:
  ReportBuilder(std::filesystem::path bundle, const ReportOptions& options)
      : bundle_(std::move(bundle)),
        max_bytes_(static_cast<std::size_t>(1e6 * options.max_megabytes)),
        summary_(ReadReportSummary(bundle_)) {}

  std::string Build() {
    json_["folder"] = FolderName();
    json_["colours"] = ColourTable();
    json_["panels"] = Json::array();
    json_["figures"] = Json::array();
    json_["values"] = Json::array();
    AddPanels();
    for (const PanelFile& figure : summary_.figures)
      AddPicture("figures", figure.name, ReadPngFile(Path(figure.file)));
    // What `synth` leaves behind has no page.
    if (summary_.panels.empty() && summary_.figures.empty())
      AddFigure("figure.png", "Bounds relative to TRW");
    AddValues();
    if (Size() > 3 * max_bytes_) DropPictures();
    AddMarginals();
    // With marginals the page draws its own picture of labels and entropies.
    if (summary_.panels.empty() && !json_.contains("marginals")) {
      AddFigure("picture.png", "Labels and entropy");
      if (Size() > 3 * max_bytes_) DropPictures();
    }
    json_["width"] = size_.width();
    json_["height"] = size_.height();
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

  void AddPanels() {
    for (const PanelFile& panel : summary_.panels) {
      const PngFile png = ReadPngFile(Path(panel.file));
      size_.Check(bundle_ / panel.file, png.width, png.height);
      AddPicture("panels", panel.name, png);
    }
  }

  // A picture of any size, which is shown where it exists but not linked to others.
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
                    3e-6 * static_cast<double>(max_bytes_)));
  }

  void AddValues() {
    for (const ValueFile& value : summary_.values) {
      if (value.optional && !ExistsInBundle(bundle_, value.file)) continue;
      const std::filesystem::path path = Path(value.file);
      NpyReader reader(path);
      if (reader.shape().size() != 2) {
        if (value.optional) continue;
        throw FileError(fmt::format("\"{}\" has shape {}, expected (height, width)", path.string(),
                                    ShapeText(reader.shape())));
      }
      size_.Check(path, reader.shape()[1], reader.shape()[0]);
      std::vector<float> numbers(reader.count());
      reader.ReadTo(std::span(numbers));
      const std::string_view bytes(reinterpret_cast<const char*>(numbers.data()),
                                   numbers.size() * sizeof(float));
      json_["values"].push_back({{"name", value.name},
                                 {"unit", value.unit},
                                 {"block", AddBlock(Base64(*Deflate(bytes)))}});
    }
  }

  void AddMarginals() {
    if (!summary_.marginals) return;
    const MarginalsFile& file = *summary_.marginals;
    if (file.optional && !ExistsInBundle(bundle_, file.file)) return;
    const std::filesystem::path path = Path(file.file);
    NpyReader reader(path);
    if (reader.shape().size() != 3) {
      const std::string problem =
          fmt::format("\"{}\" has shape {}, expected (height, width, labels)", path.string(),
                      ShapeText(reader.shape()));
      if (!file.optional) throw FileError(problem);
      notes_.emplace_back("The marginals are not shown, since they are not of a picture.");
      return;
    }
    size_.Check(path, reader.shape()[1], reader.shape()[0]);
    CheckLabels(file, path, reader.shape()[2]);
    const QuantisedMarginals marginals =
        file.labels_file.empty()
            ? ReadMarginals(path, &reader)
            : ReadTopMarginals(path, &reader, Path(file.labels_file), file.names.size());
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
