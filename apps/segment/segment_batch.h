// Several pictures in one call: in parallel, each into its own directory, with one page about all.
#pragma once

#include <string>
#include <vector>

#include "apps/segment/segment_job.h"

namespace submarine::apps {

// The inputs of a call: files for one picture, directories for several.
struct SegmentInputs {
  std::vector<std::string> images;  // or one directory
  std::string softmax;
  std::string unary;
  std::string scribbles;
  std::string truth;
  std::string region;

  bool several() const;
};

// One job per picture, in the order of their names, in `directory`/NAME. Throws InvalidInput for a
// directory without pictures, two pictures of one name, or a file where a directory is needed.
// Missing files of a single picture are found only when its job runs.
std::vector<SegmentJob> SegmentJobs(const SegmentInputs& inputs, const std::string& directory);

// Pictures that already have results are skipped. If a picture cannot be segmented, prints an error
// and continues with the others; throws InvalidInput at the end, with the number of failures, and
// Interrupted if some were not started.
void RunSegmentBatch(const SegmentSettings& settings, const std::vector<SegmentJob>& jobs,
                     const std::string& directory);

}  // namespace submarine::apps
