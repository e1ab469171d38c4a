#include "submarine/fit/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <variant>

#include "submarine/base/argmax.h"
#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/fit/nelder_mead.h"
#include "submarine/segmentation/calibration.h"
#include "submarine/segmentation/softmax.h"
#include "submarine/segmentation/superpixels.h"
#include "submarine/solve/solve.h"

namespace submarine::internal {
namespace {

using Point = std::vector<double>;  // logarithms

struct Coordinate {
  double SegmentationParameters::*field;
  double low;
  double high;
};
// Bounds of the search. Wider kernels cover the whole picture, narrower ones nothing; a colour
// sigma of 1 distinguishes almost all pixels.
constexpr Coordinate kCoordinates[] = {
    {&SegmentationParameters::position_sigma, 0.5, 30.0},
    {&SegmentationParameters::position_weight, 0.01, 100.0},
    {&SegmentationParameters::bilateral_sigma, 5.0, 500.0},
    {&SegmentationParameters::colour_sigma, 2.0, 100.0},
    {&SegmentationParameters::bilateral_weight, 0.01, 100.0},
    {&SegmentationParameters::softmax_temperature, 0.2, 5.0},
    // With superpixels only.
    {&SegmentationParameters::superpixel_gamma, 0.001, 10.0},
    {&SegmentationParameters::superpixel_share, 0.02, 0.5},
};
constexpr std::size_t kOfSuperpixels = 2;
std::span<const Coordinate> Coordinates(const std::vector<double>& superpixel_sizes) {
  const std::span<const Coordinate> all(kCoordinates);
  return superpixel_sizes.empty() ? all.first(all.size() - kOfSuperpixels) : all;
}
constexpr double kFirstStep = 0.7;  // about a factor of two

SegmentationParameters ParametersAt(const Point& point, const FitOptions& options) {
  SegmentationParameters parameters;
  parameters.updates = options.updates;
  parameters.superpixel_sizes = options.superpixel_sizes;
  for (std::size_t d = 0; d < point.size(); ++d) {
    // Four digits: more make no difference, and files stay readable.
    const double value = std::exp(point[d]);
    const double unit = std::pow(10.0, std::floor(std::log10(value)) - 3.0);
    // Rounding may not lead out of the bounds.
    parameters.*kCoordinates[d].field =
        std::min(std::round(value / unit) * unit, kCoordinates[d].high);
  }
  return parameters;
}

std::string KeyOf(const SegmentationParameters& parameters) {
  std::string key;
  for (const Coordinate& coordinate : Coordinates(parameters.superpixel_sizes))
    key += fmt::format("{}{:.4g}", key.empty() ? "" : " ", parameters.*coordinate.field);
  for (const double size : parameters.superpixel_sizes) key += fmt::format(" {:g}", size);
  return key;
}

// Sigmas in pixels refer to the full size.
SegmentationParameters AtScale(SegmentationParameters parameters, int factor) {
  parameters.position_sigma /= factor;
  parameters.bilateral_sigma /= factor;
  for (double& size : parameters.superpixel_sizes) size = std::max(2.0, size / factor);
  return parameters;
}

// The fold of every picture: random, of sizes as equal as possible.
std::vector<int> Folds(std::size_t pictures, int folds, std::uint64_t seed) {
  std::vector<std::size_t> order(pictures);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 rng(seed);
  for (std::size_t k = pictures; k > 1; --k) std::swap(order[k - 1], order[rng() % k]);
  std::vector<int> fold(pictures);
  for (std::size_t k = 0; k < pictures; ++k)
    fold[order[k]] = static_cast<int>(k % static_cast<std::size_t>(folds));
  return fold;
}

// Scores of shrunk pictures under parameters, each computed once.
class Evaluations {
 public:
  Evaluations(std::span<const LabelledPicture> pictures, const FitOptions& options,
              FitMemory* memory, const FitWatch& watch)
      : options_(options), memory_(memory), watch_(watch), known_(pictures.size()) {
    for (const LabelledPicture& picture : pictures) {
      factors_.push_back(ShrinkFactor(picture.width, picture.height, options.pixels));
      small_.push_back(Shrunk(picture, factors_.back()));
    }
  }

