#include "experiments/stereo_search.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "submarine/stereo/evaluation.h"
#include "submarine/stereo/match/stereo_crf.h"

namespace submarine::apps {
namespace {

using internal::SemiGlobalOptions;

template <auto kPart, auto kMember>
SearchedConstant Constant(const char* name, std::vector<double> values) {
  return {name, std::move(values),
          [](double value, SemiGlobalOptions* options) {
            auto& member = (options->*kPart).*kMember;
            member = static_cast<std::remove_reference_t<decltype(member)>>(value);
          },
          [](const SemiGlobalOptions& options) {
            return static_cast<double>((options.*kPart).*kMember);
          }};
}

}  // namespace

// First what AD-Census has (Mei et al. 2011), or nothing where the step is not in it.
const std::vector<SearchedConstant>& SearchedConstants() {
  using Costs = internal::CensusDifferenceOptions;
  using Paths = internal::PathOptions;
  using Filling = internal::FillingOptions;
  using Planes = internal::PlaneOptions;
  constexpr auto kCosts = &SemiGlobalOptions::costs;
  constexpr auto kPaths = &SemiGlobalOptions::paths;
  constexpr auto kFilling = &SemiGlobalOptions::filling;
  constexpr auto kPlanes = &SemiGlobalOptions::planes;
  static const std::vector<SearchedConstant> kConstants = {
      Constant<kCosts, &Costs::census_scale>("census scale", {30, 15, 60}),
      Constant<kCosts, &Costs::difference_weight>("weight of colours", {1.0, 0.6, 0.3, 0.15}),
      Constant<kCosts, &Costs::difference_scale>("scale of colours", {10, 5, 20}),
      Constant<kCosts, &Costs::outside>("cost outside", {1.3, 0.8, 0.5, 0.3}),
      Constant<kPaths, &Paths::one>("penalty of 1", {1.0, 0.7, 0.5, 0.35}),
      Constant<kPaths, &Paths::more>("penalty of more", {3.0, 2.0, 4.5}),
      Constant<kPaths, &Paths::step>("step of colour", {15, 12, 8, 20}),
      Constant<kPaths, &Paths::one_view>("divisor, one view", {4, 2, 6}),
      Constant<kPaths, &Paths::both_views>("divisor, both views", {10, 6, 16}),
      {"weight of coarser level",
       {0.0, 0.05, 0.1, 0.2},
       [](double value, SemiGlobalOptions* options) { options->prior_weight = value; },
       [](const SemiGlobalOptions& options) { return options.prior_weight; }},
      Constant<kFilling, &Filling::colour>("colour of arms", {20, 12, 30}),
      Constant<kFilling, &Filling::least_share>("share of votes", {0.4, 0.25, 0.55}),
      Constant<kFilling, &Filling::slack>("slack of possible", {1000, 4, 2, 1}),
      Constant<kFilling, &Filling::colour_scale>("colour of medians", {8, 5, 3, 12}),
      Constant<kPlanes, &Planes::reach>("reach of planes", {0.01, 1.25, 2.5, 5}),
      Constant<kPlanes, &Planes::colour_scale>("colour of planes", {8, 4, 16}),
  };
  return kConstants;
}

Choice ChoiceOfLiterature() {
  Choice choice;
  for (const SearchedConstant& constant : SearchedConstants())
    choice.push_back(constant.values.front());
  return choice;
}

Choice ChoiceOfDefaults() {
  Choice choice;
  for (const SearchedConstant& constant : SearchedConstants()) choice.push_back(constant.get({}));
  return choice;
}

SemiGlobalOptions OptionsOf(const Choice& choice) {
  SemiGlobalOptions options;
  for (std::size_t c = 0; c < choice.size(); ++c) SearchedConstants()[c].set(choice[c], &options);
  return options;
}

const std::array<const char*, kSearchMeasures> kSearchMeasureNames = {
    "bad_0.5",       "bad_1",          "bad_2",        "visible_bad_0.5", "visible_bad_1",
    "visible_bad_2", "hidden_bad_0.5", "hidden_bad_1", "hidden_bad_2"};

std::vector<std::uint8_t> VisibleByTruth(const std::vector<float>& truth, int width) {
  std::vector<std::uint8_t> visible(truth.size(), 0);
  const auto w = static_cast<std::size_t>(width);
  for (std::size_t row = 0; row < truth.size(); row += w) {
    std::vector<float> nearest(w, -1.0F);
    const auto match = [&](std::size_t x) {
      return std::lround(static_cast<float>(x) - truth[row + x]);
    };
    for (std::size_t x = 0; x < w; ++x) {
      if (std::isnan(truth[row + x]) || match(x) < 0) continue;
      float& there = nearest[static_cast<std::size_t>(match(x))];
      there = std::max(there, truth[row + x]);
    }
    for (std::size_t x = 0; x < w; ++x) {
      if (std::isnan(truth[row + x]) || match(x) < 0) continue;
      // Neighbours on a slanted surface may share a match.
      visible[row + x] =
          nearest[static_cast<std::size_t>(match(x))] - truth[row + x] <= 1.0F ? 1 : 0;
    }
  }
  return visible;
}

StereoScores ScoresOf(const BenchPair& pair, const Choice& choice) {
  const internal::SemiGlobalMatch match = MatchSemiGlobal(
      pair.views.LeftView(), pair.views.RightView(), pair.settings.disparities, OptionsOf(choice));
  const std::vector<float> disparities = FastDisparities(match);
  std::vector<std::uint8_t> mask = VisibleByTruth(pair.truth, pair.views.width);
  StereoScores scores;
  std::size_t next = 0;
  const auto add = [&](const std::vector<std::uint8_t>& of) {
    const internal::DisparityErrors errors =
        internal::CompareDisparities(disparities, pair.truth, of);
    for (const double bad : {errors.bad_half, errors.bad_one, errors.bad_two}) scores[next++] = bad;
  };
  add({});
  add(mask);
  for (std::uint8_t& of : mask) of = of == 0 ? 1 : 0;
  add(mask);
  return scores;
}

std::vector<double> MeanRanks(const std::vector<std::vector<StereoScores>>& scores) {
  std::vector<double> ranks(scores.size(), 0.0);
  const std::size_t pairs = scores.empty() ? 0 : scores.front().size();
  for (std::size_t p = 0; p < pairs; ++p) {
    for (std::size_t m = 0; m < kSearchMeasures; ++m) {
      for (std::size_t a = 0; a < scores.size(); ++a) {
        for (std::size_t b = 0; b < scores.size(); ++b) {
          const double difference = scores[b][p][m] - scores[a][p][m];
          ranks[a] += difference < 0.0 ? 1.0 : difference == 0.0 ? 0.5 : 0.0;
        }
      }
    }
  }
  for (double& rank : ranks) rank = 0.5 + rank / static_cast<double>(pairs * kSearchMeasures);
  return ranks;
}

Choice SearchConstants(const std::function<std::vector<StereoScores>(const Choice& choice)>& scores,
                       int sweeps) {
  Choice best = ChoiceOfLiterature();
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    const Choice before = best;
    for (std::size_t c = 0; c < best.size(); ++c) {
      const std::vector<double>& values = SearchedConstants()[c].values;
      std::vector<std::vector<StereoScores>> of_values;
      for (const double value : values) {
        Choice choice = best;
        choice[c] = value;
        of_values.push_back(scores(choice));
      }
      const std::vector<double> ranks = MeanRanks(of_values);
      best[c] = values[static_cast<std::size_t>(std::min_element(ranks.begin(), ranks.end()) -
                                                ranks.begin())];
    }
    if (best == before) break;
  }
  return best;
}

}  // namespace submarine::apps
