// Processes one picture, from files to a directory of results.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/dense_options.h"
#include "apps/report/report.h"
#include "apps/segment/segment_input.h"
#include "apps/segment/segment_output.h"
#include "apps/segment/segment_proof.h"
#include "apps/solve/solve_progress.h"
#include "submarine/segmentation/segmentation_model.h"
#include "submarine/segmentation/superpixels.h"

namespace submarine::apps {

// What all pictures of a call have in common.
struct SegmentSettings {
  SegmentReading reading;
  std::string metric = "potts";
  // Of a preset or a file; none: chosen for every picture by its size and classifier.
  std::optional<SegmentationParameters> parameters;
  std::vector<double> position;   // sigma, weight; empty: as in the parameters
  std::vector<double> bilateral;  // sigma, colour sigma, weight; likewise
  KernelNormalisation normalisation = KernelNormalisation::kSymmetric;
  bool ordered = false;                  // pairs counted twice
  std::vector<std::string> superpixels;  // as ParseSuperpixels takes them
  DenseCommand dense;
  std::optional<ReportOptions> report = ReportOptions();
};

struct SegmentJob {
  SegmentFiles files;
  std::string directory;
};

struct SegmentDone {
  SegmentPicture picture;  // without its unaries
  SegmentOutcome outcome;
  SegmentProof proof;
  std::vector<LabelGroup> groups;  // of the label hierarchy, if the metric is one
  bool page = false;               // report.html was written
  double seconds = 0.0;
};

// The request, with sizes and times of the files: a directory whose summary has the same under
// "request" need not be made again.
nlohmann::ordered_json RequestJson(const SegmentSettings& settings, const SegmentFiles& files);

// Throws InvalidInput and FileError; TooLarge if it does not fit the limits; and Interrupted,
// without writing anything, if `complete` is set and an interrupt cut the solve short.
SegmentDone RunSegmentJob(const SegmentSettings& settings, const SegmentJob& job, bool complete,
                          SolveProgress* progress);

}  // namespace submarine::apps
