// Several pictures in one call: in parallel, each into a directory of its own, with one page about all.
#pragma once

#include <string>
#include <vector>

#include "apps/segment/segment_job.h"

namespace submarine::apps {

// What was given for the pictures of a call: files for one picture, directories for several.
struct SegmentInputs {
  std::vector<std::string> images;  // or one directory
  std::string softmax;
  std::string unary;
  std::string scribbles;
  std::string truth;

  bool several() const;
};

// One job per picture, in the order of their names, in `directory`/NAME. Throws InvalidInput: a directory
// without pictures, two pictures of one name, a file where a directory is needed. Whether a picture has all that belongs to it is
// found when its turn comes.
std::vector<SegmentJob> SegmentJobs(const SegmentInputs& inputs, const std::string& directory);

// Pictures whose results are there already are left as they are. A picture that cannot be segmented is
// complained about, and the others go on; throws InvalidInput at the end, with their number, and Interrupted where some were not begun.
void RunSegmentBatch(const SegmentSettings& settings, const std::vector<SegmentJob>& jobs,
                     const std::string& directory);

}  // namespace submarine::apps
