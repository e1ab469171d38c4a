#include "apps/solve/proven_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "submarine/base/numbers.h"
#include "submarine/base/parallel.h"

namespace submarine::apps {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kTooWide = 0.5;

std::string Unit(const ProvenValue& value) { return (value.unit == "%" ? "" : " ") + value.unit; }

}  // namespace

ProvenRange RangeOf(const ProvenValue& value) {
  const auto in_unit = [&](double sum, double to) {
    return std::clamp(std::nextafter(std::nextafter(value.scale * sum, to), to), 0.0, value.most);
  };
  const Expectation& found = value.found;
  return {in_unit(found.lower, -HUGE_VAL), in_unit(found.upper, HUGE_VAL),
          in_unit(found.credible_lower, -HUGE_VAL), in_unit(found.credible_upper, HUGE_VAL)};
}

bool TooWide(const ProvenValue& value) {
  const ProvenRange range = RangeOf(value);
  return range.credible_upper - range.credible_lower > kTooWide * value.most;
}

std::string RangeText(const ProvenValue& value) {
  const ProvenRange range = RangeOf(value);
  const double width = range.credible_upper - range.credible_lower;
  const int decimals = width < 0.2 ? 3 : width < 2.0 ? 2 : 1;
  return fmt::format("{} to {}{}", RoundedDown(range.credible_lower, decimals),
                     RoundedUp(range.credible_upper, decimals), Unit(value));
}

std::string ClaimText(const ProvenValue& value) {
  if (!value.found.claimed) return "";
  const ProvenRange range = RangeOf(value);
  const double claimed = value.scale * *value.found.claimed;
  const char* verdict = claimed > range.upper   ? ", which is more than can be: it is overconfident"
                        : claimed < range.lower ? ", which is less than can be"
                                                : "";
  return fmt::format(" Mean field claims {:.2f}{}{}.", claimed, Unit(value), verdict);
}

Json ProvenJson(const std::vector<ProvenValue>& values) {
  Json list = Json::array();
  for (const ProvenValue& value : values) {
    const ProvenRange range = RangeOf(value);
    Json entry = {{"name", value.name},
                  {"unit", value.unit},
                  {"most", value.most},
                  {"lower", range.lower},
                  {"upper", range.upper},
                  {"credible_lower", range.credible_lower},
                  {"credible_upper", range.credible_upper},
                  {"credibility", kCredibility},
                  {"provenance", ToString(value.found.lower.provenance())}};
    if (TooWide(value)) entry["too_wide"] = true;
    if (value.found.claimed) entry["claimed"] = value.scale * *value.found.claimed;
    if (value.of_labels) entry["labels"] = *value.of_labels;
    if (value.of_truth) entry["truth"] = *value.of_truth;
    list.push_back(std::move(entry));
  }
  return list;
}

double ProvingSeconds(std::size_t pixels, std::size_t labels) {
  constexpr double kPasses = 60.0;
  constexpr double kSecondsPerEntry = 2e-8;  // on one core
  return kPasses * kSecondsPerEntry * static_cast<double>(pixels) * static_cast<double>(labels) /
         static_cast<double>(internal::NumThreads());
}

double ReserveForProving(std::size_t pixels, std::size_t labels, std::size_t count,
                         double time_limit) {
  constexpr double kShare = 0.15;
  if (!std::isfinite(time_limit)) return 0.0;
  return std::min(kShare * time_limit, static_cast<double>(count) * ProvingSeconds(pixels, labels));
}

}  // namespace submarine::apps
