#include "submarine/labels/metric_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/labels/cut_lp.h"
#include "submarine/labels/random_tree.h"

namespace submarine {
namespace {

using internal::CanonicalCut;
using internal::CutLp;
using internal::CutMask;
using internal::CutValue;
using internal::LabelsOf;
using internal::NearerSides;
using internal::RandomTree;

constexpr double kRelativeTolerance = 1e-9;  // for recognising known metrics
constexpr double kExactWithin = 1e-8;        // d/d' - 1 that counts as exact

// Limits of column generation: for the mean metric, and ("shared") for each single metric after it,
// whose cuts all other metrics have to carry.
constexpr int kMaxRounds = 200;
constexpr int kMaxSharedRounds = 20;
constexpr double kLeastGain = 1e-6;
constexpr double kLeastSharedGain = 1e-5;
constexpr double kLeastShape = 1e-3;    // smaller distances get the weight of this one
constexpr std::size_t kFewLabels = 32;  // with more labels there are too many pairs to start from
constexpr std::size_t kSidesPerLabel = 4;
constexpr int kStartTrees = 4;
constexpr int kMixedTrees = 8;  // where there are too many labels for the LP

// Relative to the largest distance; shorter cuts are artefacts of the simplex method's tolerance.
constexpr double kDust = 2e-9;
constexpr double kMixed =
    1e-6;  // part of a metric that separates all labels, where the fit does not
// d'/d - 1 up to which all lengths are scaled alike to get d' <= d.
constexpr double kSmallExcess = 1e-8;

// Lengths of the cuts that one metric uses, keyed by the canonical side of the cut.
using SparseLengths = std::map<std::vector<int>, double>;

double Largest(const Matrix<double>& d) { return *std::max_element(d.data(), d.data() + d.size()); }

void CheckDistances(const std::vector<Matrix<double>>& distances) {
  if (distances.empty()) throw InvalidInput("no label metric was given, expected at least one");
  const std::size_t labels = distances.front().rows();
  CheckLabelCount(static_cast<int>(std::min<std::size_t>(labels, kMaxLabels + 1)));
  for (std::size_t m = 0; m < distances.size(); ++m) {
    const Matrix<double>& d = distances[m];
    if (d.rows() != labels || d.cols() != labels) {
      throw InvalidInput(fmt::format("label metric {} is {} x {}, expected {} x {}", m, d.rows(),
                                     d.cols(), labels, labels));
    }
    for (std::size_t i = 0; i < labels; ++i) {
      for (std::size_t j = 0; j < labels; ++j) {
        if (!std::isfinite(d(i, j)) || d(i, j) < 0) {
          throw InvalidInput(
              fmt::format("label metric {} has d({},{}) = {}, expected a finite number >= 0", m, i,
                          j, d(i, j)));
        }
        if (d(i, j) != d(j, i)) {
          throw InvalidInput(
              fmt::format("label metric {} is not symmetric: d({},{}) = {} but d({},{}) = {}", m, i,
                          j, d(i, j), j, i, d(j, i)));
        }
      }
      if (d(i, i) != 0) {
        throw InvalidInput(fmt::format(
            "label metric {} has d({},{}) = {} on the diagonal, expected 0", m, i, i, d(i, i)));
      }
    }
  }
}

std::vector<int> CanonicalSide(const std::vector<int>& set, int num_labels) {
  const int size = static_cast<int>(set.size());
  if (2 * size < num_labels || (2 * size == num_labels && set.front() != 0)) return set;
  std::vector<int> other;
  auto next = set.begin();
  for (int i = 0; i < num_labels; ++i) {
    if (next != set.end() && *next == i) {
      ++next;
    } else {
      other.push_back(i);
    }
  }
  return other;
}

std::string KnownName(const KnownMetric& known, int num_labels) {
  std::string name = known.truncation == 1 ? "potts"
                     : known.truncation == num_labels - 1
                         ? "linear"
                         : fmt::format("truncated:{}", known.truncation);
  return known.scale == 1.0 ? name : fmt::format("{:g}*{}", known.scale, name);
}

SparseLengths KnownLengths(const KnownMetric& known, int num_labels) {
  const LabelSpace space = known.truncation == 1
                               ? PottsLabels(num_labels)
                               : TruncatedLinearLabels(num_labels, known.truncation);
  SparseLengths lengths;
  for (int c = 0; c < space.cuts->num_cuts(); ++c) {
    const double l = space.metrics[0].length[c];
    if (l > 0) lengths[CanonicalSide(space.cuts->set(c), num_labels)] += known.scale * l;
  }
  return lengths;
}

Matrix<double> Normalised(const Matrix<double>& d) {
  const double largest = Largest(d);
  Matrix<double> shape = d;
  for (std::size_t k = 0; k < shape.size(); ++k) shape.data()[k] /= largest;
  return shape;
}

Matrix<double> MeanShape(const std::vector<const Matrix<double>*>& metrics) {
  const std::size_t labels = metrics.front()->rows();
  Matrix<double> mean(labels, labels);
  for (const Matrix<double>* d : metrics) {
    const Matrix<double> shape = Normalised(*d);
    for (std::size_t k = 0; k < mean.size(); ++k) {
      mean.data()[k] += shape.data()[k] / static_cast<double>(metrics.size());
    }
  }
  return mean;
}

// Pair weights 1/d make the objective the mean of d'/d over the pairs. The second part, times
// spread_weight, is what cuts are worth when marginals are independent noise: y_a(S) - y_b(S) then
// has a standard deviation proportional to sqrt(|S| (L - |S|)). For single labels both parts are
// equal on average.
CutValue FitValue(const Matrix<double>& shape, double spread_weight) {
  const auto labels = static_cast<int>(shape.rows());
  const double pairs = labels * (labels - 1) / 2.0;
  CutValue value{Matrix<double>(labels, labels), std::vector<double>(labels + 1)};
  double total = 0.0;
  for (int i = 0; i < labels; ++i) {
    for (int j = i + 1; j < labels; ++j) {
      if (shape(i, j) == 0) continue;
      value.pair(i, j) = value.pair(j, i) = 1.0 / (pairs * std::max(shape(i, j), kLeastShape));
      total += value.pair(i, j);
    }
  }
  for (int k = 0; k <= labels; ++k) {
    const double spread = std::sqrt(static_cast<double>(k) * (labels - k) * (labels - 1));
    value.size[k] = spread_weight * (total / pairs) * spread;
  }
  // No length may separate labels at distance 0: make such cuts worthless.
  const double worthless = -2 * (total + value.size[labels / 2]);
  for (int i = 0; i < labels; ++i) {
    for (int j = 0; j < labels; ++j) {
      if (i != j && shape(i, j) == 0) value.pair(i, j) = worthless;
    }
  }
  return value;
}

// The labels within distance r of label i, for every i and r.
std::set<CutMask> Balls(const Matrix<double>& shape) {
  std::set<CutMask> balls;
  for (std::size_t i = 0; i < shape.rows(); ++i) {
    for (double radius : shape.row(i)) {
      CutMask ball = 0;
      for (std::size_t j = 0; j < shape.rows(); ++j) {
        if (shape(i, j) <= radius) ball |= CutMask{1} << j;
      }
      balls.insert(CanonicalCut(ball, static_cast<int>(shape.rows())));
    }
  }
  return balls;
}

// Cuts to start from: single labels, prefixes, pairs of labels, and the labels nearer to one label
// than to another. With many labels there would be too many of the last, and the clusters of random
// trees help out. A metric with few different balls is close to a tree, and the balls are the cuts
// of that tree. Labels at distance 0 count as one.
void AddSimpleCuts(const Matrix<double>& shape, CutLp& lp) {
  const std::size_t labels = shape.rows();
  std::vector<CutMask> point(labels, 0);
  for (std::size_t i = 0; i < labels; ++i) {
    for (std::size_t j = 0; j < labels; ++j) {
      if (shape(i, j) == 0) point[i] |= CutMask{1} << j;
    }
  }
  CutMask prefix = 0;
  for (std::size_t i = 0; i < labels; ++i) {
    lp.AddCut(point[i]);
    lp.AddCut(prefix |= point[i]);
    if (labels > kFewLabels) continue;
    for (std::size_t j = i + 1; j < labels; ++j) lp.AddCut(point[i] | point[j]);
  }
  const std::set<CutMask> balls = Balls(shape);
  if (balls.size() <= 4 * labels) {
    for (CutMask ball : balls) lp.AddCut(ball);
  } else {
    const std::vector<CutMask> sides = NearerSides(shape);
    const std::size_t step = labels > kFewLabels ? sides.size() / (kSidesPerLabel * labels) : 1;
    for (std::size_t k = 0; k < sides.size(); k += std::max<std::size_t>(1, step))
      lp.AddCut(sides[k]);
  }
  if (labels <= kFewLabels) return;
  std::mt19937_64 random(labels);
  for (int t = 0; t < kStartTrees; ++t) {
    const std::shared_ptr<const LabelCuts> tree = RandomTree(shape, random).ToLabels().cuts;
    for (int c = 0; c < tree->num_cuts(); ++c) {
      CutMask cut = 0;
      for (int i : tree->set(c)) cut |= CutMask{1} << i;
      lp.AddCut(cut);
    }
  }
}

// The cuts and lengths of an LP solved for distances d. Degenerate solutions contain many cuts
// whose lengths are within the tolerance of 0; then the LP is solved again without them.
std::map<CutMask, double> Lengths(const CutLp& lp, const Matrix<double>& d) {
  const std::vector<double> length = lp.lengths();
  std::map<CutMask, double> kept;
  bool dusty = false;
  for (std::size_t c = 0; c < length.size(); ++c) {
    if (length[c] > kDust) kept[lp.cuts()[c]] = length[c];
    dusty = dusty || (length[c] > 0 && length[c] <= kDust);
  }
  if (!dusty) return kept;
  CutLp again(lp.value());
  for (int i = 0; i < lp.value().num_labels(); ++i) again.AddCut(CutMask{1} << i);
  for (const auto& [cut, ignored] : kept) again.AddCut(cut);
  again.Solve(d, {});
  kept.clear();
  const std::vector<double> clean = again.lengths();
  for (std::size_t c = 0; c < clean.size(); ++c) {
    if (clean[c] > kDust) kept[again.cuts()[c]] = clean[c];
  }
  return kept;
}

SparseLengths Stretched(const std::map<CutMask, double>& lengths, double factor) {
  SparseLengths stretched;
  for (const auto& [cut, length] : lengths) stretched[LabelsOf(cut)] = factor * length;
  return stretched;
}

// The mean shape decides which cuts are worth having; each metric then starts from those and the
// ones added for earlier metrics, and gets new cuts only where these cannot express it.
std::vector<SparseLengths> FitGeneral(const std::vector<const Matrix<double>*>& metrics,
                                      const MetricFitOptions& options) {
  const Matrix<double> shape = MeanShape(metrics);
  const int labels = static_cast<int>(shape.rows());
  const CutValue value = FitValue(shape, options.spread_weight);

  CutLp first(value);
  AddSimpleCuts(shape, first);
  first.Solve(shape, {.max_rounds = kMaxRounds,
                      .max_cuts = std::numeric_limits<std::size_t>::max(),
                      .max_work = options.max_work,
                      .least_gain = kLeastGain});
  const std::map<CutMask, double> mean_lengths = Lengths(first, shape);
  if (metrics.size() == 1) return {Stretched(mean_lengths, Largest(*metrics[0]))};

  CutLp shared(value);
  for (const auto& [cut, length] : mean_lengths) shared.AddCut(cut);
  std::vector<SparseLengths> fitted;
  double work_spent = 0.0;  // on new cuts only: solving with the existing ones is needed anyway
  for (const Matrix<double>* d : metrics) {
    const double largest = Largest(*d), work_before = shared.work();
    const Matrix<double> normalised = Normalised(*d);
    const std::size_t cuts_before = shared.cuts().size();
    shared.Solve(
        normalised,
        {.max_rounds = kMaxSharedRounds,
         .max_cuts = static_cast<std::size_t>(std::max(0, options.max_cuts_per_label) * labels),
         .max_work = options.max_shared_work - work_spent,
         .least_gain = kLeastSharedGain,
         .stop_when_exact = true});
    if (shared.cuts().size() > cuts_before) work_spent += shared.work() - work_before;
    fitted.push_back(Stretched(Lengths(shared, normalised), largest));
  }
  return fitted;
}

// Too many labels for the LP: a mixture of random trees, or of cuts around single labels, whichever
// is nearer to d, whose cuts are then lengthened, small ones first, as far as d' <= d allows.
SparseLengths MixTrees(const Matrix<double>& d) {
  const std::size_t labels = d.rows();
  const int num_labels = static_cast<int>(labels);
  SparseLengths trees, around;
  std::mt19937_64 random(labels);
  for (int t = 0; t < std::max(1, kMixedTrees * internal::kMaxMaskLabels / num_labels); ++t) {
    const LabelSpace tree = RandomTree(d, random).ToLabels();
    for (int c = 0; c < tree.cuts->num_cuts(); ++c)
      trees[CanonicalSide(tree.cuts->set(c), num_labels)] += tree.metrics[0].length[c];
  }
  for (std::size_t i = 0; i < labels; ++i) {
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < labels; ++j) {
      if (j != i) nearest = std::min(nearest, d(i, j));
    }
    around[{static_cast<int>(i)}] = nearest / 2;
    trees.try_emplace({static_cast<int>(i)}, 0.0);
  }
  const auto distances = [&](const SparseLengths& lengths) {
    Matrix<double> sum(labels, labels);
    for (const auto& [set, length] : lengths) {
      std::vector<char> inside(labels, 0);
      for (int i : set) inside[i] = 1;
      for (int i : set) {
        for (std::size_t j = 0; j < labels; ++j) {
          if (!inside[j]) sum(i, j) = sum(j, i) += length;
        }
      }
    }
    return sum;
  };
  const auto lengthen = [&](SparseLengths* lengths) {
    Matrix<double> sum = distances(*lengths);
    double scale = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < d.size(); ++k) {
      if (sum.data()[k] > 0) scale = std::min(scale, d.data()[k] / sum.data()[k]);
    }
    for (std::size_t k = 0; k < d.size(); ++k) sum.data()[k] *= scale;
    std::vector<SparseLengths::iterator> by_size;
    for (auto cut = lengths->begin(); cut != lengths->end(); ++cut) {
      cut->second *= scale;
      by_size.push_back(cut);
    }
    std::stable_sort(by_size.begin(), by_size.end(), [](const auto& a, const auto& b) {
      return a->first.size() < b->first.size();
    });
    for (const auto& cut : by_size) {
      std::vector<char> inside(labels, 0);
      for (int i : cut->first) inside[i] = 1;
      double slack = std::numeric_limits<double>::infinity();
      for (int i : cut->first) {
        for (std::size_t j = 0; j < labels; ++j) {
          if (!inside[j]) slack = std::min(slack, d(i, j) - sum(i, j));
        }
      }
      if (!(slack > 0)) continue;
      cut->second += slack;
      for (int i : cut->first) {
        for (std::size_t j = 0; j < labels; ++j) {
          if (!inside[j]) sum(i, j) = sum(j, i) += slack;
        }
      }
    }
    double total = 0.0;
    for (std::size_t k = 0; k < d.size(); ++k) {
      if (d.data()[k] > 0) total += sum.data()[k] / d.data()[k];
    }
    return total;
  };
  return lengthen(&trees) > lengthen(&around) ? trees : around;
}

