// What a certificate of a segmentation says in words: how many of the labels are right if the model
// is, and how large every class is.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/segment/segment_input.h"
#include "apps/solve/proven_values.h"
#include "submarine/solve/solve.h"

namespace submarine::apps {

struct SegmentProof {
  bool asked = false;
  bool of_region = false;  // not of the whole picture
  std::optional<ProvenValue> agreement;
  std::vector<ProvenValue> areas;  // of classes that occur, largest first

  std::vector<ProvenValue> all() const;
};

// The most values that a proof for this number of labels has.
std::size_t MostProven(std::size_t labels);

// Nothing where the solve was not asked for expectations or has no upper bound. Areas are left out
// once `seconds_left`, which is asked before each of them, is no more than what one takes.
SegmentProof ProveShares(const SegmentPicture& picture, const SolveResult& solved,
                         const std::function<double()>& seconds_left);

std::string ProofText(const SegmentProof& proof);

}  // namespace submarine::apps
