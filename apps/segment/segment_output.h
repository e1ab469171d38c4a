// The evaluation of a segmentation and the files it writes.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/report/picture_page.h"
#include "apps/segment/segment_input.h"
#include "apps/solve/bundle.h"
#include "submarine/segmentation/comparison.h"
#include "submarine/segmentation/evaluation.h"
#include "submarine/solve/solve.h"

namespace submarine::apps {

// Scores against the truth.
struct SegmentScores {
  std::optional<internal::LabelScores> before;  // none if the input leaves pixels undecided
  internal::LabelScores after;
  std::optional<double> calibration_before;  // expected calibration error
  double calibration_after = 0.0;
  // Before and after, if the input decides all pixels.
  std::optional<internal::ComparedPicture> compared;
};

struct SegmentOutcome {
  SolveResult solved;
  double changed = 0.0;  // fraction of the pixels with a label in the input whose label changed
  std::vector<std::int64_t> pixels;     // per label
  std::optional<SegmentScores> scores;  // if there is a truth
};

SegmentOutcome ConcludeSegment(const SegmentPicture& picture, const Matrix<float>& unary,
                               SolveResult solved);

// What OutcomeJson wrote; throws nlohmann's exceptions where it is something else.
std::optional<internal::ComparedPicture> ReadCompared(const nlohmann::json& segmentation);

// "segmentation" in summary.json, from which the index of several pictures is made.
nlohmann::ordered_json OutcomeJson(const SegmentPicture& picture, const SegmentOutcome& outcome);

// A few lines: the result of the task.
std::string OutcomeText(const SegmentPicture& picture, const SegmentOutcome& outcome);

// Writes marginals and pictures into the bundle.
PicturePage SegmentPage(const Bundle* bundle, const std::string& title,
                        const SegmentPicture& picture, const SegmentOutcome& outcome, int top);
// The same of a volume, by slices in its three directions.
PicturePage VolumePage(const Bundle* bundle, const std::string& title,
                       const SegmentPicture& picture, const SegmentOutcome& outcome, int top);

// Into the bundle: labels.npy; of a volume labels.nii.gz and probabilities.nii.gz, at its places.
void WriteLabels(const Bundle& bundle, const SegmentPicture& picture, const SolveResult& solved);

}  // namespace submarine::apps
