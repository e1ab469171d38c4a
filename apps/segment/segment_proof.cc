#include "apps/segment/segment_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "submarine/base/numbers.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/segmentation/evaluation.h"

namespace submarine::apps {
namespace {

using internal::kUnknownLabel;
using internal::NumThreads;
using internal::Stopwatch;

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostAreas = 8;
// Intervals that are wider say nothing.
constexpr double kTooWide = 0.5;

// Percentages of the picture, rounded outwards.
struct Percentages {
  double lower, upper, credible_lower, credible_upper;
  bool too_wide() const { return credible_upper - credible_lower > 100.0 * kTooWide; }
};

Percentages PercentagesOf(const Expectation& found, std::size_t pixels) {
  const auto share = [&](double count, double to) {
    return std::clamp(
        std::nextafter(std::nextafter(100.0 * count / static_cast<double>(pixels), to), to), 0.0,
        100.0);
  };
  return {share(found.lower, -HUGE_VAL), share(found.upper, HUGE_VAL),
          share(found.credible_lower, -HUGE_VAL), share(found.credible_upper, HUGE_VAL)};
}

// With as many decimals as the width asks for, rounded outwards.
std::string RangeText(double from, double to) {
  const int decimals = to - from < 0.2 ? 3 : to - from < 2.0 ? 2 : 1;
  return fmt::format("{} to {}%", RoundedDown(from, decimals), RoundedUp(to, decimals));
}

std::vector<std::size_t> LargestFirst(const std::vector<int>& labels, std::size_t num_labels) {
  std::vector<std::int64_t> pixels(num_labels, 0);
  for (const int label : labels) ++pixels[static_cast<std::size_t>(label)];
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < num_labels; ++i) {
    if (pixels[i] > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return pixels[i] > pixels[j]; });
  if (order.size() > kMostAreas) order.resize(kMostAreas);
  return order;
}

double ShareOf(const std::vector<int>& labels, int label) {
  std::int64_t known = 0;
  std::int64_t of_label = 0;
  for (const int given : labels) {
    known += given != kUnknownLabel ? 1 : 0;
    of_label += given == label ? 1 : 0;
  }
  return known == 0 ? 0.0 : static_cast<double>(of_label) / static_cast<double>(known);
}

}  // namespace

double ProofSeconds(std::size_t pixels, std::size_t labels, double time_limit) {
  constexpr double kPasses = 60.0;
  constexpr double kSecondsPerEntry = 4e-9;  // on one core
  constexpr double kShare = 0.15;
  if (!std::isfinite(time_limit)) return 0.0;
  const double one = kPasses * kSecondsPerEntry * static_cast<double>(pixels * labels) /
                     static_cast<double>(NumThreads());
  return std::min(kShare * time_limit, one * static_cast<double>(1 + std::min(labels, kMostAreas)));
}

SegmentProof ProveShares(const SegmentPicture& picture, const SolveResult& solved,
                         const std::function<double()>& seconds_left) {
  SegmentProof proof;
  if (!solved.tilted || !solved.certificate.upper || seconds_left() <= 0.0) return proof;
  const Stopwatch clock;
  proof.agreement = ProvenShare{"agreement", AgreementOf(solved, solved.labels), 1.0, {}};
  double longest = clock.Seconds();
  Matrix<double> values(solved.labels.size(), picture.names.size(), 0.0);
  for (const std::size_t label : LargestFirst(solved.labels, picture.names.size())) {
    if (seconds_left() <= longest) break;
    const double begin = clock.Seconds();
    for (std::size_t a = 0; a < values.rows(); ++a) values(a, label) = 1.0;
    const auto index = static_cast<int>(label);
    ProvenShare area{
        picture.names[label], ExpectationOf(solved, values), ShareOf(solved.labels, index), {}};
    for (std::size_t a = 0; a < values.rows(); ++a) values(a, label) = 0.0;
    if (!picture.truth.empty()) area.truth = ShareOf(picture.truth, index);
    proof.areas.push_back(std::move(area));
    longest = std::max(longest, clock.Seconds() - begin);
  }
  return proof;
}

std::string ProofText(const SegmentProof& proof, std::size_t pixels) {
  std::string text;
  if (proof.agreement) {
    const Expectation& found = proof.agreement->found;
    const Percentages range = PercentagesOf(found, pixels);
    if (range.too_wide()) {
      text += "The interval is too wide to say how many of these labels are right.\n";
    } else {
      text += fmt::format(
          "Proven: with a probability of at least 99.9%, {} of these labels are right if the model "
          "is.",
          RangeText(range.credible_lower, range.credible_upper));
      if (found.claimed) {
        const double claimed = 100.0 * *found.claimed / static_cast<double>(pixels);
        text += fmt::format(" Mean field claims {:.2f}%{}.", claimed,
                            claimed > range.upper   ? ", more than there can be"
                            : claimed < range.lower ? ", less than there can be"
                                                    : "");
      }
      text += "\n";
    }
  }
  std::string areas;
  for (const ProvenShare& area : proof.areas) {
    const Percentages range = PercentagesOf(area.found, pixels);
    areas += fmt::format("{}{} {}", areas.empty() ? "" : ", ", area.name,
                         range.too_wide() ? "(too wide to say)"
                                          : RangeText(range.credible_lower, range.credible_upper));
  }
  if (!areas.empty())
    text += fmt::format("Areas in the picture, with the same certainty: {}.\n", areas);
  return text;
}

Json ProofJson(const SegmentProof& proof, std::size_t pixels) {
  Json list = Json::array();
  const auto add = [&](const ProvenShare& share, const std::string& name) {
    const Percentages range = PercentagesOf(share.found, pixels);
    Json entry = {{"name", name},
                  {"unit", "% of the picture"},
                  {"lower", range.lower},
                  {"upper", range.upper},
                  {"credible_lower", range.credible_lower},
                  {"credible_upper", range.credible_upper},
                  {"provenance", "verified"}};
    if (share.found.claimed)
      entry["claimed"] = 100.0 * *share.found.claimed / static_cast<double>(pixels);
    if (share.truth) entry["truth"] = 100.0 * *share.truth;
    list.push_back(std::move(entry));
  };
  if (proof.agreement) add(*proof.agreement, "labels that are right if the model is");
  for (const ProvenShare& area : proof.areas) add(area, "area of " + area.name);
  return list;
}

}  // namespace submarine::apps