bool Separates(const std::vector<int>& set, int i, int j) {
  return std::binary_search(set.begin(), set.end(), i) !=
         std::binary_search(set.begin(), set.end(), j);
}

// The LP's tolerance can leave d' = 0 where d is positive but tiny. Then a little of the metric
// min_k d(i,k)/2 + min_k d(j,k)/2 <= d(i,j), a sum of cuts around single labels, is mixed in.
void SeparateAll(const Matrix<double>& d, SparseLengths& lengths) {
  const int labels = static_cast<int>(d.rows());
  const auto separated = [&](int i, int j) {
    return std::any_of(lengths.begin(), lengths.end(),
                       [&](const auto& cut) { return Separates(cut.first, i, j); });
  };
  bool complete = true;
  for (int i = 0; i < labels && complete; ++i) {
    for (int j = i + 1; j < labels && complete; ++j) complete = d(i, j) == 0 || separated(i, j);
  }
  if (complete) return;
  SparseLengths around;  // labels at distance 0 share a set
  for (int i = 0; i < labels; ++i) {
    std::vector<int> set;
    double nearest = std::numeric_limits<double>::infinity();
    for (int j = 0; j < labels; ++j) {
      if (d(i, j) == 0) {
        set.push_back(j);
      } else {
        nearest = std::min(nearest, d(i, j));
      }
    }
    if (set.size() == d.rows()) continue;
    double& length = around.try_emplace(CanonicalSide(set, labels), nearest / 2).first->second;
    length = std::min(length, nearest / 2);
  }
  for (auto& [set, length] : lengths) length *= 1 - kMixed;
  for (const auto& [set, length] : around) lengths[set] += kMixed * length;
}

