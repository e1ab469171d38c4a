#include "apps/cli/dense_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/option_checks.h"
#include "submarine/base/error.h"

namespace submarine::apps {

void AddOutputOption(CLI::App* sub, std::string* directory) {
  sub->add_option("-o,--output", *directory, "Directory for the results; open report.html in it")
      ->required();
}

void AddDenseSolveOptions(CLI::App* sub, DenseCommand* command) {
  SolveOptions* solve = &command->solve;
  std::vector<std::pair<std::string, Method>> methods;
  for (const MethodInfo& info : Methods()) {
    // A picture has far too many variables for exact inference.
    if (info.dense && info.method != Method::kExact) methods.emplace_back(info.name, info.method);
  }
  // The default is named first.
  std::stable_partition(methods.begin(), methods.end(),
                        [&](const auto& method) { return method.second == solve->method; });
  std::vector<Method> of_help;
  for (const auto& [name, method] : methods) of_help.push_back(method);
  AddChoice<Method>(sub, "--method", &solve->method, methods, MethodHelp(of_help));
  AddChoice<bool>(sub, "--step", &solve->harmonic_steps,
                  {{"line-search", false}, {"harmonic", true}},
                  "Frank-Wolfe steps: line-search, or harmonic = 2/(k+2)");
  sub->add_option("--gap", solve->limits.gap, "Stop when upper - dual <= gap * max(1, |upper|)")
      ->check(NumberBetween(0, 1e12))
      ->default_str(fmt::format(
          "{:g}", solve->limits.gap.value_or(DefaultGap(Method::kAuto, ModelKind::kDense))));
  sub->add_option("--max-iterations", solve->limits.max_iterations,
                  "Stop after this many iterations")
      ->check(NumberBetween(0, 2000000000))
      ->default_str(fmt::format("{}, fw {}", DefaultIterations(Method::kAuto, ModelKind::kDense),
                                DefaultIterations(Method::kFrankWolfe, ModelKind::kDense)));
  AddLimitOptions(sub, solve);
  sub->add_option("--top", command->top,
                  "Write only the K most probable labels of every pixel; 0: all")
      ->type_name("K")
      ->check(NumberBetween(0, kMaxLabels));
  sub->add_option("--threads", command->threads, "0: all cores; the results do not depend on it")
      ->check(NumberBetween(0, 100000));
  sub->add_flag("-q,--quiet", command->quiet, "No progress, no summary");
}

void AddLimitOptions(CLI::App* sub, SolveOptions* solve) {
  sub->add_option(
         "--time-limit", solve->limits.time_limit_seconds,
         "Seconds for everything, from reading to writing; returns the best result that could be "
         "certified by then")
      ->check(NumberBetween(0, 1e12));
  sub->add_option_function<double>(
         "--max-memory",
         [solve](double gigabytes) {
           solve->limits.max_bytes =
               std::max<std::size_t>(1, static_cast<std::size_t>(gigabytes * 1e9));
         },
         "Gigabytes of memory for everything; what needs more is refused before it starts")
      ->check(NumberBetween(0, 1e6))
      ->default_str(
          fmt::format("{:.1f} on this machine", static_cast<double>(DefaultMemory()) / 1e9));
}

namespace {

// "SXY,SRGB,WEIGHT" into numbers, one for each of `what`.
void AddNumbers(CLI::App* sub, const std::string& option, std::vector<double>* numbers,
                const std::string& names, const std::string& what, const std::string& help) {
  const std::size_t count = CLI::detail::split(names, ',').size();
  sub->add_option_function<std::string>(
         option,
         [=](const std::string& text) {
           const std::vector<std::string> parts = CLI::detail::split(text, ',');
           std::vector<double> read;
           for (const std::string& part : parts) read.push_back(ParseNumber(part));
           const bool well =
               std::none_of(read.begin(), read.end(), [](double x) { return std::isnan(x); });
           if (!well || read.size() != count) {
             throw CLI::ValidationError(
                 option,
                 fmt::format("expected {} numbers, {}: {}; not \"{}\"", count, names, what, text));
           }
           *numbers = read;
         },
         help)
      ->type_name(names)
      ->default_str(numbers->empty() ? "by --preset"
                                     : fmt::format("{:g}", fmt::join(*numbers, ",")));
}

}  // namespace

void AddKernelOptions(CLI::App* sub, std::vector<double>* position,
                      std::vector<double>* bilateral) {
  AddNumbers(sub, "--position", position, "SIGMA,WEIGHT", "sigma in pixels and weight",
             "Position kernel: sigma in pixels, weight (0: no such kernel)");
  AddNumbers(sub, "--bilateral", bilateral, "SXY,SRGB,WEIGHT",
             "sigma in pixels, sigma in grey levels and weight",
             "Position and colour kernel: sigma in pixels, sigma in grey levels (0 to 255), "
             "weight (0: no such kernel)");
}

void CheckKernelOption(const char* option, const std::vector<double>& numbers) {
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
    if (!(numbers[i] > 0.0 && std::isfinite(numbers[i])))
      throw InvalidInput(
          fmt::format("{} has a sigma of {:g}, expected more than 0", option, numbers[i]));
  }
  if (!(numbers.back() >= 0.0 && std::isfinite(numbers.back()))) {
    throw InvalidInput(
        fmt::format("{} has a weight of {:g}, expected 0 or more", option, numbers.back()));
  }
}

void AddPairOptions(CLI::App* sub, SolveOptions* solve) {
  const InGroup group(sub, "Dense models");
  OperatorOptions& pairs = solve->dense.pairs;
  AddChoice<OperatorKind>(
      sub, "--pairs", &pairs.kind,
      "How the solver sums over pairs. list: exactly, up to the cutoff; lattice: "
      "approximately, for wide kernels; brute-force: all of them; auto: list or "
      "lattice, whichever is faster for the kernel");
  sub->add_option(
         "--cutoff", pairs.cutoff,
         "Neighbour lists leave out pairs whose kernel value is below this, between 0 and 1; "
         "certificates account for them")
      ->check(NumberInside(0, 1));
  sub->add_option("--levels", pairs.lattice.levels,
                  "Number of soft levels into which lattices split values, 2 to 64")
      ->check(NumberBetween(2, 64));
  const bool proves = solve->dense.certify != Certify::kNone;
  AddChoice<Certify>(
      sub, "--certify", &solve->dense.certify,
      std::string("An interval around log Z") +
          (proves ? ""
                  : ", which leaves the labels as they are; without this nothing is proven, and "
                    "--certify alone means auto") +
          ". exact: about the Gaussian model, by enumerating its pairs; operator: about the model "
          "with the pair weights of --pairs; lower: that model, from below only; auto: one of the "
          "first two, which says more; none: labels and marginals without bounds")
      ->expected(0, 1)
      ->default_str("auto")
      ->group(proves ? "Dense models" : "Options");
  AddChoice<DenseMarginals>(sub, "--marginals-of", &solve->dense.marginals,
                            "Which marginals to return: those of the upper bound, which are too "
                            "flat where unaries say little; those of mean field started from "
                            "them, which are overconfident; the mean of both; routed: those of the "
                            "upper bound, which must be the routed one");
}

}  // namespace submarine::apps
