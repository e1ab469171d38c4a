#include "apps/stereo/stereo_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <variant>

#include "apps/solve/solve_output.h"
#include "submarine/io/image/png.h"
#include "submarine/solve/method/expectations.h"
#include "submarine/stereo/disparity.h"

namespace submarine::apps {
namespace {

using internal::Calibration;
using internal::DisparityErrors;
using internal::Sparsification;

using Json = nlohmann::ordered_json;

constexpr double kPngFactor = 256.0;  // of disparity.png, as in many benchmarks
constexpr double kLargestShownError = 4.0;

std::string Percent(double share) { return fmt::format("{:.2f}%", 100.0 * share); }

Json ErrorsJson(const DisparityErrors& errors) {
  return {{"pixels", errors.pixels},
          {"bad_0.5", errors.bad_half},
          {"bad_1", errors.bad_one},
          {"bad_2", errors.bad_two},
          {"mean_absolute", errors.mean_absolute}};
}

void AddErrorFacts(const DisparityErrors& errors, const std::string& where, PicturePage* page) {
  page->AddFact(fmt::format("bad pixels, > 1 px{}", where), Percent(errors.bad_one));
  page->AddFact(fmt::format("bad pixels, > 0.5 px{}", where), Percent(errors.bad_half));
  page->AddFact(fmt::format("bad pixels, > 2 px{}", where), Percent(errors.bad_two));
  page->AddFact(fmt::format("mean absolute error{}", where),
                fmt::format("{:.3f} px", errors.mean_absolute));
}

void AddEvaluation(const StereoEvaluation& evaluation, PicturePage* page) {
  page->AddLead(
      Percent(evaluation.all.bad_one),
      fmt::format("of {} known pixels are bad: off by more than 1 px", evaluation.all.pixels));
  page->AddLead(fmt::format("{:.3f} px", evaluation.all.mean_absolute), "mean absolute error");
  AddErrorFacts(evaluation.all, "", page);
  if (evaluation.visible) AddErrorFacts(*evaluation.visible, " (not occluded)", page);
  if (evaluation.occluded) AddErrorFacts(*evaluation.occluded, " (occluded)", page);
  if (!evaluation.sparsification) return;
  const Sparsification& s = *evaluation.sparsification;
  page->AddFact("area under the sparsification curve (oracle, chance)",
                fmt::format("{:.4f} ({:.4f}, {:.4f})", s.area, s.oracle_area, s.random_area));
  page->AddFact("expected calibration error", Percent(evaluation.calibration->expected_error));
  page->AddPlot(
      {{"title", "Does uncertainty point at errors?"},
       {"x", {{"label", "share of most uncertain pixels removed"}, {"values", s.removed}}},
       {"y", {{"label", "bad pixels (> 1 px) among the rest"}}},
       {"series", Json::array({{{"name", "by uncertainty"}, {"values", s.by_uncertainty}},
                               {{"name", "by true error (oracle)"}, {"values", s.oracle}}})},
       {"style", "line"}});
  page->AddPlot({{"title", "Do probabilities mean what they say?"},
                 {"x",
                  {{"label", "marginal mass within 1 px of the estimate"},
                   {"values", evaluation.calibration->confidence}}},
                 {"y", {{"label", "share of pixels that are within 1 px"}}},
                 {"series", Json::array({{{"name", "pixels of this confidence"},
                                          {"values", evaluation.calibration->frequency}}})},
                 {"diagonal", true},
                 {"style", "points"}});
}

void AddTruth(const StereoSettings& settings, const StereoResult& result, const StereoTruth& truth,
              PicturePage* page) {
  page->AddColoured("ground truth", "truth_colour", truth.disparity, 0.0, settings.disparities - 1,
                    "px");
  std::vector<float> error(truth.disparity.size());
  for (std::size_t a = 0; a < error.size(); ++a)
    error[a] = std::abs(result.disparities[a] - truth.disparity[a]);
  page->AddColoured("error", "error_colour", error, 0.0, kLargestShownError, "px");
  page->AddValues("truth", "truth", truth.disparity, "px");
  page->AddValues("error", "error", error, "px");
}

void WriteDisparityPng(const Bundle& bundle, const StereoPair& pair,
                       const std::vector<float>& disparities) {
  std::vector<std::uint16_t> samples(disparities.size());
  std::transform(disparities.begin(), disparities.end(), samples.begin(), [](float d) {
    return static_cast<std::uint16_t>(std::clamp(std::lround(kPngFactor * d), 0L, 65535L));
  });
  WritePng16(bundle.File("disparity.png"), pair.width, pair.height, samples);
}

}  // namespace

StereoResult ConcludeStereo(const SolveResult* outcome, const internal::SemiGlobalMatch* match,
                            const StereoTruth& truth) {
  const auto* marginals =
      outcome != nullptr ? &std::get<Matrix<float>>(outcome->marginals) : nullptr;
  StereoResult result;
  if (match != nullptr) {
    result.disparities =
        outcome != nullptr ? StereoDisparities(*match, outcome->labels) : FastDisparities(*match);
    result.occluded = Occluded(*match);
  } else {
    result.disparities = RefinedDisparities(*marginals, outcome->labels);
  }
  if (marginals != nullptr) result.uncertainty = StereoUncertainty(*marginals, result.disparities);
  if (!truth.disparity.empty()) {
    result.evaluation = EvaluateStereo(result.disparities, marginals, result.uncertainty,
                                       truth.disparity, truth.mask);
  }
  return result;
}

std::vector<ProvenValue> ProveDisparities(const SolveResult& outcome, const StereoResult& result,
                                          const StereoTruth& truth,
                                          const std::vector<std::uint8_t>& region) {
  constexpr double kNear = 1.0;
  const auto& marginals = std::get<Matrix<float>>(outcome.marginals);
  const std::size_t n = marginals.rows();
  const auto has = [&](std::size_t a) { return region.empty() || region[a] != 0; };
  std::size_t pixels = 0;
  double sum = 0.0;
  double true_sum = 0.0;
  bool all_true = !truth.disparity.empty();
  Matrix<double> near(n, marginals.cols(), 0.0);
  Matrix<double> disparity(n, marginals.cols(), 0.0);
  for (std::size_t a = 0; a < n; ++a) {
    if (!has(a)) continue;
    ++pixels;
    sum += result.disparities[a];
    all_true = all_true && std::isfinite(truth.disparity[a]);
    if (all_true) true_sum += truth.disparity[a];
    for (std::size_t i = 0; i < marginals.cols(); ++i) {
      disparity(a, i) = static_cast<double>(i);
      near(a, i) = std::abs(static_cast<double>(i) - result.disparities[a]) <= kNear ? 1.0 : 0.0;
    }
  }
  const std::string where = region.empty() ? "" : " in the region";
  const double each = 1.0 / static_cast<double>(pixels);
  std::vector<ProvenValue> proven;
  proven.push_back({.name = fmt::format("disparities{} within 1 px if the model is right", where),
                    .unit = "%",
                    .scale = 100.0 * each,
                    .found = ExpectationOf(outcome, near)});
  proven.push_back({.name = fmt::format("mean disparity{}", where),
                    .unit = "px",
                    .scale = each,
                    .most = static_cast<double>(marginals.cols() - 1),
                    .found = ExpectationOf(outcome, disparity),
                    .of_labels = sum * each});
  if (all_true) proven.back().of_truth = true_sum * each;
  return proven;
}

std::string ProvenText(const std::vector<ProvenValue>& proven, bool of_region) {
  if (proven.empty()) return "";
  const char* where = of_region ? " in the region" : "";
  const ProvenValue& near = proven[0];
  const ProvenValue& mean = proven[1];
  if (TooWide(near) && TooWide(mean))
    return fmt::format("The interval is too wide to say anything of the disparities{}.\n", where);
  std::string text;
  if (!TooWide(near)) {
    text += fmt::format(
        "Proven: with a probability of at least 99.9%, {} of these disparities{} are within 1 px "
        "of "
        "the true ones if the model is right.{}\n",
        RangeText(near), where, ClaimText(near));
  }
  if (!TooWide(mean)) {
    text += fmt::format("Mean disparity{}, with a probability of at least 99.9%: {}.{}\n", where,
                        RangeText(mean), ClaimText(mean));
  }
  return text;
}

Json SettingsJson(const StereoSettings& settings, const std::string& left, const std::string& right,
                  int shrink) {
  Json json = {
      {"left", left}, {"right", right}, {"shrink", shrink}, {"disparities", settings.disparities}};
  if (settings.semi_global) {
    const StereoCrfOptions& crf = *settings.semi_global;
    json["unary"] = "semi-global";
    json["metric"] = fmt::format("truncated:{}", crf.truncation);
    json["bilateral"] = {crf.sigma, crf.colour_sigma, crf.weight};
    return json;
  }
  const MatchingOptions& matching = settings.matching;
  json["unary"] = ToString(matching);
  json["truncate"] = std::isfinite(matching.truncate) ? Json(matching.truncate) : Json(nullptr);
  json["scale"] = matching.factor;
  json["metric"] = settings.metric;
  json["position"] = {settings.position_sigma, settings.position_weight};
  json["bilateral"] = {settings.bilateral_sigma, settings.bilateral_colour_sigma,
                       settings.bilateral_weight};
  json["guide"] = settings.guide_by_right ? "right" : "left";
  return json;
}

Json EvaluationJson(const StereoEvaluation& evaluation, const std::string& truth) {
  Json json = {{"file", truth}, {"all", ErrorsJson(evaluation.all)}};
  if (evaluation.visible) json["not_occluded"] = ErrorsJson(*evaluation.visible);
  if (evaluation.occluded) json["occluded"] = ErrorsJson(*evaluation.occluded);
  if (evaluation.sparsification) {
    const Sparsification& s = *evaluation.sparsification;
    json["sparsification"] = {{"removed", s.removed},
                              {"by_uncertainty", s.by_uncertainty},
                              {"oracle", s.oracle},
                              {"area", s.area},
                              {"oracle_area", s.oracle_area},
                              {"chance_area", s.random_area},
                              {"error", s.area - s.oracle_area}};
  }
  if (evaluation.calibration) {
    const Calibration& c = *evaluation.calibration;
    json["calibration"] = {{"confidence", c.confidence},
                           {"frequency", c.frequency},
                           {"count", c.count},
                           {"expected_error", c.expected_error}};
  }
  return json;
}

std::string EvaluationText(const StereoEvaluation& evaluation) {
  const DisparityErrors& errors = evaluation.all;
  std::string text = fmt::format(
      "Bad pixels: {} beyond 0.5 px, {} beyond 1 px, {} beyond 2 px of {} known; mean error {:.3f} "
      "px.\n",
      Percent(errors.bad_half), Percent(errors.bad_one), Percent(errors.bad_two), errors.pixels,
      errors.mean_absolute);
  if (evaluation.visible) {
    text += fmt::format("Not occluded: {} beyond 1 px of {}.\n",
                        Percent(evaluation.visible->bad_one), evaluation.visible->pixels);
  }
  if (evaluation.sparsification && evaluation.calibration) {
    text += fmt::format(
        "Uncertainty: area {:.4f} above the best order of pixels (AUSE), calibration error {}.\n",
        evaluation.sparsification->area - evaluation.sparsification->oracle_area,
        Percent(evaluation.calibration->expected_error));
  }
  return text;
}

PicturePage StereoPage(const Bundle* bundle, const std::string& title, const StereoPair& pair,
                       const StereoSettings& settings, const SolveResult* outcome,
                       const StereoResult& result, const StereoTruth& truth, int top) {
  PicturePage page(bundle, pair.width, pair.height, title);
  const double last = settings.disparities - 1;
  WriteDisparityPng(*bundle, pair, result.disparities);
  page.AddPicture("left view", "left", pair.channels, pair.left);
  page.AddColoured("disparity", "disparity_colour", result.disparities, 0.0, last, "px",
                   PanelRole::kMain);
  if (!result.uncertainty.empty())
    page.AddColoured("uncertainty", "uncertainty_colour", result.uncertainty, 0.0, 1.0, "");
  if (!result.occluded.empty()) {
    std::vector<float> mask(result.occluded.size());
    std::transform(result.occluded.begin(), result.occluded.end(), mask.begin(),
                   [](std::uint8_t occluded) { return occluded != 0 ? 255.0F : 0.0F; });
    page.AddPicture("occluded", "occluded", 1, mask);
  }
  if (result.evaluation) AddTruth(settings, result, truth, &page);
  page.AddValues("disparity", "disparity", result.disparities, "px");
  if (!result.uncertainty.empty())
    page.AddValues("uncertainty", "uncertainty", result.uncertainty, "");
  if (outcome != nullptr) {
    std::vector<std::string> names;
    for (int k = 0; k < settings.disparities; ++k) names.push_back(fmt::format("{}", k));
    page.AddMarginals(outcome->marginals, top, "disparity (px)", names);
  }
  if (result.evaluation) AddEvaluation(*result.evaluation, &page);
  const auto [least, largest] =
      std::minmax_element(result.disparities.begin(), result.disparities.end());
  page.AddLead(fmt::format("{:.1f} to {:.1f} px", *least, *largest), "of disparity");
  if (!result.uncertainty.empty()) {
    page.AddNote(
        "Uncertainty is the probability that a disparity is off by more than one pixel, by the "
        "pixel's marginal.");
  }
  if (!result.occluded.empty()) {
    page.AddNote(
        "Occluded pixels are those whose disparity the right view does not confirm: it is filled "
        "in "
        "from similar pixels, else from the background.");
  }
  return page;
}

}  // namespace submarine::apps