  // Of the `chosen` pictures together.
  double Value(const std::vector<std::size_t>& chosen, const SegmentationParameters& parameters) {
    const std::string key = KeyOf(parameters);
    std::vector<std::size_t> missing;
    for (const std::size_t p : chosen) {
      if (known_[p].contains(key)) continue;
      if (auto found = memory_ == nullptr ? std::nullopt : memory_->Find(p, key)) {
        known_[p].emplace(key, *std::move(found));
      } else {
        missing.push_back(p);
      }
    }
    std::vector<PictureScores> scores(missing.size());
    ParallelFor(missing.size(), 1, [&](std::size_t begin, std::size_t end) {
      const ThreadLimit one(1);  // the pictures run in parallel
      for (std::size_t k = begin; k < end; ++k) scores[k] = Score(missing[k], parameters);
    });
    for (std::size_t k = 0; k < missing.size(); ++k) {
      if (memory_ != nullptr) memory_->Keep(missing[k], key, scores[k]);
      known_[missing[k]].emplace(key, std::move(scores[k]));
    }
    std::vector<PictureScores> all;
    for (const std::size_t p : chosen) all.push_back(known_[p].at(key));
    return ValueOf(all, options_.score);
  }

  void Tell(const std::string& doing) const {
    if (!watch_(doing)) {
      throw Interrupted(
          "interrupted: the search is not complete; run the same command again to continue");
    }
  }

 private:
  PictureScores Score(std::size_t p, const SegmentationParameters& parameters) const {
    const SegmentationParameters scaled = AtScale(parameters, factors_[p]);
    return ScorePicture(small_[p],
                        MeanFieldMarginals(small_[p], scaled, options_.updates, options_.labels));
  }

