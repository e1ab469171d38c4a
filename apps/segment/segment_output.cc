#include "apps/segment/segment_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <variant>

#include "apps/solve/solve_output.h"
#include "apps/volume/slices.h"
#include "submarine/base/numbers.h"
#include "submarine/base/parallel.h"
#include "submarine/extension/simplex_kernels.h"
#include "submarine/io/file/npy.h"

namespace submarine::apps {
namespace {

using internal::CountLabels;
using internal::kRowGrain;
using internal::kUnknownLabel;
using internal::NpyShape;
using internal::ParallelFor;
using internal::ScoreLabels;
using internal::ScoreProbabilities;
using internal::WriteNpy;

using Json = nlohmann::ordered_json;

bool DecidesAll(const std::vector<int>& labels) {
  return std::find(labels.begin(), labels.end(), kUnknownLabel) == labels.end();
}

SegmentScores Score(const SegmentPicture& picture, const Matrix<float>& unary,
                    const SolveResult& solved) {
  const auto labels = static_cast<int>(picture.names.size());
  SegmentScores scores;
  scores.after = ScoreLabels(CountLabels(picture.truth, solved.labels, labels));
  scores.calibration_after =
      ScoreProbabilities(std::get<Matrix<float>>(solved.marginals), picture.truth)
          .calibration_error;
  if (!DecidesAll(picture.before)) return scores;
  if (picture.volume) {  // thin parts are those of pictures
    scores.compared =
        internal::ComparedPicture{.before = CountLabels(picture.truth, picture.before, labels),
                                  .after = CountLabels(picture.truth, solved.labels, labels)};
  } else {
    scores.compared = internal::ComparePicture(picture.truth, picture.before, solved.labels,
                                               picture.image.width, picture.image.height, labels);
  }
  scores.before = ScoreLabels(scores.compared->before);
  Matrix<float> softmax(unary.rows(), unary.cols());
  internal::SoftmaxRows(unary.data(), 1.0F, softmax.rows(), softmax.cols(), softmax.data());
  scores.calibration_before = ScoreProbabilities(softmax, picture.truth).calibration_error;
  return scores;
}

const char* Units(const SegmentPicture& picture) { return picture.volume ? "voxels" : "pixels"; }

// Labels that occur, most pixels first.
std::vector<std::size_t> Occurring(const std::vector<std::int64_t>& pixels) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if (pixels[i] > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return pixels[i] > pixels[j]; });
  return order;
}

Json ScoresJson(const internal::LabelScores& scores, const std::optional<double>& calibration,
                const std::vector<std::string>& names) {
  Json iou = Json::object();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!std::isnan(scores.iou[i])) iou[names[i]] = scores.iou[i];
  }
  return {{"accuracy", scores.accuracy},
          {"mean_iou", scores.mean_iou},
          {"calibration_error", calibration ? Json(*calibration) : Json(nullptr)},
          {"iou", iou}};
}

std::string Compared(double after, const std::optional<double>& before) {
  return before ? fmt::format("{} ({} before)", Percent(after, 1), Percent(*before, 1))
                : Percent(after, 1);
}

void AddScores(const SegmentPicture& picture, const SegmentScores& scores, PicturePage* page) {
  const auto& [before, after, calibration_before, calibration_after, compared] = scores;
  const auto of_before = [known = before.has_value()](double value) {
    return known ? fmt::format(", {} before", Percent(value, 1)) : std::string();
  };
  page->AddLead(
      Percent(after.mean_iou, 1),
      fmt::format("mean intersection over union{}", of_before(before ? before->mean_iou : 0.0)));
  page->AddLead(Percent(after.accuracy, 1),
                fmt::format("of {} known {} have their true label{}", after.pixels, Units(picture),
                            of_before(before ? before->accuracy : 0.0)));
  page->AddFact("expected calibration error", Compared(calibration_after, calibration_before));
  for (std::size_t i = 0; i < picture.names.size(); ++i) {
    if (std::isnan(after.iou[i])) continue;
    page->AddChange(picture.names[i], before ? std::optional(before->iou[i]) : std::nullopt,
                    after.iou[i]);
  }
  if (!compared) return;
  const std::vector<internal::ComparedPicture> one = {*compared};
  const internal::Comparison comparison = internal::Compare(one);
  page->SetVerdict(ComparisonText(comparison, picture.names));
  if (comparison.thin)
    page->AddChange("thin parts (pixels right)", comparison.thin->before, comparison.thin->after);
}

// Where labels are wrong, and what became of those that were.
void AddErrors(const SegmentPicture& picture, const SolveResult& solved, PicturePage* page) {
  enum Kind { kRight, kPutRight, kWrong, kMadeWrong };
  const bool decided = DecidesAll(picture.before);
  std::vector<int> kinds(picture.truth.size(), kUnknownLabel);
  for (std::size_t a = 0; a < kinds.size(); ++a) {
    if (picture.truth[a] == kUnknownLabel) continue;
    const bool right = solved.labels[a] == picture.truth[a];
    const bool same = !decided || right == (picture.before[a] == picture.truth[a]);
    kinds[a] = right ? (same ? kRight : kPutRight) : (same ? kWrong : kMadeWrong);
  }
  page->AddLabels(
      "errors", "errors", kinds,
      {"right", "put right", decided ? "wrong before and after" : "wrong", "made wrong"},
      {{{52, 58, 66}, {64, 180, 120}, {235, 200, 90}, {230, 75, 60}}}, PanelRole::kPlain);
}

