#include "apps/fit/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "apps/fit/nelder_mead.h"
#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/version.h"
#include "submarine/segmentation/evaluation.h"

namespace submarine::apps {
namespace {

using internal::ParallelFor;
using internal::ThreadLimit;

using Json = nlohmann::ordered_json;
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
};
constexpr double kFirstStep = 0.7;  // about a factor of two

SegmentationParameters ParametersAt(const Point& point, int iterations) {
  SegmentationParameters parameters;
  parameters.iterations = iterations;
  for (std::size_t d = 0; d < point.size(); ++d) {
    // Four digits: more make no difference, and files stay readable.
    const double value = std::exp(point[d]);
    const double unit = std::pow(10.0, std::floor(std::log10(value)) - 3.0);
    parameters.*kCoordinates[d].field = std::round(value / unit) * unit;
  }
  return parameters;
}

std::string KeyOf(const SegmentationParameters& parameters) {
  std::string key;
  for (const Coordinate& coordinate : kCoordinates)
    key += fmt::format("{}{:.4g}", key.empty() ? "" : " ", parameters.*coordinate.field);
  return key;
}

// Sigmas in pixels refer to the full size.
SegmentationParameters AtScale(SegmentationParameters parameters, int factor) {
  parameters.position_sigma /= factor;
  parameters.bilateral_sigma /= factor;
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

// Values of pictures under parameters, each computed once and kept in the store.
class Evaluations {
 public:
  Evaluations(const std::vector<LabelledPicture>& pictures, const FitSettings& settings,
              RunStore* store, const FitWatch& watch)
      : settings_(settings), store_(store), watch_(watch), known_(pictures.size()) {
    Json contents = Json::array();
    for (const LabelledPicture& picture : pictures) {
      factors_.push_back(ShrinkFactor(picture.width, picture.height, settings.pixels));
      small_.push_back(Shrunk(picture, factors_.back()));
      names_.push_back(picture.name);
      contents.push_back(fmt::format("{:016x}", picture.contents));
    }
    // The settings that values depend on. A run with more pictures or evaluations, other folds or
    // another seed reuses the same values.
    about_ = {{"score", ToString(settings.score)},
              {"iterations", settings.iterations},
              {"pixels", settings.pixels},
              {"version", kVersion}};
    for (std::size_t p = 0; p < pictures.size(); ++p) {
      Json about = about_;
      about["contents"] = contents[p];
      if (const auto found = store_->Find(names_[p], about)) Read(p, *found);
    }
    contents_ = std::move(contents);
  }

  // The mean over `chosen` pictures.
  double Mean(const std::vector<std::size_t>& chosen, const SegmentationParameters& parameters) {
    const std::string key = KeyOf(parameters);
    std::vector<std::size_t> missing;
    for (const std::size_t p : chosen) {
      if (known_[p].count(key) == 0) missing.push_back(p);
    }
    std::vector<double> values(missing.size());
    ParallelFor(missing.size(), 1, [&](std::size_t begin, std::size_t end) {
      const ThreadLimit one(1);  // the pictures run in parallel
      for (std::size_t k = begin; k < end; ++k) values[k] = Value(missing[k], parameters);
    });
    for (std::size_t k = 0; k < missing.size(); ++k) {
      known_[missing[k]][key] = values[k];
      Store(missing[k]);
    }
    double sum = 0.0;
    for (const std::size_t p : chosen) sum += known_[p].at(key);
    return sum / static_cast<double>(chosen.size());
  }

  void Tell(const std::string& doing) const {
    if (!watch_(doing)) {
      throw Interrupted(
          "interrupted: the search is not complete; run the same command again to continue");
    }
  }

 private:
  double Value(std::size_t p, const SegmentationParameters& parameters) const {
    const SegmentationParameters scaled = AtScale(parameters, factors_[p]);
    return ValueOf(Score(small_[p], MeanFieldMarginals(small_[p], scaled, settings_.iterations)),
                   settings_.score);
  }

  void Read(std::size_t p, const nlohmann::json& found) {
    try {
      known_[p] = found.get<std::map<std::string, double>>();
    } catch (const nlohmann::json::exception&) {
      store_->Refuse(names_[p]);
    }
  }

  void Store(std::size_t p) const {
    Json about = about_;
    about["contents"] = contents_[p];
    store_->Store(names_[p], {{"parameters", about}, {"result", known_[p]}});
  }

  const FitSettings& settings_;
  RunStore* store_;
  const FitWatch& watch_;
  Json about_;
  Json contents_;
  std::vector<std::string> names_;
  std::vector<LabelledPicture> small_;
  std::vector<int> factors_;
  std::vector<std::map<std::string, double>> known_;  // by KeyOf
};

FitSearch Search(const std::vector<std::size_t>& chosen, const std::string& name,
                 const FitSettings& settings, Evaluations* evaluations) {
  Point start, low, high;
  const SegmentationParameters defaults;
  for (const Coordinate& coordinate : kCoordinates) {
    start.push_back(std::log(defaults.*coordinate.field));
    low.push_back(std::log(coordinate.low));
    high.push_back(std::log(coordinate.high));
  }
  int done = 0;
  const auto cost = [&](const Point& point) {
    evaluations->Tell(fmt::format("{}: {} of {} evaluations", name, done++, settings.evaluations));
    return -evaluations->Mean(chosen, ParametersAt(point, settings.iterations));
  };
  const NelderMeadResult found = MinimiseByNelderMead(
      cost, start, Point(start.size(), kFirstStep), low, high,
      {.max_evaluations = settings.evaluations, .tolerance = 0.01, .seed = settings.seed});
  FitSearch search;
  search.parameters = ParametersAt(found.point, settings.iterations);
  search.value = -found.value;
  search.default_value = evaluations->Mean(chosen, ParametersAt(start, settings.iterations));
  for (const double value : found.best_so_far) search.best_so_far.push_back(-value);
  return search;
}

SegmentResult ScoreAtFullSize(const LabelledPicture& picture,
                              const SegmentationParameters& parameters) {
  return Score(picture, MeanFieldMarginals(picture, parameters, parameters.iterations));
}

}  // namespace

std::string ToString(FitScore score) {
  return score == FitScore::kMeanIou ? "iou" : score == FitScore::kAccuracy ? "accuracy" : "nll";
}

double ValueOf(const SegmentResult& result, FitScore score) {
  return score == FitScore::kMeanIou    ? result.mean_iou
         : score == FitScore::kAccuracy ? result.accuracy
                                        : -result.negative_log_likelihood;
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
        if (picture.truth[b] != internal::kUnknownLabel)
          ++votes[static_cast<std::size_t>(picture.truth[b])];
      }
    }
    const auto most = std::max_element(votes.begin(), votes.end());
    small.truth[a] = *most == 0 ? internal::kUnknownLabel : static_cast<int>(most - votes.begin());
  }
  return small;
}

