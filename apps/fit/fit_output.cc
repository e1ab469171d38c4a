#include "apps/fit/fit_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/cli/messages.h"
#include "apps/fit/markdown_table.h"
#include "submarine/base/version.h"

namespace submarine::apps {
namespace {

using Json = nlohmann::ordered_json;

constexpr FitScore kScores[] = {FitScore::kMeanIou, FitScore::kAccuracy, FitScore::kLikelihood};

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
  return fmt::format(
      "position {:.4g} px weight {:.4g}, bilateral {:.4g} px / {:.4g} levels weight {:.4g}, "
      "softmax "
      "temperature {:.4g}",
      p.position_sigma, p.position_weight, p.bilateral_sigma, p.colour_sigma, p.bilateral_weight,
      p.softmax_temperature);
}

std::string HeldOutSentence(const FitResult& result, FitScore score) {
  const FitMeans means = HeldOutMeans(result, score);
  return fmt::format("{} held out: {} fitted, {} by the defaults (better on {} of {} pictures)",
                     NameOf(score), Shown(means.fitted, score), Shown(means.defaults, score),
                     means.better, result.held_out.size());
}

// The best score after every evaluation of each search.
Json SearchesPlot(const FitResult& result, const FitSettings& settings) {
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

FitMeans HeldOutMeans(const FitResult& result, FitScore score) {
  FitMeans means;
  for (const HeldOut& held_out : result.held_out) {
    const double fitted = ValueOf(held_out.fitted, score);
    const double defaults = ValueOf(held_out.defaults, score);
    means.fitted += fitted / static_cast<double>(result.held_out.size());
    means.defaults += defaults / static_cast<double>(result.held_out.size());
    means.better += fitted > defaults ? 1 : 0;
  }
  return means;
}

std::string FitText(const FitResult& result, const FitSettings& settings) {
  std::string text = fmt::format("Fitted on {} pictures: {}.\n", result.held_out.size(),
                                 ParameterText(result.all.parameters));
  for (const FitScore score : kScores) {
    text += fmt::format("{}{}.\n", HeldOutSentence(result, score),
                        score == settings.score ? ", which was searched for" : "");
  }
  const FitMeans means = HeldOutMeans(result, settings.score);
  if (!(means.fitted > means.defaults)) {
    text +=
        "Held out, the fitted parameters are no better than the defaults: use the defaults, or "
        "more "
        "pictures.\n";
  }
  return text;
}

std::string FitMarkdown(const FitResult& result, const FitSettings& settings) {
  MarkdownTable pictures({"picture", "fold", "mean IoU: defaults", "fitted", "accuracy: defaults",
                          "fitted", "NLL: defaults", "fitted", "ECE: defaults", "fitted"});
  for (const HeldOut& h : result.held_out) {
    std::vector<std::string> cells = {h.picture, fmt::format("{}", h.fold + 1)};
    for (const FitScore score : kScores) {
      cells.push_back(Shown(ValueOf(h.defaults, score), score));
      cells.push_back(Shown(ValueOf(h.fitted, score), score));
    }
    for (const SegmentResult* r : {&h.defaults, &h.fitted})
      cells.push_back(fmt::format("{:.2f}%", 100.0 * r->calibration_error));
    pictures.Add(cells);
  }
  MarkdownTable searches({"search", "parameters", "score where it was made", "of the defaults"});
  const auto add = [&](const std::string& name, const FitSearch& search) {
    searches.Add({name, ParameterText(search.parameters), Shown(search.value, settings.score),
                  Shown(search.default_value, settings.score)});
  };
  add("all pictures", result.all);
  for (std::size_t k = 0; k < result.folds.size(); ++k)
    add(fmt::format("without fold {}", k + 1), result.folds[k]);
  return fmt::format(
             "Searched for {}, {} iterations of mean field, seed {}; submarine {}.\n\n**Held "
             "out**: "
             "every picture at its full size by parameters found without it.\n\n",
             NameOf(settings.score), settings.iterations, settings.seed, kVersion) +
         pictures.text() +
         fmt::format("\n**Searches**, on pictures shrunk to at most {} pixels.\n\n",
                     settings.pixels) +
         searches.text();
}

Json FitProvenance(const FitResult& result, const FitSettings& settings) {
  Json pictures = Json::array();
  for (const HeldOut& held_out : result.held_out) pictures.push_back(held_out.picture);
  Json scores = Json::object();
  for (const FitScore score : kScores) {
    const FitMeans means = HeldOutMeans(result, score);
    const double sign = score == FitScore::kLikelihood ? -1.0 : 1.0;
    scores[ToString(score)] = {{"fitted", sign * means.fitted},
                               {"defaults", sign * means.defaults},
                               {"better_on", means.better}};
  }
  return {{"score", ToString(settings.score)},
          {"held_out", scores},
          {"folds", settings.folds},
          {"evaluations", settings.evaluations},
          {"pixels", settings.pixels},
          {"seed", settings.seed},
          {"pictures", pictures},
          {"version", kVersion}};
}

Json FitSummary(const FitResult& result, const FitSettings& settings) {
  Json facts = Json::array({{"parameters", ParameterText(result.all.parameters)}});
  for (const FitScore score : kScores)
    facts.push_back({NameOf(score), HeldOutSentence(result, score)});
  return {{"kind", "fit"},
          {"parameters", ToJson(result.all.parameters)},
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
