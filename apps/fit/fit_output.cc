#include "apps/fit/fit_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "apps/cli/messages.h"
#include "apps/fit/markdown_table.h"
#include "submarine/base/version.h"
#include "submarine/io/segmentation/parameters_json.h"

namespace submarine::apps {
namespace {

using Json = nlohmann::ordered_json;

using internal::Change;
using internal::Comparison;
using internal::FitAdvice;
using internal::FitScore;
using internal::FitSearch;
using internal::HeldOut;
using internal::PictureScores;

constexpr FitScore kScores[] = {FitScore::kMeanIou, FitScore::kAccuracy, FitScore::kLikelihood};
// The classifier alone, the defaults, the fitted parameters.
constexpr PictureScores HeldOut::*kSides[] = {&HeldOut::classifier, &HeldOut::defaults,
                                              &HeldOut::fitted};

const char* NameOf(FitScore score) {
  return score == FitScore::kMeanIou    ? "mean IoU"
         : score == FitScore::kAccuracy ? "accuracy"
                                        : "NLL";
}

// In the usual form: NLL is not negated.
std::string Shown(double value, FitScore score) {
  return score == FitScore::kLikelihood ? fmt::format("{:.4f}", -value)
                                        : fmt::format("{:.2f}%", 100.0 * value);
}

std::string ParameterText(const SegmentationParameters& p) {
  std::string text = fmt::format(
      "position {:.4g} px weight {:.4g}, bilateral {:.4g} px / {:.4g} levels weight {:.4g}, "
      "softmax "
      "temperature {:.4g}",
      p.position_sigma, p.position_weight, p.bilateral_sigma, p.colour_sigma, p.bilateral_weight,
      p.softmax_temperature);
  if (!p.superpixel_sizes.empty()) {
    text +=
        fmt::format(", superpixels of {:g} px, gamma {:.4g}, Q {:.4g}",
                    fmt::join(p.superpixel_sizes, " and "), p.superpixel_gamma, p.superpixel_share);
  }
  return text;
}

// Of all held-out pictures together.
double HeldOutValue(const FitResult& result, PictureScores HeldOut::*side, FitScore score) {
  std::vector<PictureScores> all;
  for (const HeldOut& held_out : result.held_out) all.push_back(held_out.*side);
  return internal::ValueOf(all, score);
}

std::string HeldOutSentence(const FitResult& result, FitScore score) {
  return fmt::format("{} held out: {} by the classifier alone, {} by the defaults, {} fitted",
                     NameOf(score), Shown(HeldOutValue(result, kSides[0], score), score),
                     Shown(HeldOutValue(result, kSides[1], score), score),
                     Shown(HeldOutValue(result, kSides[2], score), score));
}

std::vector<std::string> LabelNames(const Comparison& comparison) {
  std::vector<std::string> names;
  for (std::size_t l = 0; l < comparison.iou.size(); ++l)
    names.push_back(fmt::format("label {}", l));
  return names;
}

// What to do, by the score that was searched for.
std::string AdviceText(const FitResult& result) {
  if (result.advice == FitAdvice::kLeaveAlone) {
    return "Held out, smoothing makes it worse: this classifier is best left alone, and "
           "parameters.json has weights of 0.";
  }
  const bool fitted = result.advice == FitAdvice::kFitted;
  std::string text =
      fitted ? "Held out, the fitted parameters are best"
             : "Held out, the fitted parameters are no better than the defaults: use the "
               "defaults, or more pictures";
  if (!(fitted ? result.fitted_value : result.defaults_value).helps())
    text += "; with these pictures that they help is not beyond chance";
  return text + ".";
}

Json ChangeJson(const Change& change) {
  Json json = {{"before", change.before}, {"after", change.after}};
  if (change.interval) json["interval"] = *change.interval;
  return json;
}

// The best score after every evaluation of each search.
Json SearchesPlot(const FitResult& result, const FitOptions& settings) {
  const double sign = settings.score == FitScore::kLikelihood ? -1.0 : 1.0;
  std::size_t length = result.all.best_so_far.size();
  for (const FitSearch& fold : result.folds) length = std::max(length, fold.best_so_far.size());
  Json evaluations = Json::array();
  for (std::size_t k = 1; k <= length; ++k) evaluations.push_back(k);
  Json series = Json::array();
  const auto add = [&](const std::string& name, const FitSearch& search) {
    Json values = Json::array();
    for (const double value : search.best_so_far) values.push_back(sign * value);
    while (values.size() < length) values.push_back(nullptr);
    series.push_back({{"name", name}, {"values", values}});
  };
  add("all pictures", result.all);
  for (std::size_t k = 0; k < result.folds.size(); ++k)
    add(fmt::format("without fold {}", k + 1), result.folds[k]);
  return {{"title",
           fmt::format("Best {} so far, pictures that the search saw", NameOf(settings.score))},
          {"x", {{"label", "evaluations"}, {"values", evaluations}}},
          {"y", {{"label", NameOf(settings.score)}}},
          {"series", series}};
}

}  // namespace

std::string FitText(const FitResult& result, const FitOptions& settings) {
  std::string text = fmt::format("Fitted on {} pictures: {}.\n", result.held_out.size(),
                                 ParameterText(result.all.parameters));
  for (const FitScore score : kScores) {
    text += fmt::format("{}{}.\n", HeldOutSentence(result, score),
                        score == settings.score ? ", which was searched for" : "");
  }
  for (const auto& [name, comparison] :
       {std::pair("Fitted, held out", &result.fitted), {"Defaults", &result.defaults}})
    text += fmt::format("{}: {}\n", name, ComparisonText(*comparison, LabelNames(*comparison)));
  return text + AdviceText(result) + "\n";
}

std::string FitMarkdown(const FitResult& result, const FitOptions& settings) {
  std::vector<std::string> columns = {"picture", "fold"};
  for (const char* score : {"mean IoU", "accuracy", "NLL", "ECE"}) {
    columns.push_back(fmt::format("{}: classifier", score));
    columns.insert(columns.end(), {"defaults", "fitted"});
  }
  MarkdownTable pictures(columns);
  for (const HeldOut& h : result.held_out) {
    std::vector<std::string> cells = {h.picture, fmt::format("{}", h.fold + 1)};
    for (const FitScore score : kScores) {
      for (const auto side : kSides)
        cells.push_back(Shown(internal::ValueOf(std::span(&(h.*side), 1), score), score));
    }
    for (const auto side : kSides)
      cells.push_back(fmt::format("{:.2f}%", 100.0 * (h.*side).probabilities.calibration_error));
    pictures.Add(cells);
  }
  MarkdownTable searches({"search", "parameters", "score where it was made", "at its start"});
  const auto add = [&](const std::string& name, const FitSearch& search) {
    searches.Add({name, ParameterText(search.parameters), Shown(search.value, settings.score),
                  Shown(search.best_so_far.front(), settings.score)});
  };
  add("all pictures", result.all);
  for (std::size_t k = 0; k < result.folds.size(); ++k)
    add(fmt::format("without fold {}", k + 1), result.folds[k]);
  return fmt::format(
             "Searched for {}, {} updates of mean field, seed {}; submarine {}.\n\n**Held "
             "out**: "
             "every picture at its full size by parameters found without it.\n\n{}\n{}\n\n",
             NameOf(settings.score), settings.updates, settings.seed, kVersion,
             ComparisonText(result.fitted, LabelNames(result.fitted)), AdviceText(result)) +
         pictures.text() +
         fmt::format("\n**Searches**, on pictures shrunk to at most {} pixels.\n\n",
                     settings.pixels) +
         searches.text();
}

Json FitProvenance(const FitResult& result, const FitOptions& settings) {
  Json pictures = Json::array();
  for (const HeldOut& held_out : result.held_out) pictures.push_back(held_out.picture);
  Json scores = Json::object();
  for (const FitScore score : kScores) {
    const double sign = score == FitScore::kLikelihood ? -1.0 : 1.0;
    scores[std::string(ToString(score))] = {
        {"classifier", sign * HeldOutValue(result, kSides[0], score)},
        {"defaults", sign * HeldOutValue(result, kSides[1], score)},
        {"fitted", sign * HeldOutValue(result, kSides[2], score)}};
  }
  const auto compared = [](const Comparison& comparison) -> Json {
    return {{"better_on", comparison.better},
            {"worse_on", comparison.worse},
            {"mean_iou", ChangeJson(comparison.mean_iou)},
            {"accuracy", ChangeJson(comparison.accuracy)}};
  };
  return {{"score", ToString(settings.score)},
          {"metric", settings.labels ? settings.labels->metrics.front().name : "potts"},
          {"advice", ToString(result.advice)},
          {"held_out", scores},
          {"fitted", compared(result.fitted)},
          {"defaults", compared(result.defaults)},
          {"folds", settings.folds},
          {"evaluations", settings.evaluations},
          {"pixels", settings.pixels},
          {"seed", settings.seed},
          {"pictures", pictures},
          {"version", kVersion}};
}

Json FitSummary(const FitResult& result, const FitOptions& settings) {
  Json facts =
      Json::array({{"parameters", ParameterText(result.all.parameters)},
                   {"fitted, held out", ComparisonText(result.fitted, LabelNames(result.fitted))},
                   {"what to do", AdviceText(result)}});
  for (const FitScore score : kScores)
    facts.push_back({NameOf(score), HeldOutSentence(result, score)});
  return {{"kind", "fit"},
          {"parameters", internal::ToJson(result.Advised())},
          {"fit", FitProvenance(result, settings)},
          {"version", kVersion},
          {"page",
           {{"title", fmt::format("Parameters fitted to {} pictures", result.held_out.size())},
            {"plots", Json::array({SearchesPlot(result, settings)})},
            {"facts", facts},
            {"notes",
             Json::array({"Held out: every picture at its full size by parameters that were found "
                          "without it."})}}}};
}

}  // namespace submarine::apps