// Shortens cuts until d' <= d holds for the sums as CutDistance forms them, and returns d'.
// Floating-point addition is monotone, so that shortening for one pair never spoils another.
Matrix<double> ShortenBelow(const Matrix<double>& d, const LabelCuts& cuts,
                            std::vector<double>& length) {
  Matrix<double> cut_distance = CutDistance(cuts, length);
  double excess = 0.0;  // relative
  for (std::size_t k = 0; k < d.size(); ++k) {
    if (cut_distance.data()[k] > d.data()[k]) {
      excess = std::max(excess, cut_distance.data()[k] / d.data()[k] - 1);
    }
  }
  if (excess == 0.0) return cut_distance;
  if (excess < kSmallExcess) {
    const double rounding = 2 * std::numeric_limits<double>::epsilon() * cuts.num_cuts();
    for (double& l : length) l *= 1 - excess - rounding;
    cut_distance = CutDistance(cuts, length);
  }
  bool changed = false;
  std::vector<int> separating;
  for (int i = 0; i < cuts.num_labels(); ++i) {
    for (int j = i + 1; j < cuts.num_labels(); ++j) {
      if (cut_distance(i, j) <= d(i, j)) continue;
      changed = true;
      separating.clear();
      for (int c = 0; c < cuts.num_cuts(); ++c) {
        if (length[c] > 0 && Separates(cuts.set(c), i, j)) separating.push_back(c);
      }
      const auto sum = [&] {
        double total = 0.0;
        for (int c : separating) total += length[c];
        return total;
      };
      for (double total = sum(); total > d(i, j); total = sum()) {
        const double factor = d(i, j) / total * (1 - std::numeric_limits<double>::epsilon());
        for (int c : separating) length[c] *= factor;
      }
    }
  }
  return changed ? CutDistance(cuts, length) : cut_distance;
}

