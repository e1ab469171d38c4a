// What a certificate of a segmentation says in words: how many of the labels are right if the model is,
// and how large every class is.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/segment/segment_input.h"
#include "submarine/solve/method/expectations.h"
#include "submarine/solve/solve.h"

namespace submarine::apps {

// A certified expectation as a share of the picture.
struct ProvenShare {
  std::string name;
  Expectation found;            // in pixels
  double of_labels = 0.0;       // the share that the labels have
  std::optional<double> truth;  // the share that the truth has, unknown pixels left out
};

struct SegmentProof {
  std::optional<ProvenShare> agreement;
  std::vector<ProvenShare> areas;  // of classes that occur, largest first
};

// What all of them take on pictures of this size, and the most that is kept of a limit for it.
double ProofSeconds(std::size_t pixels, std::size_t labels, double time_limit);

// None where the solve was not asked for expectations. Areas are left out once `seconds_left`, which is
// asked before each of them, is no more than what one takes.
SegmentProof ProveShares(const SegmentPicture& picture, const SolveResult& solved,
                         const std::function<double()>& seconds_left);

std::string ProofText(const SegmentProof& proof, std::size_t pixels);

// "expectations" in summary.json: percentages, rounded outwards.
nlohmann::ordered_json ProofJson(const SegmentProof& proof, std::size_t pixels);

}  // namespace submarine::apps