Json CountsJson(const internal::LabelCounts& before, const internal::LabelCounts& after) {
  return {{"truth", before.truth},
          {"before", {{"given", before.given}, {"right", before.right}}},
          {"after", {{"given", after.given}, {"right", after.right}}}};
}

void ReadCounts(const nlohmann::json& json, internal::LabelCounts* before,
                internal::LabelCounts* after) {
  for (const auto& [key, counts] : {std::pair("before", before), {"after", after}}) {
    json.at("truth").get_to(counts->truth);
    json.at(key).at("given").get_to(counts->given);
    json.at(key).at("right").get_to(counts->right);
  }
}

}  // namespace

SegmentOutcome ConcludeSegment(const SegmentPicture& picture, const Matrix<float>& unary,
                               SolveResult solved) {
  SegmentOutcome outcome;
  outcome.pixels.assign(picture.names.size(), 0);
  std::int64_t decided = 0;
  std::int64_t changed = 0;
  for (std::size_t a = 0; a < solved.labels.size(); ++a) {
    ++outcome.pixels[static_cast<std::size_t>(solved.labels[a])];
    if (picture.before[a] == kUnknownLabel) continue;
    ++decided;
    changed += picture.before[a] != solved.labels[a] ? 1 : 0;
  }
  outcome.changed =
      static_cast<double>(changed) / static_cast<double>(std::max<std::int64_t>(1, decided));
  if (!picture.truth.empty()) outcome.scores = Score(picture, unary, solved);
  outcome.solved = std::move(solved);
  return outcome;
}

Json OutcomeJson(const SegmentPicture& picture, const SegmentOutcome& outcome) {
  const auto all = static_cast<double>(outcome.solved.labels.size());
  Json json;
  json["changed"] = outcome.changed;
  json["names"] = picture.names;
  json["share"] = Json::object();
  for (const std::size_t i : Occurring(outcome.pixels))
    json["share"][picture.names[i]] = static_cast<double>(outcome.pixels[i]) / all;
  if (picture.volume) {
    const Volume& volume = *picture.volume;
    json["extent"] = volume.extent;
    json["spacing_mm"] = volume.spacing;
    for (const std::size_t i : Occurring(outcome.pixels)) {
      json["millilitres"][picture.names[i]] =
          volume.millilitres() * static_cast<double>(outcome.pixels[i]);
    }
  }
  if (outcome.scores) {
    const SegmentScores& scores = *outcome.scores;
    json["pixels_compared"] = scores.after.pixels;
    json["before"] = scores.before
                         ? ScoresJson(*scores.before, scores.calibration_before, picture.names)
                         : Json(nullptr);
    json["after"] = ScoresJson(scores.after, scores.calibration_after, picture.names);
    if (scores.compared) {
      const internal::ComparedPicture& compared = *scores.compared;
      json["pixels"] = CountsJson(compared.before, compared.after);
      json["thin_parts"] = CountsJson(compared.thin_before, compared.thin_after);
    }
  }
  return json;
}

std::string OutcomeText(const SegmentPicture& picture, const SegmentOutcome& outcome) {
  const auto all = static_cast<double>(outcome.solved.labels.size());
  std::string text;
  constexpr std::size_t kNamed = 8;
  const std::vector<std::size_t> order = Occurring(outcome.pixels);
  for (std::size_t k = 0; k < std::min(kNamed, order.size()); ++k) {
    const auto pixels = static_cast<double>(outcome.pixels[order[k]]);
    text += fmt::format("{}{} {}", k == 0 ? "Labels: " : ", ", picture.names[order[k]],
                        Percent(pixels / all, 1));
    if (picture.volume) text += fmt::format(" ({:.4g} ml)", picture.volume->millilitres() * pixels);
  }
  if (order.size() > kNamed) text += fmt::format(", and {} more", order.size() - kNamed);
  text += fmt::format(". {} of the {} changed their label.\n", Percent(outcome.changed, 1),
                      Units(picture));
  if (!outcome.scores) return text;
  const SegmentScores& scores = *outcome.scores;
  const auto& before = scores.before;
  text += fmt::format(
      "{} right: {}; calibration error: {}.\n", picture.volume ? "Voxels" : "Pixels",
      Compared(scores.after.accuracy, before ? std::optional(before->accuracy) : std::nullopt),
      Compared(scores.calibration_after, scores.calibration_before));
  if (!scores.compared)
    return text + fmt::format("Mean IoU: {}.\n", Percent(scores.after.mean_iou, 1));
  const std::vector<internal::ComparedPicture> one = {*scores.compared};
  return text + ComparisonText(internal::Compare(one), picture.names) + "\n";
}

