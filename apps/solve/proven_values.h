// What a certificate says in words people use: certified expectations of sums over the pixels, as
// shares of a picture or means, with what the labels, the truth and mean field say beside them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "submarine/bound/expectation.h"

namespace submarine::apps {

struct ProvenValue {
  std::string name;  // in the summary and on the page
  std::string unit;  // "%", "px"
  // Sums times this are in the unit; values of all labelings are from 0 to `most`.
  double scale = 1.0;
  double most = 100.0;
  Expectation found;                // of the sum
  std::optional<double> of_labels;  // in the unit
  std::optional<double> of_truth;
};

// In the unit, rounded outwards.
struct ProvenRange {
  double lower, upper, credible_lower, credible_upper;
};
ProvenRange RangeOf(const ProvenValue& value);

// Whether the interval is so wide, half of all that is possible, that it says nothing.
bool TooWide(const ProvenValue& value);

// "96.8 to 99.9%": the credible interval with as many decimals as its width asks for, rounded outwards.
std::string RangeText(const ProvenValue& value);

// " Mean field claims 99.8%, which is more than can be: it is overconfident." Empty without a claim.
std::string ClaimText(const ProvenValue& value);

// "expectations" in summary.json.
nlohmann::ordered_json ProvenJson(const std::vector<ProvenValue>& values);

// What one of them takes, of a picture with this number of pixels and labels.
double ProvingSeconds(std::size_t pixels, std::size_t labels);
// What a solve leaves of its time limit for `count` of them.
double ReserveForProving(std::size_t pixels, std::size_t labels, std::size_t count,
                         double time_limit);

}  // namespace submarine::apps