void CheckFit(const std::vector<LabelledPicture>& pictures, const FitSettings& settings) {
  if (pictures.size() < 2) {
    throw InvalidInput(
        fmt::format("{} labelled pictures were given, expected at least 2: one to "
                    "learn from and one to be scored",
                    pictures.size()));
  }
  for (const LabelledPicture& picture : pictures) RequireSameLabels(pictures.front(), picture);
  if (settings.folds < 2 || static_cast<std::size_t>(settings.folds) > pictures.size()) {
    throw InvalidInput(fmt::format("--folds is {}, expected 2 to {}, the number of pictures",
                                   settings.folds, pictures.size()));
  }
}

FitResult FitParameters(const std::vector<LabelledPicture>& pictures, const FitSettings& settings,
                        RunStore* store, const FitWatch& watch) {
  CheckFit(pictures, settings);
  const std::vector<int> fold_of = Folds(pictures.size(), settings.folds, settings.seed);
  Evaluations evaluations(pictures, settings, store, watch);
  std::vector<std::size_t> everyone(pictures.size());
  std::iota(everyone.begin(), everyone.end(), std::size_t{0});
  FitResult result;
  result.all = Search(everyone, "all pictures", settings, &evaluations);
  for (int fold = 0; fold < settings.folds; ++fold) {
    std::vector<std::size_t> others;
    for (const std::size_t p : everyone) {
      if (fold_of[p] != fold) others.push_back(p);
    }
    result.folds.push_back(Search(others,
                                  fmt::format("without fold {} of {}", fold + 1, settings.folds),
                                  settings, &evaluations));
  }
  SegmentationParameters defaults;
  defaults.iterations = settings.iterations;
  for (const std::size_t p : everyone) {
    evaluations.Tell(fmt::format("scoring {}", pictures[p].name));
    const FitSearch& search = result.folds[static_cast<std::size_t>(fold_of[p])];
    result.held_out.push_back({pictures[p].name, fold_of[p],
                               ScoreAtFullSize(pictures[p], search.parameters),
                               ScoreAtFullSize(pictures[p], defaults)});
  }
  return result;
}

}  // namespace submarine::apps
