#include "submarine/base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstddef>

namespace submarine {
namespace {

std::string WithRemedy(const std::string& refusal, const Remedy& remedy) {
  std::vector<std::string> ways;
  if (remedy.given_variables > 0.0)
    ways.push_back(fmt::format("{:.0f} variables instead of {:.0f}", remedy.variables,
                               remedy.given_variables));
  if (remedy.fewer_labels) ways.emplace_back("fewer labels");
  if (!remedy.methods.empty())
    ways.push_back(fmt::format("the method {}", fmt::join(remedy.methods, " or ")));
  if (remedy.more_seconds > 0.0) ways.push_back(fmt::format("{:.0f} s more", remedy.more_seconds));
  if (remedy.bytes > 0.0)
    ways.push_back(fmt::format("a memory limit of {:.3g} GB", remedy.bytes / 1e9));
  return ways.empty() ? refusal : refusal + "; " + AnyWouldDo(ways);
}

}  // namespace

std::string AnyWouldDo(const std::vector<std::string>& ways) {
  std::string text;
  for (std::size_t k = 0; k < ways.size(); ++k) {
    if (k > 0) text += k + 1 == ways.size() ? " or " : ", ";
    text += ways[k];
  }
  return text.empty() ? text : text + " would do";
}

TooLarge::TooLarge(const std::string& refusal, Remedy remedy)
    : Error(WithRemedy(refusal, remedy)), refusal_(refusal), remedy_(std::move(remedy)) {}

}  // namespace submarine