std::optional<internal::ComparedPicture> ReadCompared(const nlohmann::json& segmentation) {
  if (!segmentation.contains("thin_parts")) return std::nullopt;
  internal::ComparedPicture compared;
  ReadCounts(segmentation.at("pixels"), &compared.before, &compared.after);
  ReadCounts(segmentation.at("thin_parts"), &compared.thin_before, &compared.thin_after);
  return compared;
}

PicturePage SegmentPage(const Bundle* bundle, const std::string& title,
                        const SegmentPicture& picture, const SegmentOutcome& outcome, int top) {
  const Image& image = picture.image;
  const SolveResult& solved = outcome.solved;
  PicturePage page(bundle, image.width, image.height, title);
  if (outcome.scores) AddScores(picture, *outcome.scores, &page);
  page.AddLead(Percent(outcome.changed, 1),
               fmt::format("of the {} changed their label", Units(picture)));
  const std::vector<float> entropies = Entropies(solved.marginals);
  page.AddPicture("picture", "image", image.channels, ColourValues(image), PanelRole::kPicture);
  page.AddLabels("before", "labels_before", picture.before, picture.names, picture.colours,
                 PanelRole::kBefore);
  page.AddLabels("labels", "labels", solved.labels, picture.names, picture.colours,
                 PanelRole::kAfter);
  if (!picture.truth.empty()) {
    page.AddLabels("truth", "truth", picture.truth, picture.names, picture.colours,
                   PanelRole::kPlain);
    AddErrors(picture, solved, &page);
  }
  page.AddColoured("uncertainty", "entropy_colour", entropies, 0.0,
                   std::log(static_cast<double>(picture.names.size())), "nats");
  page.AddValues("entropy", "entropy", entropies, "nats");
  page.AddMarginals(solved.marginals, top, "label", picture.names);
  for (const std::string& note : picture.notes) page.AddNote(note);
  for (const std::string& warning : picture.warnings) page.AddNote("Warning: " + warning + ".");
  return page;
}

PicturePage VolumePage(const Bundle* bundle, const std::string& title,
                       const SegmentPicture& picture, const SegmentOutcome& outcome, int top) {
  const auto& marginals = std::get<Matrix<float>>(outcome.solved.marginals);
  const Slices slices = SlicesOf(*picture.volume, outcome.solved.labels, picture.names.size());
  SegmentPicture shown;
  shown.volume = picture.volume;
  shown.image = {slices.width, slices.height, picture.image.channels, picture.image.max_value,
                 OnSlices(slices, picture.image.samples)};
  shown.before = OnSlices(slices, picture.before);
  if (!picture.truth.empty()) shown.truth = OnSlices(slices, picture.truth);
  shown.names = picture.names;
  shown.colours = picture.colours;
  shown.notes = picture.notes;
  shown.warnings = picture.warnings;
  shown.notes.push_back(slices.text +
                        ". Shares beside colours are theirs; labels.nii.gz and "
                        "probabilities.nii.gz hold all of the volume.");
  SegmentOutcome of_slices;
  of_slices.changed = outcome.changed;
  of_slices.scores = outcome.scores;
  of_slices.solved.labels = OnSlices(slices, outcome.solved.labels);
  Matrix<float> rows(slices.voxels.size(), marginals.cols());
  for (std::size_t k = 0; k < rows.rows(); ++k) {
    const auto row = marginals.row(slices.voxels[k]);
    std::copy(row.begin(), row.end(), rows.row(k).begin());
  }
  of_slices.solved.marginals = std::move(rows);
  PicturePage page = SegmentPage(bundle, title, shown, of_slices, top);
  const auto all = static_cast<double>(outcome.solved.labels.size());
  for (const std::size_t i : Occurring(outcome.pixels)) {
    const auto voxels = static_cast<double>(outcome.pixels[i]);
    page.AddFact(picture.names[i],
                 fmt::format("{:.4g} ml, {}", picture.volume->millilitres() * voxels,
                             Percent(voxels / all, 1)));
  }
  return page;
}

void WriteLabels(const Bundle& bundle, const SegmentPicture& picture, const SolveResult& solved) {
  if (!picture.volume) {
    const std::vector<std::int32_t> labels(solved.labels.begin(), solved.labels.end());
    WriteNpy<std::int32_t>(bundle.File("labels.npy"), labels,
                           NpyShape{picture.image.height, picture.image.width});
    return;
  }
  const std::vector<std::uint16_t> labels(solved.labels.begin(), solved.labels.end());
  WriteVolume(bundle.File("labels.nii.gz"), *picture.volume, labels);
  const auto& marginals = std::get<Matrix<float>>(solved.marginals);
  constexpr double kOne = 65535.0;
  std::vector<std::uint16_t> parts(marginals.size());
  ParallelFor(marginals.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      for (std::size_t l = 0; l < marginals.cols(); ++l)
        parts[l * marginals.rows() + a] =
            static_cast<std::uint16_t>(std::lround(kOne * marginals(a, l)));
    }
  });
  WriteVolume(bundle.File("probabilities.nii.gz"), *picture.volume, parts, 1.0 / kOne);
}

}  // namespace submarine::apps
