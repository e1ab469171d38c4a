#include "submarine/solve/prove_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/stopwatch.h"
#include "submarine/bound/verify/dense/parts_verifier.h"
#include "submarine/solve/candidate/dense_certify.h"
#include "submarine/solve/method/policy.h"

namespace submarine {
namespace {

using internal::LowerOfParts;
using internal::PairOptions;
using internal::Stopwatch;
using internal::VariableRange;
using P = internal::DensePolicy;

std::size_t RowSize(const ModelInRows& model) {
  return model.kernels.front().size() / static_cast<std::size_t>(model.rows);
}

std::vector<GaussianKernel> Restricted(const std::vector<GaussianKernel>& kernels,
                                       const VariableRange& range) {
  std::vector<GaussianKernel> restricted;
  const auto begin = static_cast<std::ptrdiff_t>(range.begin);
  const auto end = static_cast<std::ptrdiff_t>(range.end);
  for (const GaussianKernel& whole : kernels) {
    GaussianKernel kernel{whole.name, Matrix<double>(range.end - range.begin, whole.dimension()),
                          whole.weight};
    kernel.normalisation = whole.normalisation;
    kernel.scale_source = whole.scale_source;
    kernel.scale_error = whole.scale_error;
    kernel.feature_error = whole.feature_error;
    std::copy_n(whole.features.row(range.begin).data(), kernel.features.size(),
                kernel.features.data());
    if (!whole.scale.empty())
      kernel.scale.assign(whole.scale.begin() + begin, whole.scale.begin() + end);
    restricted.push_back(std::move(kernel));
  }
  return restricted;
}

// Of every strip.
SolveOptions StripOptions(const SolveOptions& given) {
  SolveOptions options = given;
  options.dense.certify = Certify::kExact;
  options.dense.updates = 0;
  options.dense.marginals = DenseMarginals::kMeanField;
  options.expectations = false;
  return options;
}

double BytesOf(const SolveOptions& options) {
  return static_cast<double>(options.limits.max_bytes > 0 ? options.limits.max_bytes
                                                          : DefaultMemory());
}

// How far the window that a strip's share of the lower bound is about may go beyond it, by its memory: unaries and marginals,
// and some in double. Negative where not even the strip fits.
int ReachThatFits(const ModelInRows& model, int rows, double bytes) {
  constexpr double kMatrices = 8.0;
  const double of_row =
      kMatrices * sizeof(float) * model.labels.num_labels() * static_cast<double>(RowSize(model));
  return static_cast<int>(
      std::clamp(std::floor(0.5 * (bytes / of_row - rows)), -1.0, double{1.0 * model.reach}));
}

class Proof {
 public:
  Proof(const ModelInRows& model, const Matrix<float>& marginals, const std::vector<int>& labels,
        int rows, const SolveOptions& options, const Watch& watch)
      : model_(model),
        marginals_(marginals),
        labels_(labels),
        rows_(rows),
        count_((model.rows + rows - 1) / rows),
        reach_(std::max(0, ReachThatFits(model, rows, BytesOf(options)))),
        options_(options),
        watch_(watch),
        end_(options.limits.time_limit_seconds) {}

  SolveResult Run() {
    SolveResult result;
    Lower(&result);
    const Bound upper = Upper(&result);
    result.termination = stopped_                      ? Termination::kInterrupted
                         : clock_.Seconds() >= limit() ? Termination::kTimeLimit
                                                       : result.termination;
    if (result.termination == Termination::kNotRun) result.termination = Termination::kTimeLimit;
    result.certificate.upper = upper;
    result.certificate.dual = result.certificate.lower;
    result.certificate.temperature = options_.temperature;
    result.certificate.Check();
    result.seconds = clock_.Seconds();
    result.notes.push_back(
        fmt::format("The model was proven in {} strips of {} rows, without the pairs between them: "
                    "at once it does not fit into memory.",
                    count_, rows_));
    if (by_unaries_ > 0) {
      result.notes.push_back(
          fmt::format("There was no time or room for the pairs of {} rows: their upper bounds are "
                      "those of the unaries.",
                      by_unaries_));
    }
    return result;
  }