double Distortion(const Matrix<double>& d, const Matrix<double>& cut_distance) {
  double worst = 1.0;
  for (std::size_t k = 0; k < d.size(); ++k) {
    if (d.data()[k] > 0) worst = std::max(worst, d.data()[k] / cut_distance.data()[k]);
  }
  return worst <= 1.0 + kExactWithin ? 1.0 : worst;
}

// The distances without repetitions; index_of[m] is the index of the m-th metric among them.
std::vector<const Matrix<double>*> Different(const std::vector<Matrix<double>>& distances,
                                             std::vector<std::size_t>& index_of) {
  std::vector<const Matrix<double>*> different;
  for (const Matrix<double>& d : distances) {
    const auto same = std::find_if(different.begin(), different.end(),
                                   [&](const Matrix<double>* other) { return *other == d; });
    index_of.push_back(static_cast<std::size_t>(same - different.begin()));
    if (same == different.end()) different.push_back(&d);
  }
  return different;
}

// One family of all the cuts in use, and the metrics expressed in it.
LabelSpace Assemble(const std::vector<const Matrix<double>*>& distances,
                    const std::vector<std::string>& names,
                    const std::vector<SparseLengths>& lengths) {
  const int labels = static_cast<int>(distances.front()->rows());
  std::map<std::vector<int>, int> number;
  for (const SparseLengths& used : lengths) {
    for (const auto& [set, length] : used) {
      if (set.size() > 1) number.emplace(set, 0);
    }
  }
  std::vector<std::vector<int>> composite;
  for (auto& [set, index] : number) {
    index = labels + static_cast<int>(composite.size());
    composite.push_back(set);
  }
  LabelSpace space;
  space.cuts = std::make_shared<const LabelCuts>(labels, std::move(composite));
  for (std::size_t k = 0; k < distances.size(); ++k) {
    LabelMetric metric{names[k], *distances[k], std::vector<double>(space.cuts->num_cuts()), 1.0};
    for (const auto& [set, length] : lengths[k]) {
      metric.length[set.size() == 1 ? set.front() : number.at(set)] = length;
    }
    metric.distortion =
        Distortion(metric.distance, ShortenBelow(metric.distance, *space.cuts, metric.length));
    space.metrics.push_back(std::move(metric));
  }
  return space;
}

}  // namespace

