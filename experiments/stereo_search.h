// The search for the numbers of semi-global matching, and what it is worth on pairs that it has not seen.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/stereo_bench.h"
#include "submarine/stereo/match/semi_global.h"

namespace submarine::apps {

// A number that was searched for: where the literature has it (the first value), and what else is tried.
struct SearchedConstant {
  std::string name;
  std::vector<double> values;
  void (*set)(double value, internal::SemiGlobalOptions* options);
  double (*get)(const internal::SemiGlobalOptions& options);
};
const std::vector<SearchedConstant>& SearchedConstants();

// One value each.
using Choice = std::vector<double>;
Choice ChoiceOfLiterature();
Choice ChoiceOfDefaults();
internal::SemiGlobalOptions OptionsOf(const Choice& choice);

// Shares of pixels that are off by more than 0.5, 1 and 2: of all, of those that the right view sees, and of the
// others.
inline constexpr std::size_t kSearchMeasures = 9;
using StereoScores = std::array<double, kSearchMeasures>;
extern const std::array<const char*, kSearchMeasures> kSearchMeasureNames;

// 1 where the right view sees the pixel, by the truth of the left view alone: its match is inside, and no pixel of
// larger disparity has the same. NaN: unknown.
std::vector<std::uint8_t> VisibleByTruth(const std::vector<float>& truth, int width);

// Of disparities without the CRF.
StereoScores ScoresOf(const BenchPair& pair, const Choice& choice);

// The mean over pairs and measures of a candidate's rank among all, ties shared: less is better. Of
// scores[candidate][pair].
std::vector<double> MeanRanks(const std::vector<std::vector<StereoScores>>& scores);

// One constant after the other, `sweeps` times, the value of least mean rank: scores(choice) has those of the pairs
// that may be looked at.
Choice SearchConstants(const std::function<std::vector<StereoScores>(const Choice& choice)>& scores,
                       int sweeps);

}  // namespace submarine::apps