 private:
  double limit() const { return options_.limits.time_limit_seconds; }
  // Every strip has its share of what is left until a time.
  double ShareOf(double until, int strip) const {
    return std::max(0.0, until - clock_.Seconds()) / (count_ - strip);
  }
  VariableRange Variables(int first, int end) const {
    const std::size_t row = RowSize(model_);
    return {static_cast<std::size_t>(first) * row, static_cast<std::size_t>(end) * row};
  }
  int Border(int strip) const {
    return static_cast<int>(std::int64_t{model_.rows} * strip / count_);
  }
  DenseCrf ModelOf(int first, int end) const {
    return model_.part(Restricted(model_.kernels, Variables(first, end)), first, end - first);
  }

  // False once the watch asks to stop.
  bool Continues() {
    if (!watch_ || stopped_) return !stopped_;
    const double seconds = clock_.Seconds();
    SolveRecord record{.k = -1, .seconds = seconds};
    record.done = std::clamp(std::isfinite(end_) ? seconds / end_ : of_strips_, 0.0, 1.0);
    stopped_ = !watch_("proving strips", record);
    return !stopped_;
  }

  static std::vector<int> RowsOf(const std::vector<int>& labels, const VariableRange& range) {
    return {labels.begin() + static_cast<std::ptrdiff_t>(range.begin),
            labels.begin() + static_cast<std::ptrdiff_t>(range.end)};
  }
  static Matrix<float> RowsOf(const Matrix<float>& marginals, const VariableRange& range) {
    Matrix<float> rows(range.end - range.begin, marginals.cols());
    std::copy_n(marginals.row(range.begin).data(), rows.size(), rows.data());
    return rows;
  }

  void Lower(SolveResult* result) {
    std::optional<Bound>& lower = result->certificate.lower;
    const auto keep = [&](const Bound& found) {
      if (!lower || *lower < found) lower = found;
    };
    const LowerOfParts of_labels = LowerAt(labels_, 0.0, P::kEndOfLabelsOfParts);
    keep(of_labels.OneLabel());
    if (const std::optional<Bound> sum = of_labels.Sum()) {
      result->energy = Negated(*sum);
      keep(*sum);
      const std::optional<Bound> of_marginals =
          LowerAt(marginals_, P::kEndOfLabelsOfParts, P::kEndOfLowerOfParts).Sum();
      if (of_marginals) {
        keep(*of_marginals);
        return;
      }
    }
    result->notes.push_back(
        fmt::format("There was no time to verify mean field: the lower bound is that of {}.",
                    result->energy ? "the labels" : "one label for all"));
  }

  // Whether what has done this share within so many seconds is likely to be done in time.
  static bool IsInTime(double seconds, double share, double allowed) {
    constexpr double kKnown = 0.1;
    constexpr double kSlack = 1.2;
    return seconds < allowed && (share < kKnown || seconds < kSlack * share * allowed);
  }

  // Between these shares of the time. One share of a strip that is missing makes the others worthless.
  template <class Point>
  LowerOfParts LowerAt(const Point& point, double from, double until) {
    LowerOfParts lower(model_.kernels, RowSize(model_));
    bool complete = true;
    const double begun = clock_.Seconds();
    const double allowed = until * limit() - begun;
    for (int strip = 0; strip < count_; ++strip) {
      const int first = Border(strip);
      const int end = Border(strip + 1);
      complete = complete && Continues();
      const int reach = complete ? reach_ : 0;
      const int begin = std::max(0, first - reach);
      const int stop = std::min(model_.rows, end + reach);
      const VariableRange part = Variables(first, end);
      const VariableRange range = Variables(begin, stop);
      const DenseCrf window = ModelOf(begin, stop);
      const PairOptions pairs{.temperature = options_.temperature,
                              .far_tolerance = P::kLossOfParts,
                              .on_progress = [&](double done) {
                                const double share = (strip + done) / count_;
                                of_strips_ = from + (until - from) * share;
                                return Continues() &&
                                       IsInTime(clock_.Seconds() - begun, share, allowed);
                              }};
      if (complete) {
        try {
          lower.Add(part, range, window, RowsOf(point, range), pairs);
        } catch (const Interrupted&) {
          complete = false;
        }
      }
      if (!complete) lower.Skip(part, range, window);
    }
    return lower;
  }

