// Label metrics given as tables, fitted from below by sums of cuts.
//
// Any d' <= d keeps the upper bound on log Z valid (docs/math.md, "Label cuts"), and d' = d exactly
// when d is an l1 metric. Among the lengths that fit equally well, those on small sets are
// preferred: at spread-out marginals a cut S contributes |y_a(S) - y_b(S)|, and the differences of
// many labels cancel within a large S, which loosens the bound.
#pragma once

#include <optional>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/labels/label_cuts.h"

namespace submarine {

// c min(|i-j|, t): Potts when t = 1, linear when t = L - 1.
struct KnownMetric {
  int truncation = 1;
  double scale = 1.0;
};

// The known metric that agrees with d to 1e-9 of its largest distance, if there is one. d is
// square.
std::optional<KnownMetric> RecogniseMetric(const Matrix<double>& d);

// General tables are fitted for up to this many labels; known metrics for up to kMaxLabels.
inline constexpr int kMaxFittedLabels = 64;

struct MetricFitOptions {
  // How much the preference for small sets counts against d' = d. The default only breaks ties;
  // about 1 gives up exactness (a few percent of d) for half as many cuts and sometimes a slightly
  // tighter bound.
  double spread_weight = 1e-3;
  // Limits on CutLp::work (3e7 is about half a minute): for finding the cuts of the mean metric,
  // and for adding cuts for all single metrics together.
  double max_work = 3e7;
  double max_shared_work = 2e7;
  // Single metrics add cuts to those of the mean only while there are fewer than this per label.
  int max_cuts_per_label = 16;
};

// One family of cuts for all the metrics, each of which gets lengths with d' <= d (in floating
// point, as CutDistance adds them up) and `distortion` = max d/d', set to 1 where that is below 1 +
// 1e-8. Known metrics get their own names, others the name "fitted". Cuts that no metric uses are
// left out.
//
// Throws InvalidInput unless the matrices are symmetric and of one size with zero diagonals and
// finite entries >= 0; NotExpressible for an unknown metric of more than kMaxFittedLabels labels.
LabelSpace FitMetrics(const std::vector<Matrix<double>>& distances,
                      const MetricFitOptions& options = {});

}  // namespace submarine
