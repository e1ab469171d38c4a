// Label metrics that are given as tables: fitted from below by sums of cuts.
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

// The known metric within 1e-9 of the largest distance everywhere, if there is one. d is square.
std::optional<KnownMetric> RecogniseMetric(const Matrix<double>& d);

// General tables are fitted up to this many labels; known metrics up to kMaxLabels.
inline constexpr int kMaxFittedLabels = 64;

struct MetricFitOptions {
  // How much spread-out marginals count against d' = d. The default only breaks ties; about 1 gives
  // up exactness (a few percent of d) for half of the cuts and sometimes a slightly tighter bound.
  double spread_weight = 1e-3;
  // Effort in CutLp::work (3e7: about half a minute): to find the cuts for the mean of the
  // metrics, and then to add cuts for single metrics, all of them together.
  double max_work = 3e7;
  double max_shared_work = 2e7;
  // Single metrics add cuts to those of the mean only while there are fewer than this per label.
  int max_cuts_per_label = 16;
};

// One family of cuts for all the metrics, each of which gets lengths with d' <= d (in floating
// point, as CutDistance adds them up) and `distortion` = max d/d', set to 1 where that is below 1 +
// 1e-8. Known metrics are named after what they are, others "fitted". Cuts that no metric uses are
// left out.
//
// Throws InvalidInput unless the matrices are symmetric and of one size with zero diagonals and
// finite entries >= 0; NotExpressible for a table of more than kMaxFittedLabels labels that is not
// known.
LabelSpace FitMetrics(const std::vector<Matrix<double>>& distances,
                      const MetricFitOptions& options = {});

}  // namespace submarine
