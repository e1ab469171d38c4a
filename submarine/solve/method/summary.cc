// The summary of a solve in sentences.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "submarine/base/numbers.h"
#include "submarine/solve/method/result.h"

namespace submarine {
namespace {

std::string Quantity(double temperature) {
  return temperature == 1.0   ? "log Z"
         : temperature == 0.0 ? "the least energy"
                              : fmt::format("T log Z at T = {:g}", temperature);
}

// How far the upper bound is from the best of its kind, which is not its distance from log Z.
std::string OptimalityText(const SolveResult& result) {
  const Certificate& certificate = result.certificate;
  if (!certificate.upper || !certificate.dual || result.termination == Termination::kExact)
    return "";
  const double upper = certificate.upper->value();
  const double gap =
      std::max(0.0, (upper - certificate.dual->value()) / std::max(1.0, std::abs(upper)));
  if (gap > 1.0) return "";  // more than there is says nothing
  return fmt::format(
      "Optimality: no upper bound {} is lower by more than {:.2g}% (optimality gap).\n",
      certificate.extension == "routed"         ? "from these paths and routes"
      : certificate.extension == "fluctuations" ? "whatever"
      : !certificate.extension.empty() ? fmt::format("from the {} extension", certificate.extension)
      : result.method == Method::kRouted ? "from these forests and routes"
                                         : "from these forests",
      100.0 * gap);
}

std::string EnergyText(const SolveResult& result) {
  if (!result.energy) return "";
  const Certificate& certificate = result.certificate;
  // Exact inference at T > 0 does not search for a labeling; its labels have the largest marginals.
  const bool searched = result.termination != Termination::kExact || certificate.temperature == 0.0;
  std::string text =
      fmt::format("{}: energy {}",
                  result.updates > 0 ? fmt::format("Labels of {} updates", result.updates)
                  : searched         ? "Best labeling found"
                                     : "Labeling of the largest marginals",
                  RoundedUp(*result.energy));
  if (certificate.upper)
    text += fmt::format("; no labeling has less than {}", RoundedDown(-certificate.upper->value()));
  return text + ".\n";
}

// Whether the description of the model says of every kernel how its pairs are applied.
bool Names(const std::string& model, std::string_view pairs) {
  constexpr std::string_view kBetween = "; ";
  while (!pairs.empty()) {
    const std::size_t end = std::min(pairs.find(kBetween), pairs.size());
    if (model.find(pairs.substr(0, end)) == std::string::npos) return false;
    pairs.remove_prefix(std::min(end + kBetween.size(), pairs.size()));
  }
  return true;
}

// The output explains intervals that are wider than this, relative to their ends.
constexpr double kWide = 0.1;

std::string IntervalText(const SolveResult& result) {
  const Certificate& certificate = result.certificate;
  const double T = certificate.temperature;
  const std::string what = Quantity(T);
  if (!certificate.lower || !certificate.upper) {
    if (certificate.upper)
      return fmt::format(
          "Certified: {} is at {} {}.\n", what, T == 0.0 ? "least" : "most",
          T == 0.0 ? RoundedDown(-certificate.upper->value()) : RoundedUp(*certificate.upper));
    if (certificate.lower)
      return fmt::format(
          "Certified: {} is at {} {}.\n", what, T == 0.0 ? "most" : "least",
          T == 0.0 ? RoundedUp(-certificate.lower->value()) : RoundedDown(*certificate.lower));
    return "Nothing was certified.\n";
  }
  const IntervalWidth width = *WidthOf(result);
  const double lower = T == 0.0 ? -certificate.upper->value() : certificate.lower->value();
  const double upper = T == 0.0 ? -certificate.lower->value() : certificate.upper->value();
  if (result.termination == Termination::kExact) {
    return fmt::format("Exact inference, rounding errors included: {} lies between {} and {}.\n",
                       what, RoundedDown(lower, 9), RoundedUp(upper, 9));
  }
  std::string text = fmt::format(
      "Certified: {} lies between {} and {} (width {:.3g}% of its size, {:.3g} nats per "
      "variable).\n",
      what, RoundedDown(lower), RoundedUp(upper), 100.0 * width.relative, width.per_variable);
  if (width.relative > kWide && result.termination == Termination::kGapReached) {
    text +=
        "The interval is wide although the gap was reached: the upper bound is nearly the best "
        "of its kind, but bounds of this kind are loose on this model.\n";
  }
  return text;
}

}  // namespace

std::optional<IntervalWidth> WidthOf(const SolveResult& result) {
  const Certificate& certificate = result.certificate;
  if (!certificate.lower || !certificate.upper) return {};
  const double width = certificate.upper->value() - certificate.lower->value();
  return IntervalWidth{width,
                       width / std::max({1.0, std::abs(certificate.upper->value()),
                                         std::abs(certificate.lower->value())}),
                       width / static_cast<double>(std::max<std::size_t>(1, result.labels.size()))};
}

std::string Summary(const SolveResult& result) {
  if (!result.usable()) return "Solve was not called.\n";
  const Certificate& certificate = result.certificate;
  std::string text = fmt::format("{}\n", certificate.model);
  text += fmt::format("Method {}, {} on {} thread{}: {}.\n", ToString(result.method),
                      DurationText(result.seconds), result.threads, result.threads == 1 ? "" : "s",
                      ToString(result.termination));
  if (!Names(certificate.model, result.pairs))
    text += fmt::format("Pairs applied by {}.\n", result.pairs);
  for (const std::string& note : result.notes) text += note + "\n";
  if (certificate.defect > 0.0) {
    text += fmt::format(
        "The tables were turned into a model whose energies differ from theirs by at most {:.2g}; "
        "both ends below allow for it.\n",
        certificate.defect);
  }
  return text + OptimalityText(result) + EnergyText(result) + IntervalText(result);
}

}  // namespace submarine
