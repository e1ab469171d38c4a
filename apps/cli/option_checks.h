// Checks of option values with plain sentences as messages. CLI11's own checks list choices with
// the numbers behind them, print 1e12 in digits, and accept NaN as a number in any range.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "submarine/base/names.h"

namespace submarine::apps {

// NaN if the text is not a number.
double ParseNumber(std::string_view text);

// A finite number from `min` to `max`.
CLI::Validator NumberBetween(double min, double max);

// A number greater than `min` and less than `max`.
CLI::Validator NumberInside(double min, double max);

// One of `names`.
CLI::Validator OneOf(const std::vector<std::string>& names);

// What is added to the command while it lives has this heading in its help.
class InGroup {
 public:
  InGroup(CLI::App* app, const std::string& group) : defaults_(*app->option_defaults()) {
    defaults_.group(group);
  }
  ~InGroup() { defaults_.group("Options"); }
  InGroup(const InGroup&) = delete;
  InGroup& operator=(const InGroup&) = delete;

 private:
  CLI::OptionDefaults& defaults_;
};

// An option with named values; the value it holds is the default, which is named first.
template <class T>
CLI::Option* AddChoice(CLI::App* app, const std::string& name, T* value,
                       std::vector<std::pair<std::string, T>> choices,
                       const std::string& description) {
  std::stable_partition(choices.begin(), choices.end(),
                        [&](const auto& choice) { return choice.second == *value; });
  std::vector<std::string> names;
  for (const auto& [choice, meaning] : choices) names.push_back(choice);
  const auto store = [value, choices](const std::string& text) {
    *value = std::find_if(choices.begin(), choices.end(), [&](const auto& choice) {
               return choice.first == text;
             })->second;
  };
  return app->add_option_function<std::string>(name, store, description)
      ->check(OneOf(names))
      ->type_name("{" + CLI::detail::join(names, ",") + "}")
      ->default_str(names.front());
}

// All values that have names.
template <class T>
CLI::Option* AddChoice(CLI::App* app, const std::string& name, T* value,
                       const std::string& description) {
  return AddChoice<T>(app, name, value, {Names<T>().begin(), Names<T>().end()}, description);
}

}  // namespace submarine::apps
