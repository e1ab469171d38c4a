#include "experiments/stereo_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "apps/cli/file_checks.h"
#include "apps/fit/content_hash.h"
#include "apps/stereo/stereo_output.h"
#include "experiments/stereo_published.h"
#include "submarine/base/argmax.h"
#include "submarine/base/error.h"
#include "submarine/base/stopwatch.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/filter/operator_choice.h"
#include "submarine/solve/solve.h"
#include "submarine/stereo/disparity.h"
#include "submarine/stereo/evaluation.h"

namespace submarine::apps {
namespace {

using internal::ArgmaxLabels;
using internal::ChosenOperator;
using internal::CompareDisparities;
using internal::DenseExtension;
using internal::Indicator;
using internal::MakeOperator;
using internal::PairOptions;
using internal::Stopwatch;
using internal::VerifiedEnergy;

// The output of a method: columns, and the data to compute energy and errors from.
struct Solved {
  Row row;
  Matrix<float> marginals;
  std::vector<int> labels;
};

ChosenOperator ExactPairs(const DenseCrf& model, bool flows) {
  OperatorOptions options;
  options.kind = OperatorKind::kNeighbourList;
  return MakeOperator(model.num_variables(), PairWeights(model),
                      {static_cast<std::size_t>(model.num_labels()), flows}, options);
}

MeanFieldStop StopRule(const BenchSettings& settings, const Watch& watch) {
  return {settings.mean_field_change, settings.mean_field_iterations,
          [watch](int iteration, double seconds, double change) {
            return watch(
                fmt::format("{:>5}  {:.1f} s  squared change {:.3g}", iteration, seconds, change));
          }};
}

Solved FromMeanField(MeanFieldRun run) {
  Solved solved;
  solved.row["iterations"] = run.iterations;
  solved.row["termination"] = run.converged ? "converged" : "iteration limit";
  solved.row["seconds"] = run.seconds;
  solved.labels = ArgmaxLabels(run.marginals);
  solved.marginals = std::move(run.marginals);
  return solved;
}

Solved SolveMeanFieldAsPublished(const DenseCrf& model, const BenchSettings& settings,
                                 const Watch& watch) {
  Solved solved = FromMeanField(PublishedMeanField(model, StopRule(settings, watch)));
  solved.row["published_energy"] = PublishedEnergy(model, solved.labels);
  solved.row["pairs"] = "classic lattices, symmetrically normalised, with self terms";
  return solved;
}

Solved SolveMeanFieldOfModel(const DenseCrf& model, const BenchSettings& settings, bool self_terms,
                             const Watch& watch) {
  const Stopwatch clock;
  const ChosenOperator pairs = ExactPairs(model, false);
  const DenseExtension extension(model, *pairs.op);
  Solved solved = FromMeanField(
      (self_terms ? SelfTermMeanField : ModelMeanField)(extension, StopRule(settings, watch)));
  solved.row["seconds"] = clock.Seconds();
  solved.row["pairs"] = pairs.op->Description();
  return solved;
}

Solved SolveCertified(const DenseCrf& model, SolveOptions options, const Watch& watch) {
  options.dense.certify = Certify::kExact;
  const auto tell = [&](std::string_view phase, const SolveRecord& record) {
    std::string text = fmt::format("{:.1f} s  {}", record.seconds, phase);
    if (record.k >= 0) text += fmt::format(" {}", record.k);
    if (record.upper) text += fmt::format("  upper {:.6g}", *record.upper);
    if (record.lower) text += fmt::format("  lower {:.6g}", *record.lower);
    return watch(text);
  };
  SolveResult run = Solve(model, options, tell);
  Solved solved;
  solved.row["seconds"] = run.seconds;
  if (run.certificate.lower) solved.row["lower"] = run.certificate.lower->value();
  if (run.certificate.upper) solved.row["upper"] = run.certificate.upper->value();
  if (run.certificate.dual) solved.row["dual"] = run.certificate.dual->value();
  if (!run.records.empty()) solved.row["iterations"] = run.records.back().k;
  solved.row["termination"] = ToString(run.termination);
  solved.row["pairs"] = run.pairs;
  solved.labels = std::move(run.labels);
  solved.marginals = std::move(std::get<Matrix<float>>(run.marginals));
  return solved;
}

Solved SolveByFrankWolfe(const DenseCrf& model, const BenchSettings& settings, const Watch& watch) {
  SolveOptions options;
  options.method = Method::kFrankWolfe;
  options.limits.gap = 0.0;
  options.limits.max_iterations = settings.frank_wolfe_iterations;
  options.dense.pairs.kind = OperatorKind::kNeighbourList;
  Solved solved = SolveCertified(model, options, watch);
  solved.labels = ArgmaxLabels(solved.marginals);  // as in the published algorithm
  return solved;
}

Solved SolveByChain(const DenseCrf& model, const BenchSettings& settings, const Watch& watch) {
  SolveOptions options;
  options.limits.gap = settings.gap;
  return SolveCertified(model, options, watch);
}

Solved SolveByConstant(const DenseCrf& model) {
  const Stopwatch clock;
  const Matrix<float>& unary = model.unary();
  std::vector<double> sums(unary.cols(), 0.0);
  for (std::size_t a = 0; a < unary.rows(); ++a) {
    const auto row = unary.row(a);
    for (std::size_t i = 0; i < row.size(); ++i) sums[i] += row[i];
  }
  const auto best = std::min_element(sums.begin(), sums.end()) - sums.begin();
  Solved solved;
  solved.labels.assign(unary.rows(), static_cast<int>(best));
  solved.marginals = Indicator(solved.labels, unary.cols());
  solved.row["termination"] = fmt::format("disparity {}", best);
  solved.row["seconds"] = clock.Seconds();
  return solved;
}

Solved SolveBy(const std::string& method, const DenseCrf& model, const BenchSettings& settings,
               const Watch& watch) {
  if (method == "mf-published") return SolveMeanFieldAsPublished(model, settings, watch);
  if (method == "mf-self") return SolveMeanFieldOfModel(model, settings, true, watch);
  if (method == "mf") return SolveMeanFieldOfModel(model, settings, false, watch);
  if (method == "fw") return SolveByFrankWolfe(model, settings, watch);
  if (method == "auto") return SolveByChain(model, settings, watch);
  return SolveByConstant(model);
}

Row ParametersOf(const BenchPair& pair, const BenchSettings& settings, const std::string& method) {
  Row parameters = SettingsJson(pair.settings, "left.png", "right.png", 1);
  parameters["width"] = pair.views.width;
  parameters["height"] = pair.views.height;
  parameters["contents"] = fmt::format("{:016x}", pair.contents);
  if (method.starts_with("mf")) {
    parameters["squared_change"] = settings.mean_field_change;
    parameters["max_iterations"] = settings.mean_field_iterations;
  } else if (method == "fw") {
    parameters["max_iterations"] = settings.frank_wolfe_iterations;
  } else if (method == "auto") {
    parameters["gap"] = settings.gap;
  }
  return parameters;
}

void AddErrors(const std::vector<float>& disparities, const std::vector<float>& truth,
               const std::string& prefix, Row* row) {
  const internal::DisparityErrors errors = CompareDisparities(disparities, truth);
  (*row)[prefix + "bad_0.5"] = errors.bad_half;
  (*row)[prefix + "bad_1"] = errors.bad_one;
  (*row)[prefix + "bad_2"] = errors.bad_two;
  (*row)[prefix + "mean_absolute"] = errors.mean_absolute;
}

Row RunStereo(const BenchPair& pair, const DenseCrf& model, const BenchSettings& settings,
              const std::string& method, const Watch& watch) {
  Solved solved = SolveBy(method, model, settings, watch);
  Row row = std::move(solved.row);
  if (!watch("scoring")) return row;
  PairOptions pairs;
  pairs.on_progress = [&](double done) {
    return watch(fmt::format("scoring {:.0f}%", 100.0 * done));
  };
  try {
    row["energy"] = VerifiedEnergy(model, solved.labels, pairs).value();
  } catch (const submarine::Interrupted&) {
    return row;
  }
  if (!pair.truth.empty()) {
    AddErrors({solved.labels.begin(), solved.labels.end()}, pair.truth, "", &row);
    AddErrors(RefinedDisparities(solved.marginals, solved.labels), pair.truth, "refined_", &row);
  }
  return row;
}

}  // namespace

std::vector<std::string> StereoMethods() {
  return {"mf-published", "mf-self", "mf", "fw", "auto", "constant"};
}

bool IsOfPaper(const std::string& method) {
  return method == "mf-published" || method == "mf-self";
}

std::string PairName(const std::filesystem::path& directory) {
  std::error_code ignored;
  std::filesystem::path path = std::filesystem::weakly_canonical(directory, ignored);
  if (ignored || path.empty()) path = directory.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.filename().string();
}

BenchPair ReadBenchPair(const std::filesystem::path& directory, StereoPreset preset,
                        const std::map<std::string, double>& truth_factors) {
  BenchPair pair;
  pair.name = PairName(directory);
  pair.settings = PresetSettings(preset, pair.name);
  const Stopwatch clock;
  const ReadingLimits limits(SolveOptions(), clock, LeastBytesPerPixel(2));
  // The names that Middlebury gives its files of 2006, and ours.
  const auto file = [&](const char* ours, const char* theirs) {
    return Exists(directory / ours) || !Exists(directory / theirs) ? directory / ours
                                                                   : directory / theirs;
  };
  pair.views = ReadStereoPair(file("left.png", "view1.png").string(),
                              file("right.png", "view5.png").string(), 1, limits);
  const std::filesystem::path truth = file("disparity.png", "disp1.png");
  const auto given = truth_factors.find(pair.name);
  if (Exists(truth)) {
    std::optional<double> factor =
        given != truth_factors.end() ? std::optional(given->second) : KnownTruthFactor(pair.name);
    constexpr double kOfThirdSize = 3.0;
    if (!factor && truth.filename() == "disp1.png") factor = kOfThirdSize;
    const std::string spec =
        factor ? fmt::format("{},{}", truth.string(), *factor) : truth.string();
    pair.truth = ReadTruth(spec, pair.views, 1, limits);
  }
  if (pair.settings.disparities == 0) {
    pair.settings.disparities = GuessDisparities(pair.views.LeftView(), pair.views.RightView());
  }
  pair.contents = kEmptyHash;
  for (const std::vector<float>* part : {&pair.views.left, &pair.views.right, &pair.truth})
    pair.contents = ContentHash(std::span<const float>(*part), pair.contents);
  return pair;
}

std::vector<Task> StereoTasks(const BenchPair& pair, const BenchSettings& settings) {
  const auto model = std::make_shared<std::optional<DenseCrf>>();
  std::vector<Task> tasks;
  for (const std::string& method : settings.methods) {
    tasks.push_back(
        {{{"pair", pair.name}, {"method", method}, {"preset", ToString(settings.preset)}},
         ParametersOf(pair, settings, method),
         [=, &pair, &settings](const Watch& watch) {
           StereoSettings stereo = pair.settings;
           if (!*model) *model = BuildStereoModel(pair.views, &stereo);
           return RunStereo(pair, **model, settings, method, watch);
         }});
  }
  return tasks;
}

}  // namespace submarine::apps
