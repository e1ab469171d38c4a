#include "apps/fit/fit_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/cli/messages.h"
#include "apps/experiments/figure.h"
#include "apps/experiments/tables.h"
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
            {"figures", Json::array({{{"name", "Searches"}, {"file", "figure.png"}}})},
            {"facts", facts},
            {"notes",
             Json::array({"Held out: every picture at its full size by parameters that were found "
                          "without it."})}}}};
}

void WriteFitFigure(const std::filesystem::path& directory, const FitResult& result,
                    const FitSettings& settings) {
  constexpr double kWidth = 680.0, kHeight = 380.0;
  constexpr double kLeft = 76.0, kRight = 170.0, kTop = 44.0, kBottom = 46.0;
  constexpr std::array<std::array<double, 3>, 6> kColours = {{{0.00, 0.45, 0.70},
                                                              {0.90, 0.62, 0.00},
                                                              {0.00, 0.62, 0.45},
                                                              {0.80, 0.47, 0.65},
                                                              {0.34, 0.71, 0.91},
                                                              {0.84, 0.37, 0.00}}};
  std::vector<const FitSearch*> searches = {&result.all};
  for (const FitSearch& fold : result.folds) searches.push_back(&fold);
  double low = result.all.default_value, high = low;
  std::size_t length = 2;
  for (const FitSearch* search : searches) {
    low = std::min(low, search->default_value);
    high = std::max(high, search->value);
    length = std::max(length, search->best_so_far.size());
  }
  const double margin = std::max(0.05 * (high - low), 1e-4);
  low -= margin;
  high += margin;
  const auto x = [&](double k) {
    return kLeft + k / static_cast<double>(length - 1) * (kWidth - kLeft - kRight);
  };
  const auto y = [&](double value) {
    return kHeight - kBottom - (value - low) / (high - low) * (kHeight - kTop - kBottom);
  };
  WriteFigure(directory, kWidth, kHeight, [&](Canvas* canvas) {
    canvas->Grey(0.1);
    canvas->Text(
        fmt::format("Best {} so far, pictures that the search saw", NameOf(settings.score)), kLeft,
        24.0, 0.0, 14.0);
    canvas->Text("evaluations", (kLeft + kWidth - kRight) / 2.0, kHeight - 12.0, 0.5, 12.0);
    double step = std::pow(10.0, std::floor(std::log10((high - low) / 3.0)));
    if ((high - low) / step > 12.0) step *= 5.0;
    if ((high - low) / step > 6.0) step *= 2.0;
    for (double tick = std::ceil(low / step) * step; tick <= high; tick += step) {
      canvas->Grey(0.88);
      canvas->Line(kLeft, y(tick), kWidth - kRight, y(tick));
      canvas->Grey(0.1);
      canvas->Text(Shown(tick, settings.score), kLeft - 6.0, y(tick) + 4.0, 1.0, 11.0);
    }
    std::size_t every = 1;  // of 1, 2, 5, 10, ...
    for (std::size_t k = 0; length / every > 7; ++k) every = every * (k % 3 == 1 ? 5 : 4) / 2;
    for (std::size_t k = every; k <= length; k += every)
      canvas->Text(fmt::format("{}", k), x(static_cast<double>(k - 1)), kHeight - kBottom + 16.0,
                   0.5, 11.0);
    for (std::size_t s = 0; s < searches.size(); ++s) {
      canvas->Colour(kColours[s % kColours.size()]);
      const std::vector<double>& best = searches[s]->best_so_far;
      for (std::size_t k = 1; k < best.size(); ++k) {
        canvas->Line(x(static_cast<double>(k - 1)), y(best[k - 1]), x(static_cast<double>(k)),
                     y(best[k]), 1.6);
      }
      const double row = kTop + 12.0 + 20.0 * static_cast<double>(s);
      canvas->Line(kWidth - kRight + 14.0, row - 4.0, kWidth - kRight + 34.0, row - 4.0, 2.0);
      canvas->Grey(0.1);
      canvas->Text(s == 0 ? "all pictures" : fmt::format("without fold {}", s),
                   kWidth - kRight + 40.0, row, 0.0, 12.0);
    }
  });
}

}  // namespace submarine::apps