std::optional<KnownMetric> RecogniseMetric(const Matrix<double>& d) {
  const int labels = static_cast<int>(d.rows());
  if (labels < 2) return std::nullopt;
  const double largest = Largest(d), step = d(0, 1);
  if (!(step > 0) || !(largest < step * labels)) return std::nullopt;
  KnownMetric known{static_cast<int>(std::lround(largest / step)), step};
  for (int i = 0; i < labels; ++i) {
    for (int j = 0; j < labels; ++j) {
      const int steps = std::min(std::abs(i - j), known.truncation);
      if (!(std::abs(d(i, j) - step * steps) <= kRelativeTolerance * largest)) return std::nullopt;
      if (steps > 0) known.scale = std::min(known.scale, d(i, j) / steps);
    }
  }
  return known;
}

LabelSpace FitMetrics(const std::vector<Matrix<double>>& distances,
                      const MetricFitOptions& options) {
  CheckDistances(distances);
  const int labels = static_cast<int>(distances.front().rows());
  std::vector<std::size_t> index_of;  // of each metric among the different ones
  const std::vector<const Matrix<double>*> different = Different(distances, index_of);

  std::vector<std::string> names(different.size(), "fitted");
  std::vector<SparseLengths> lengths(different.size());
  std::vector<std::size_t> general;
  for (std::size_t k = 0; k < different.size(); ++k) {
    if (Largest(*different[k]) == 0) {
      names[k] = "zero";
    } else if (const auto known = RecogniseMetric(*different[k])) {
      names[k] = KnownName(*known, labels);
      lengths[k] = KnownLengths(*known, labels);
    } else {
      general.push_back(k);
    }
  }
  if (!general.empty()) {
    std::vector<const Matrix<double>*> tables;
    for (std::size_t k : general) tables.push_back(different[k]);
    std::vector<SparseLengths> fitted;
    if (labels <= kMaxFittedLabels) {
      fitted = FitGeneral(tables, options);
    } else {
      for (const Matrix<double>* table : tables) fitted.push_back(MixTrees(*table));
    }
    for (std::size_t k = 0; k < general.size(); ++k) {
      lengths[general[k]] = std::move(fitted[k]);
      SeparateAll(*tables[k], lengths[general[k]]);
    }
  }
  const LabelSpace space = Assemble(different, names, lengths);
  LabelSpace all{space.cuts, {}};
  for (std::size_t k : index_of) all.metrics.push_back(space.metrics[k]);
  return all;
}

