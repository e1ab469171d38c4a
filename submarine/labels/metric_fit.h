// Label metrics given as tables, fitted from below by sums of cuts.
//
// Any d' <= d keeps the upper bound on log Z valid (docs/math.md, "Label cuts"), and d' = d exactly
// when d is an l1 metric. Among the lengths that fit equally well, those on small sets are
// preferred: at spread-out marginals a cut S contributes |y_a(S) - y_b(S)|, and the differences of
// many labels cancel within a large S, which loosens the bound.
#pragma once

#include <optional>
#include <string>
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

// Beyond this many labels, general tables get the cuts of random trees, and are fitted less well.
inline constexpr int kMaxFittedLabels = 64;

struct MetricFitOptions {
  // How much the preference for small sets counts against d' = d. The default only breaks ties;
  // about 1 gives up exactness (a few percent of d) for half as many cuts and sometimes a slightly
  // tighter bound.
  double spread_weight = 1e-3;
  // Limits on the work of the linear programmes (1e7 is about ten seconds): for finding the cuts of the mean metric,
  // and for adding cuts for all single metrics together.
  double max_work = 1e7;
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
// finite entries >= 0. The triangle inequality is not checked; no d' violates it.
LabelSpace FitMetrics(const std::vector<Matrix<double>>& distances,
                      const MetricFitOptions& options = {});

// d(i,j) > d(i,k) + d(k,j) by more than 1e-9 of the largest distance, the worst triple first.
struct TriangleViolation {
  int i, j, k;
};
std::optional<TriangleViolation> WorstTriangle(const Matrix<double>& d);

// The largest d' <= d that satisfies the triangle inequality: lengths of shortest paths. d is
// symmetric, with a zero diagonal and entries >= 0.
Matrix<double> LargestMetricBelow(const Matrix<double>& d);

// What a matrix that violates the triangle inequality is taken for.
enum class NoMetric {
  kRefuse,  // InvalidInput names three labels
  kRepair,  // the model has the largest metric below it
  kKeep,    // the model has the matrix, upper bounds the cuts of the largest metric below it
};

// One metric given as a matrix, called `name` if that is not empty. Throws as FitMetrics does.
LabelSpace MetricLabels(const Matrix<double>& distance, NoMetric no_metric = NoMetric::kRefuse,
                        const std::string& name = "");

}  // namespace submarine
