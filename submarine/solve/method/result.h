// What a call of Solve returns, and reports on its way.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/base/solve_record.h"
#include "submarine/base/termination.h"
#include "submarine/bound/certificate.h"
#include "submarine/solve/method/method.h"

namespace submarine {

namespace internal {
class TiltedUpper;
}

// One row per variable; in single precision for dense models, which have many rows; lists if
// variables have different numbers of labels, which exact inference and TRW allow.
using MarginalRows = std::variant<Matrix<double>, Matrix<float>, std::vector<std::vector<double>>>;

// What it costs the upper bound that the cuts express d' <= d only (docs/metrics.md): d/d' over the
// pairs of labels, and the part of the energy of `labels` that is of pairs, of which d' counts at
// least pairs / worst.
struct MetricLoss {
  double worst = 1.0;
  double mean = 1.0;
  double pairs = 0.0;
};

// All fields are valid under every termination except kNotRun: whenever a solver stops, it has a
// certificate. The values in `records` are the solver's own; only those of `certificate` are
// proven.
struct SolveResult {
  Termination termination = Termination::kNotRun;
  Method method = Method::kAuto;  // the one that was chosen
  Certificate certificate;
  MarginalRows marginals;
  std::vector<int> labels;      // the best labeling seen, or that of the updates asked for
  std::optional<Bound> energy;  // of `labels`, or slightly more: an upper bound on the least energy
  int updates = 0;              // that labels and marginals are of, where something else is proven
  std::optional<MetricLoss> metric_loss;  // none: the upper bound is about d itself
  std::vector<SolveRecord> records;
  std::vector<std::string> notes;  // remarks for the user, in sentences
  std::string pairs;               // dense models: a description of the operator used
  double seconds = 0.0;
  int threads = 0;               // that were used; options.limits.threads is what was asked for
  double estimated_bytes = 0.0;  // dense models: the estimated peak memory

  // Where options.expectations asked for it: what the functions of solve/method/expectations.h use.
  std::shared_ptr<const internal::TiltedUpper> tilted;
  MarginalRows mean_field;  // those of mean field, or exact ones; empty: there are none

  bool usable() const { return termination != Termination::kNotRun; }
};

// How wide the certified interval is; none if it has an end only, or none.
struct IntervalWidth {
  double nats;
  double relative;  // to the larger end, or to 1
  double per_variable;
};
std::optional<IntervalWidth> WidthOf(const SolveResult& result);

// What was done and proven, in some lines of sentences, with numbers rounded outwards.
std::string Summary(const SolveResult& result);

// `watch` is called with every record and its phase, on the caller's thread, several times a
// second; when it returns false, the best result so far is certified within about a second and
// returned.
using Watch = std::function<bool(std::string_view phase, const SolveRecord& record)>;

}  // namespace submarine