std::optional<TriangleViolation> WorstTriangle(const Matrix<double>& d) {
  std::optional<TriangleViolation> worst;
  double most = kRelativeTolerance * Largest(d);
  for (std::size_t i = 0; i < d.rows(); ++i) {
    for (std::size_t k = 0; k < d.rows(); ++k) {
      for (std::size_t j = i + 1; j < d.rows(); ++j) {
        const double excess = d(i, j) - (d(i, k) + d(k, j));
        if (!(excess > most)) continue;
        most = excess;
        worst = {static_cast<int>(i), static_cast<int>(j), static_cast<int>(k)};
      }
    }
  }
  return worst;
}

Matrix<double> LargestMetricBelow(const Matrix<double>& d) {
  Matrix<double> below = d;
  for (std::size_t k = 0; k < d.rows(); ++k) {
    for (std::size_t i = 0; i < d.rows(); ++i) {
      for (std::size_t j = 0; j < d.rows(); ++j)
        below(i, j) = std::min(below(i, j), below(i, k) + below(k, j));
    }
  }
  return below;
}

LabelSpace MetricLabels(const Matrix<double>& distance, NoMetric no_metric,
                        const std::string& name) {
  CheckDistances({distance});
  const std::optional<TriangleViolation> worst = WorstTriangle(distance);
  if (worst && no_metric == NoMetric::kRefuse) {
    const auto& [i, j, k] = *worst;
    throw InvalidInput(fmt::format(
        "the matrix is no metric: d({0},{1}) = {3:.9g} exceeds d({0},{2}) + d({2},{1}) = {4:.9g}",
        i, j, k, distance(i, j), distance(i, k) + distance(k, j)));
  }
  LabelSpace labels = FitMetrics({worst ? LargestMetricBelow(distance) : distance});
  LabelMetric& metric = labels.metrics.front();
  if (worst && no_metric == NoMetric::kKeep) {
    // Shortest paths add up roundings, and d is what d' must not exceed.
    metric.distance = distance;
    metric.distortion = Distortion(distance, ShortenBelow(distance, *labels.cuts, metric.length));
    metric.name = fmt::format("{} (no metric, cuts of the largest metric below it)",
                              name.empty() ? "compatibility" : name);
  } else if (!name.empty()) {
    metric.name = name;
  }
  return labels;
}

}  // namespace submarine