  const FitOptions& options_;
  FitMemory* memory_;
  const FitWatch& watch_;
  std::vector<LabelledPicture> small_;
  std::vector<int> factors_;
  std::vector<std::map<std::string, PictureScores>> known_;  // by KeyOf
};

// Where searches begin: the geometric mean of the pictures' defaults.
Point MeanDefaults(std::span<const LabelledPicture> pictures,
                   const std::vector<std::size_t>& chosen, const FitOptions& options) {
  const std::span<const Coordinate> coordinates = Coordinates(options.superpixel_sizes);
  Point mean(coordinates.size());
  for (const std::size_t p : chosen) {
    const SegmentationParameters defaults = DefaultsFor(pictures[p], options.updates);
    for (std::size_t d = 0; d < mean.size(); ++d) {
      const Coordinate& c = coordinates[d];
      mean[d] += std::log(std::clamp(defaults.*c.field, c.low, c.high)) /
                 static_cast<double>(chosen.size());
    }
  }
  return mean;
}

FitSearch Search(std::span<const LabelledPicture> pictures, const std::vector<std::size_t>& chosen,
                 const std::string& name, const FitOptions& options, Evaluations* evaluations) {
  Point low, high;
  for (const Coordinate& coordinate : Coordinates(options.superpixel_sizes)) {
    low.push_back(std::log(coordinate.low));
    high.push_back(std::log(coordinate.high));
  }
  int done = 0;
  const auto cost = [&](const Point& point) {
    evaluations->Tell(fmt::format("{}: {} of {} evaluations", name, done++, options.evaluations));
    return -evaluations->Value(chosen, ParametersAt(point, options));
  };
  const Point start = MeanDefaults(pictures, chosen, options);
  const NelderMeadResult found = MinimiseByNelderMead(
      cost, start, Point(start.size(), kFirstStep), low, high,
      {.max_evaluations = options.evaluations, .tolerance = 0.01, .seed = options.seed});
  FitSearch search;
  search.parameters = ParametersAt(found.point, options);
  search.value = -found.value;
  for (const double value : found.best_so_far) search.best_so_far.push_back(-value);
  return search;
}

HeldOut ScoreHeldOut(const LabelledPicture& picture, int fold, const SegmentationParameters& fitted,
                     const FitOptions& options) {
  const int updates = options.updates;
  HeldOut held_out{.picture = picture.name, .fold = fold};
  const std::vector<std::uint8_t> thin = ThinParts(picture.truth, picture.width, picture.height,
                                                   ThinRadius(picture.width, picture.height));
  const auto score = [&](const Matrix<float>& rows, PictureScores* scores, LabelCounts* of_thin) {
    *scores = ScorePicture(picture, rows);
    *of_thin = CountLabels(picture.truth, ArgmaxLabels(rows), picture.num_labels(), thin);
  };
  score(picture.softmax, &held_out.classifier, &held_out.thin_classifier);
  Matrix<float> defaults =
      MeanFieldMarginals(picture, DefaultsFor(picture, updates), updates, options.labels);
  CalibrateMarginals(UnariesFromSoftmax(picture.softmax), &defaults);
  score(defaults, &held_out.defaults, &held_out.thin_defaults);
  score(MeanFieldMarginals(picture, fitted, updates, options.labels), &held_out.fitted,
        &held_out.thin_fitted);
  return held_out;
}

using Side = PictureScores HeldOut::*;

// Of one side against the classifier alone.
Comparison CompareHeldOut(const std::vector<HeldOut>& held_out, Side side,
                          LabelCounts HeldOut::*thin) {
  std::vector<ComparedPicture> pictures;
  for (const HeldOut& h : held_out)
    pictures.push_back({h.classifier.counts, (h.*side).counts, h.thin_classifier, h.*thin});
  return Compare(pictures);
}

Change ChangeOf(const std::vector<HeldOut>& held_out, Side side, FitScore score) {
  return ChangeOver(held_out.size(), [&](const std::vector<std::size_t>& drawn) {
    std::vector<PictureScores> before, after;
    for (const std::size_t p : drawn) {
      before.push_back(held_out[p].classifier);
      after.push_back(held_out[p].*side);
    }
    return std::array{ValueOf(before, score), ValueOf(after, score)};
  });
}

FitAdvice AdviceOf(const FitResult& result) {
  if (std::max(result.fitted_value.by(), result.defaults_value.by()) <= 0.0)
    return FitAdvice::kLeaveAlone;
  return result.fitted_value.after > result.defaults_value.after ? FitAdvice::kFitted
                                                                 : FitAdvice::kDefaults;
}

}  // namespace

std::string_view ToString(FitScore score) {
  return score == FitScore::kMeanIou ? "iou" : score == FitScore::kAccuracy ? "accuracy" : "nll";
}

std::string_view ToString(FitAdvice advice) {
  return advice == FitAdvice::kFitted     ? "fitted"
         : advice == FitAdvice::kDefaults ? "defaults"
                                          : "leave alone";
}

PictureScores ScorePicture(const LabelledPicture& picture, const Matrix<float>& probabilities) {
  return {CountLabels(picture.truth, ArgmaxLabels(probabilities), picture.num_labels()),
          ScoreProbabilities(probabilities, picture.truth)};
}

double ValueOf(std::span<const PictureScores> pictures, FitScore score) {
  if (score == FitScore::kLikelihood) {
    double nats = 0.0;
    double pixels = 0.0;
    for (const PictureScores& picture : pictures) {
      const auto n = static_cast<double>(picture.probabilities.pixels);
      nats += n * picture.probabilities.negative_log_likelihood;
      pixels += n;
    }
    return -nats / pixels;
  }
  LabelCounts sum;
  for (const PictureScores& picture : pictures) sum += picture.counts;
  const LabelScores scores = ScoreLabels(sum);
  return score == FitScore::kMeanIou ? scores.mean_iou : scores.accuracy;
}

SegmentationParameters DefaultsFor(const LabelledPicture& picture, int updates) {
  const std::array extent = {picture.height, picture.width};
  SegmentationParameters defaults =
      ParametersFor(extent, ProfileOf(UnariesFromSoftmax(picture.softmax), extent));
  defaults.updates = updates;
  return defaults;
}

SolveOptions MeanFieldOptions(int updates) {
  SolveOptions options;
  options.method = Method::kMeanField;
  options.dense.marginals = DenseMarginals::kMeanField;
  options.dense.certify = Certify::kNone;
  options.dense.pairs.kind = OperatorKind::kLattice;
  if (updates > 0) options.dense.updates = updates;
  return options;
}

Matrix<float> MeanFieldMarginals(const LabelledPicture& picture,
                                 const SegmentationParameters& parameters, int updates,
                                 const std::optional<LabelSpace>& labels) {
  SolveResult solved = Solve(
      CliqueCrf<DenseCrf>(SegmentationModel(picture.softmax, picture.view(), parameters, labels),
                          SegmentationCliques(picture.view(), parameters)),
      MeanFieldOptions(updates));
  return std::get<Matrix<float>>(std::move(solved.marginals));
}

SegmentationParameters FitResult::Advised() const {
  SegmentationParameters advised = all.parameters;
  if (advice == FitAdvice::kLeaveAlone) {
    advised.position_weight = advised.bilateral_weight = 0.0;
    advised.softmax_temperature = 1.0;
    advised.superpixel_sizes.clear();
  }
  return advised;
}

int ShrinkFactor(int width, int height, int pixels) {
  int factor = 1;
  while (static_cast<std::int64_t>(width / factor) * (height / factor) > pixels &&
         factor < std::min(width, height))
    ++factor;
  return factor;
}

LabelledPicture Shrunk(const LabelledPicture& picture, int factor) {
  LabelledPicture small;
  small.name = picture.name;
  small.width = picture.width / factor;
  small.height = picture.height / factor;
  small.channels = picture.channels;
  small.contents = picture.contents;
  const auto channels = static_cast<std::size_t>(picture.channels);
  const std::size_t labels = picture.softmax.cols();
  const auto pixels =
      static_cast<std::size_t>(small.width) * static_cast<std::size_t>(small.height);
  small.samples.resize(pixels * channels);
  small.softmax = Matrix<float>(pixels, labels);
  small.truth.resize(pixels);
  const float share = 1.0F / static_cast<float>(factor * factor);
  std::vector<int> votes(labels);
  for (std::size_t a = 0; a < pixels; ++a) {
    const int left = factor * static_cast<int>(a % static_cast<std::size_t>(small.width));
    const int top = factor * static_cast<int>(a / static_cast<std::size_t>(small.width));
    std::fill(votes.begin(), votes.end(), 0);
    for (int y = top; y < top + factor; ++y) {
      for (int x = left; x < left + factor; ++x) {
        const auto b = static_cast<std::size_t>(y) * static_cast<std::size_t>(picture.width) +
                       static_cast<std::size_t>(x);
        for (std::size_t c = 0; c < channels; ++c)
          small.samples[a * channels + c] += share * picture.samples[b * channels + c];
        for (std::size_t l = 0; l < labels; ++l)
          small.softmax(a, l) += share * picture.softmax(b, l);
        if (picture.truth[b] != kUnknownLabel) ++votes[static_cast<std::size_t>(picture.truth[b])];
      }
    }
    const auto most = std::max_element(votes.begin(), votes.end());
    small.truth[a] = *most == 0 ? kUnknownLabel : static_cast<int>(most - votes.begin());
  }
  return small;
}

void CheckFit(std::span<const LabelledPicture> pictures, const FitOptions& options) {
  if (pictures.size() < 2) {
    throw InvalidInput(
        fmt::format("{} labelled pictures were given, expected at least 2: one to "
                    "learn from and one to be scored",
                    pictures.size()));
  }
  for (const LabelledPicture& picture : pictures) {
    const LabelledPicture& first = pictures.front();
    if (picture.num_labels() == first.num_labels()) continue;
    throw InvalidInput(fmt::format("the softmax of {} has {} labels, that of {} has {}",
                                   picture.name, picture.num_labels(), first.name,
                                   first.num_labels()));
  }
  if (options.labels && options.labels->num_labels() != pictures.front().num_labels()) {
    throw InvalidInput(fmt::format("the metric has {} labels, the softmax of {} has {}",
                                   options.labels->num_labels(), pictures.front().name,
                                   pictures.front().num_labels()));
  }
  for (const double size : options.superpixel_sizes) {
    if (!(size >= 2.0) || !std::isfinite(size))
      throw InvalidInput(fmt::format(
          "the size of superpixels is {}, expected a finite number of pixels from 2 on", size));
  }
  if (options.folds < 2 || static_cast<std::size_t>(options.folds) > pictures.size()) {
    throw InvalidInput(
        fmt::format("the number of folds is {}, expected 2 to {}, the number of pictures",
                    options.folds, pictures.size()));
  }
}

FitResult FitParameters(std::span<const LabelledPicture> pictures, const FitOptions& options,
                        FitMemory* memory, const FitWatch& watch) {
  CheckFit(pictures, options);
  const std::vector<int> fold_of = Folds(pictures.size(), options.folds, options.seed);
  Evaluations evaluations(pictures, options, memory, watch);
  std::vector<std::size_t> everyone(pictures.size());
  std::iota(everyone.begin(), everyone.end(), std::size_t{0});
  FitResult result;
  result.all = Search(pictures, everyone, "all pictures", options, &evaluations);
  for (int fold = 0; fold < options.folds; ++fold) {
    std::vector<std::size_t> others;
    for (const std::size_t p : everyone) {
      if (fold_of[p] != fold) others.push_back(p);
    }
    result.folds.push_back(Search(pictures, others,
                                  fmt::format("without fold {} of {}", fold + 1, options.folds),
                                  options, &evaluations));
  }
  for (const std::size_t p : everyone) {
    evaluations.Tell(fmt::format("scoring {}", pictures[p].name));
    const FitSearch& search = result.folds[static_cast<std::size_t>(fold_of[p])];
    result.held_out.push_back(ScoreHeldOut(pictures[p], fold_of[p], search.parameters, options));
  }
  result.fitted = CompareHeldOut(result.held_out, &HeldOut::fitted, &HeldOut::thin_fitted);
  result.defaults = CompareHeldOut(result.held_out, &HeldOut::defaults, &HeldOut::thin_defaults);
  result.fitted_value = ChangeOf(result.held_out, &HeldOut::fitted, options.score);
  result.defaults_value = ChangeOf(result.held_out, &HeldOut::defaults, options.score);
  result.advice = AdviceOf(result);
  return result;
}

}  // namespace submarine::internal