  // In halves where more memory is needed than was expected.
  void AddUpper(int first, int end, double seconds, SolveResult* result,
                std::vector<Bound>* upper) {
    const DenseCrf model = ModelOf(first, end);
    if (result->certificate.model.empty()) {
      result->certificate.model =
          model.Description({}, model_.kernels.front().size()) + ", exact Gaussians";
    }
    SolveOptions options = StripOptions(options_);
    options.limits.time_limit_seconds = seconds;
    std::optional<Bound> found;
    if (Continues() && seconds >= P::kLeastForStrip) {
      try {
        SolveResult solved = Solve(
            model, options, [&](std::string_view, const SolveRecord&) { return Continues(); });
        found = solved.certificate.upper;
        result->estimated_bytes = std::max(result->estimated_bytes, solved.estimated_bytes);
        if (result->pairs.empty()) result->pairs = std::move(solved.pairs);
        if (result->termination == Termination::kNotRun ||
            solved.termination == Termination::kTimeLimit)
          result->termination = solved.termination;
        if (result->certificate.extension.empty())
          result->certificate.extension = solved.certificate.extension;
      } catch (const TooLarge&) {
        if (end - first > 1) {
          const int middle = first + (end - first) / 2;
          AddUpper(first, middle, 0.5 * seconds, result, upper);
          AddUpper(middle, end, 0.5 * seconds, result, upper);
          return;
        }
      }
    }
    if (!found) by_unaries_ += end - first;
    upper->push_back(found ? *found : internal::UnaryUpper(model, options_.temperature));
  }

  Bound Upper(SolveResult* result) {
    std::vector<Bound> upper;
    const double begin = clock_.Seconds();
    for (int strip = 0; strip < count_; ++strip) {
      if (strip > 0) end_ = std::min(limit(), begin + (clock_.Seconds() - begin) / strip * count_);
      of_strips_ = P::kEndOfLowerOfParts + (1.0 - P::kEndOfLowerOfParts) * strip / count_;
      AddUpper(Border(strip), Border(strip + 1), ShareOf(limit(), strip), result, &upper);
    }
    return SumAbove(upper);
  }

  const ModelInRows& model_;
  const Matrix<float>& marginals_;
  const std::vector<int>& labels_;
  const int rows_;
  const int count_;
  const int reach_;  // of windows beyond a strip
  const SolveOptions& options_;
  const Watch& watch_;
  const Stopwatch clock_;
  double end_;              // when it is expected to be done
  double of_strips_ = 0.0;  // done, where nobody knows when that is
  bool stopped_ = false;
  int by_unaries_ = 0;  // rows
};

}  // namespace

int RowsThatFit(const ModelInRows& model, const SolveOptions& options) {
  const double bytes = BytesOf(options);
  for (int rows = model.rows; rows > 0; rows /= 2) {
    // Wider windows are worth more than higher strips, up to where a strip is as high as its surroundings.
    if (rows > 1 && ReachThatFits(model, rows, bytes) < std::min(model.reach, rows)) continue;
    try {
      const std::size_t variables = RowSize(model) * static_cast<std::size_t>(rows);
      RequireFits(Restricted(model.kernels, {0, variables}), variables, model.labels,
                  StripOptions(options));
      return rows;
    } catch (const TooLarge&) {
      if (rows == 1) throw;
    }
  }
  throw InvalidInput("the model has no rows");
}

SolveResult ProveParts(const ModelInRows& model, const Matrix<float>& marginals,
                       const std::vector<int>& labels, int rows, const SolveOptions& options,
                       const Watch& watch) {
  if (rows < 1 || model.rows < 1 || model.kernels.empty() ||
      marginals.rows() != model.kernels.front().size() || labels.size() != marginals.rows()) {
    throw InvalidInput(fmt::format("strips of {} rows and {} marginals of a model of {} rows", rows,
                                   marginals.rows(), model.rows));
  }
  return Proof(model, marginals, labels, std::min(rows, model.rows), options, watch).Run();
}

}  // namespace submarine
