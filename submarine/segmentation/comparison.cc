#include "submarine/segmentation/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <random>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/numbers.h"

namespace submarine::internal {
namespace {

constexpr int kResamples = 2000;
constexpr double kOnePicture = 0.005;  // what counts as a change where there is no interval

// The 97.5% quantile of Student's distribution; within 0.5% beyond the table.
double StudentQuantile(int degrees) {
  constexpr double kTable[] = {12.706, 4.303, 3.182, 2.776, 2.571,
                               2.447,  2.365, 2.306, 2.262, 2.228};
  constexpr int kListed = static_cast<int>(std::size(kTable));
  return degrees <= kListed ? kTable[degrees - 1] : 1.96 + 2.5 / (degrees - 0.5);
}

// Student's interval with the bootstrap's standard error. Percentiles of the resamples would end at
// the pictures' extremes, far too early for few of them; sqrt(n / (n - 1)) takes out their bias.
std::optional<std::array<double, 2>> Interval(double change, const std::vector<double>& resampled,
                                              int pictures) {
  if (pictures < 2 || resampled.size() < 2) return std::nullopt;
  const double n = pictures;
  const auto count = static_cast<double>(resampled.size());
  const double mean = std::accumulate(resampled.begin(), resampled.end(), 0.0) / count;
  double squares = 0.0;
  for (const double x : resampled) squares += (x - mean) * (x - mean);
  const double by = StudentQuantile(pictures - 1) * std::sqrt(n / (n - 1.0) * squares / count);
  return std::array{change - by, change + by};
}

// No share rises above 1 or falls below 0, whatever few pictures say.
Change ChangeOfShare(double before, double after, const std::vector<double>& resampled,
                     int pictures) {
  std::optional<std::array<double, 2>> ends = Interval(after - before, resampled, pictures);
  if (ends) ends = {{std::max((*ends)[0], -before), std::min((*ends)[1], 1.0 - before)}};
  return {before, after, ends};
}

bool Compares(const LabelCounts& counts) {
  return std::any_of(counts.truth.begin(), counts.truth.end(), [](auto n) { return n > 0; });
}

double AccuracyOf(const LabelCounts& counts) { return ScoreLabels(counts).accuracy; }

// Calls use(drawn) with pictures drawn at random, as many as there are.
template <class Use>
void ForResamples(std::size_t pictures, const Use& use) {
  std::mt19937_64 random(1);
  std::vector<std::size_t> drawn(pictures);
  for (int k = 0; pictures > 1 && k < kResamples; ++k) {
    for (std::size_t& p : drawn) p = random() % pictures;
    use(drawn);
  }
}

// The changes of all resamples of the pictures.
struct Resampled {
  std::vector<double> mean_iou, accuracy, thin;
  std::vector<std::vector<double>> iou;
};

Resampled Resample(std::span<const ComparedPicture> pictures, std::size_t labels) {
  Resampled found;
  found.iou.resize(labels);
  ForResamples(pictures.size(), [&](const std::vector<std::size_t>& drawn) {
    ComparedPicture sum;
    for (const std::size_t p : drawn) sum += pictures[p];
    const LabelScores before = ScoreLabels(sum.before);
    const LabelScores after = ScoreLabels(sum.after);
    found.mean_iou.push_back(after.mean_iou - before.mean_iou);
    found.accuracy.push_back(after.accuracy - before.accuracy);
    for (std::size_t l = 0; l < labels; ++l) {
      if (!std::isnan(before.iou[l])) found.iou[l].push_back(after.iou[l] - before.iou[l]);
    }
    if (Compares(sum.thin_before))
      found.thin.push_back(AccuracyOf(sum.thin_after) - AccuracyOf(sum.thin_before));
  });
  return found;
}

// Pictures for which the function is true.
template <class Has>
int Count(std::span<const ComparedPicture> pictures, const Has& has) {
  return static_cast<int>(std::count_if(pictures.begin(), pictures.end(), has));
}

std::string Points(double share) { return fmt::format("{:+.1f}", 100.0 * share); }

// "a", "a and b", "a, b and c".
std::string Listed(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t k = 0; k < items.size(); ++k)
    text += (k == 0 ? "" : k + 1 == items.size() ? " and " : ", ") + items[k];
  return text;
}

}  // namespace

ComparedPicture ComparePicture(std::span<const int> truth, std::span<const int> before,
                               std::span<const int> after, int width, int height, int num_labels) {
  const std::vector<std::uint8_t> thin = ThinParts(truth, width, height, ThinRadius(width, height));
  return {CountLabels(truth, before, num_labels), CountLabels(truth, after, num_labels),
          CountLabels(truth, before, num_labels, thin),
          CountLabels(truth, after, num_labels, thin)};
}

