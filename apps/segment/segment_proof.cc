#include "apps/segment/segment_proof.h"

#include <fmt/format.h>

#include <algorithm>

#include "submarine/base/stopwatch.h"
#include "submarine/segmentation/evaluation.h"
#include "submarine/solve/method/expectations.h"

namespace submarine::apps {
namespace {

using internal::kUnknownLabel;
using internal::Stopwatch;

constexpr std::size_t kMostAreas = 8;

// Labels by their pixels in the region, the whole picture if it is empty.
class Region {
 public:
  explicit Region(const std::vector<char>& mask) : mask_(mask) {}

  bool Has(std::size_t a) const { return mask_.empty() || mask_[a] != 0; }

  // In percent of the pixels with a label.
  double ShareOf(const std::vector<int>& labels, int label) const {
    std::int64_t known = 0;
    std::int64_t of_label = 0;
    for (std::size_t a = 0; a < labels.size(); ++a) {
      if (!Has(a) || labels[a] == kUnknownLabel) continue;
      ++known;
      of_label += labels[a] == label ? 1 : 0;
    }
    return known == 0 ? 0.0 : 100.0 * static_cast<double>(of_label) / static_cast<double>(known);
  }

  std::vector<std::size_t> LargestFirst(const std::vector<int>& labels,
                                        std::size_t num_labels) const {
    std::vector<std::int64_t> pixels(num_labels, 0);
    for (std::size_t a = 0; a < labels.size(); ++a)
      pixels[static_cast<std::size_t>(labels[a])] += Has(a) ? 1 : 0;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < num_labels; ++i) {
      if (pixels[i] > 0) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t i, std::size_t j) { return pixels[i] > pixels[j]; });
    if (order.size() > kMostAreas) order.resize(kMostAreas);
    return order;
  }

 private:
  const std::vector<char>& mask_;
};

}  // namespace

std::vector<ProvenValue> SegmentProof::all() const {
  std::vector<ProvenValue> values;
  if (agreement) values.push_back(*agreement);
  values.insert(values.end(), areas.begin(), areas.end());
  return values;
}

std::size_t MostProven(std::size_t labels) { return 1 + std::min(labels, kMostAreas); }

SegmentProof ProveShares(const SegmentPicture& picture, const SolveResult& solved,
                         const std::function<double()>& seconds_left) {
  SegmentProof proof;
  proof.asked = solved.tilted != nullptr;
  proof.of_region = !picture.region.empty();
  if (!proof.asked || !solved.certificate.upper || seconds_left() <= 0.0) return proof;
  const Region region(picture.region);
  const std::size_t n = solved.labels.size();
  std::size_t pixels = 0;
  for (std::size_t a = 0; a < n; ++a) pixels += region.Has(a) ? 1 : 0;
  const char* where = proof.of_region ? " in the region" : "";
  const double scale = 100.0 / static_cast<double>(pixels);
  const double millilitres = picture.volume ? picture.volume->millilitres() : 0.0;
  const double per_percent = 0.01 * millilitres * static_cast<double>(pixels);
  const Stopwatch clock;
  std::vector<int> inside = solved.labels;
  for (std::size_t a = 0; a < n; ++a) {
    if (!region.Has(a)) inside[a] = kUnknownLabel;
  }
  proof.agreement =
      ProvenValue{.name = fmt::format("labels{} that are right if the model is", where),
                  .unit = "%",
                  .scale = scale,
                  .found = AgreementOf(solved, inside)};
  double longest = clock.Seconds();
  Matrix<double> values(n, picture.names.size(), 0.0);
  for (const std::size_t label : region.LargestFirst(solved.labels, picture.names.size())) {
    if (seconds_left() <= longest) break;
    const double begin = clock.Seconds();
    for (std::size_t a = 0; a < n; ++a) values(a, label) = region.Has(a) ? 1.0 : 0.0;
    const auto index = static_cast<int>(label);
    proof.areas.push_back({.name = fmt::format("area of {}{}", picture.names[label], where),
                           .unit = "%",
                           .scale = scale,
                           .found = ExpectationOf(solved, values),
                           .of_labels = region.ShareOf(solved.labels, index)});
    for (std::size_t a = 0; a < n; ++a) values(a, label) = 0.0;
    ProvenValue& area = proof.areas.back();
    if (!picture.truth.empty()) area.of_truth = region.ShareOf(picture.truth, index);
    if (picture.volume) {
      area.name = fmt::format("volume of {}{}", picture.names[label], where);
      area.unit = "ml";
      area.scale = millilitres;
      area.most = 100.0 * per_percent;
      area.of_labels = *area.of_labels * per_percent;
      if (area.of_truth) area.of_truth = *area.of_truth * per_percent;
    }
    longest = std::max(longest, clock.Seconds() - begin);
  }
  return proof;
}

std::string ProofText(const SegmentProof& proof) {
  if (!proof.asked) return "";
  if (!proof.agreement)
    return "There was no time to say what the interval proves about labels and areas.\n";
  const char* where = proof.of_region ? " in the region" : "";
  if (TooWide(*proof.agreement))
    return fmt::format("The interval is too wide to say how many of the labels{} are right.\n",
                       where);
  std::string text = fmt::format(
      "Proven: with a probability of at least 99.9%, {} of these labels{} are right if the model "
      "is.{}\n",
      RangeText(*proof.agreement), where, ClaimText(*proof.agreement));
  std::string areas;
  for (const ProvenValue& area : proof.areas) {
    // Their names begin with "area of " or "volume of ".
    const std::size_t begin = area.name.find(" of ") + 4;
    areas += fmt::format(
        "{}{} {}", areas.empty() ? "" : ", ",
        area.name.substr(begin, area.name.size() - begin - std::string_view(where).size()),
        TooWide(area) ? "(too wide to say)" : RangeText(area));
  }
  if (!areas.empty()) {
    const bool volumes = proof.areas.front().unit == "ml";
    text +=
        fmt::format("{} in the {}, with the same certainty: {}.\n", volumes ? "Volumes" : "Areas",
                    proof.of_region ? "region"
                    : volumes       ? "file"
                                    : "picture",
                    areas);
  }
  return text;
}

}  // namespace submarine::apps