ComparedPicture& ComparedPicture::operator+=(const ComparedPicture& other) {
  before += other.before;
  after += other.after;
  thin_before += other.thin_before;
  thin_after += other.thin_after;
  return *this;
}

bool Change::helps() const { return interval ? (*interval)[0] > 0.0 : by() > kOnePicture; }
bool Change::hurts() const { return interval ? (*interval)[1] < 0.0 : by() < -kOnePicture; }

Comparison Compare(std::span<const ComparedPicture> pictures) {
  if (pictures.empty()) throw InvalidInput("evaluation: no pictures to compare");
  Comparison comparison;
  comparison.pictures = static_cast<int>(pictures.size());
  ComparedPicture sum;
  for (const ComparedPicture& picture : pictures) {
    const double change =
        ScoreLabels(picture.after).mean_iou - ScoreLabels(picture.before).mean_iou;
    comparison.better += change > 0.0 ? 1 : 0;
    comparison.worse += change < 0.0 ? 1 : 0;
    sum += picture;
  }
  const LabelScores before = ScoreLabels(sum.before);
  const LabelScores after = ScoreLabels(sum.after);
  const std::size_t labels = before.iou.size();
  const Resampled resampled = Resample(pictures, labels);
  const int all = comparison.pictures;
  comparison.mean_iou = ChangeOfShare(before.mean_iou, after.mean_iou, resampled.mean_iou, all);
  comparison.accuracy = ChangeOfShare(before.accuracy, after.accuracy, resampled.accuracy, all);
  comparison.iou.resize(labels);
  for (std::size_t l = 0; l < labels; ++l) {
    if (std::isnan(before.iou[l])) continue;
    const int with =
        Count(pictures, [l](const ComparedPicture& p) { return p.before.truth[l] > 0; });
    comparison.iou[l] = ChangeOfShare(before.iou[l], after.iou[l], resampled.iou[l], with);
  }
  if (Compares(sum.thin_before)) {
    const int with =
        Count(pictures, [](const ComparedPicture& p) { return Compares(p.thin_before); });
    comparison.thin = ChangeOfShare(AccuracyOf(sum.thin_before), AccuracyOf(sum.thin_after),
                                    resampled.thin, with);
  }
  return comparison;
}

Change ChangeOver(
    std::size_t pictures,
    const std::function<std::array<double, 2>(const std::vector<std::size_t>&)>& values) {
  std::vector<std::size_t> all(pictures);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto [before, after] = values(all);
  std::vector<double> changes;
  ForResamples(pictures, [&](const std::vector<std::size_t>& drawn) {
    const auto [old, now] = values(drawn);
    changes.push_back(now - old);
  });
  return {before, after, Interval(after - before, changes, static_cast<int>(pictures))};
}

std::string PointsText(const Change& change) {
  std::string text = fmt::format("{} points", Points(change.by()));
  if (change.interval) {
    text += fmt::format(" (95% interval {} to {})", Points((*change.interval)[0]),
                        Points((*change.interval)[1]));
  }
  return text;
}

std::string ComparisonText(const Comparison& comparison, const std::vector<std::string>& names) {
  const Change& iou = comparison.mean_iou;
  std::string text;
  if (comparison.pictures == 1) {
    text = iou.helps() ? "Helps" : iou.hurts() ? "Hurts" : "Changes little";
  } else {
    text = fmt::format("Helps on {} of {} pictures", comparison.better, comparison.pictures);
    if (comparison.worse > 0) text += fmt::format(", hurts on {}", comparison.worse);
    if (!iou.helps() && !iou.hurts()) text += "; on the whole no clear difference";
    if (iou.hurts()) text += "; on the whole it hurts";
  }
  text += fmt::format(": mean IoU {} before, {} after, {}.", Percent(iou.before, 1),
                      Percent(iou.after, 1), PointsText(iou));
  std::vector<std::string> hurt;
  for (std::size_t l = 0; l < comparison.iou.size(); ++l) {
    const std::optional<Change>& change = comparison.iou[l];
    if (change && change->hurts())
      hurt.push_back(fmt::format("{} ({})", names[l], Points(change->by())));
  }
  if (comparison.thin && comparison.thin->hurts())
    hurt.push_back(fmt::format("thin parts ({})", Points(comparison.thin->by())));
  if (!hurt.empty()) text += fmt::format(" Hurts {}.", Listed(hurt));
  return text;
}

}  // namespace submarine::internal
