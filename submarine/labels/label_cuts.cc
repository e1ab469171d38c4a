#include "submarine/labels/label_cuts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "submarine/base/error.h"

namespace submarine {
namespace {

std::vector<char> Membership(const std::vector<int>& set, int num_labels) {
  std::vector<char> member(static_cast<std::size_t>(num_labels), 0);
  for (int label : set) member[static_cast<std::size_t>(label)] = 1;
  return member;
}

}  // namespace

void CheckLabelCount(int num_labels) {
  if (num_labels < 2 || num_labels > kMaxLabels) {
    throw InvalidInput(fmt::format("{} labels were asked for, but a model has between 2 and {}",
                                   num_labels, kMaxLabels));
  }
}

LabelCuts::LabelCuts(int num_labels, std::vector<std::vector<int>> composite)
    : num_labels_(num_labels) {
  CheckLabelCount(num_labels);
  for (int i = 0; i < num_labels; ++i) sets_.push_back({i});
  for (std::vector<int>& set : composite) {
    std::sort(set.begin(), set.end());
    const bool distinct = std::adjacent_find(set.begin(), set.end()) == set.end();
    if (set.empty() || !distinct || set.front() < 0 || set.back() >= num_labels) {
      throw InvalidInput(
          fmt::format("label cut {} is not a non-empty set of distinct labels below {}",
                      sets_.size(), num_labels));
    }
    sets_.push_back(std::move(set));
  }
  CompileSums();
}

bool LabelCuts::contains(int cut, int label) const {
  const std::vector<int>& s = set(cut);
  return std::binary_search(s.begin(), s.end(), label);
}

// Two ways to write a set in terms of smaller ones computed before: as a disjoint union (trees), or
// as one earlier set plus and minus single labels (prefixes, sliding windows). The shorter one is
// kept.
void LabelCuts::CompileSums() {
  order_.resize(sets_.size() - static_cast<std::size_t>(num_labels_));
  std::iota(order_.begin(), order_.end(), num_labels_);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](int a, int b) { return set(a).size() < set(b).size(); });

  std::vector<std::vector<char>> member;  // of the sets already in the program
  for (std::size_t k = 0; k < order_.size(); ++k) {
    const std::vector<int>& target = set(order_[k]);
    const std::vector<char> inside = Membership(target, num_labels_);

    std::vector<Term> cover;
    std::vector<char> open = inside;  // labels not yet covered
    for (std::size_t p = k; p-- > 0;) {
      const std::vector<int>& part = set(order_[p]);
      if (std::all_of(part.begin(), part.end(),
                      [&](int i) { return open[static_cast<std::size_t>(i)]; })) {
        cover.push_back({order_[p], 1.0});
        for (int i : part) open[static_cast<std::size_t>(i)] = 0;
      }
    }
    for (int i : target) {
      if (open[static_cast<std::size_t>(i)]) cover.push_back({i, 1.0});
    }

    std::size_t nearest = k;  // the earlier set with the smallest symmetric difference
    std::size_t least = cover.size();
    for (std::size_t p = 0; p < k; ++p) {
      std::size_t difference = 1;
      for (std::size_t i = 0; i < inside.size() && difference < least; ++i) {
        difference += inside[i] != member[p][i];
      }
      if (difference < least) {
        least = difference;
        nearest = p;
      }
    }
    if (nearest < k) {
      cover.assign(1, {order_[nearest], 1.0});
      for (int i = 0; i < num_labels_; ++i) {
        const int change =
            inside[static_cast<std::size_t>(i)] - member[nearest][static_cast<std::size_t>(i)];
        if (change != 0) cover.push_back({i, static_cast<double>(change)});
      }
    }
    term_begin_.push_back(terms_.size());
    terms_.insert(terms_.end(), cover.begin(), cover.end());
    member.push_back(inside);
  }
  term_begin_.push_back(terms_.size());
}

void LabelCuts::SumOverCuts(std::span<const double> y, std::span<double> z) const {
  if (y.data() != z.data()) std::copy(y.begin(), y.end(), z.begin());
  for (std::size_t k = 0; k < order_.size(); ++k) {
    double sum = 0.0;
    for (std::size_t t = term_begin_[k]; t < term_begin_[k + 1]; ++t) {
      sum += terms_[t].sign * z[static_cast<std::size_t>(terms_[t].source)];
    }
    z[static_cast<std::size_t>(order_[k])] = sum;
  }
}

void LabelCuts::SumOverLabels(std::span<double> s, std::span<double> s_label) const {
  for (std::size_t k = order_.size(); k-- > 0;) {
    const double value = s[static_cast<std::size_t>(order_[k])];
    for (std::size_t t = term_begin_[k]; t < term_begin_[k + 1]; ++t) {
      s[static_cast<std::size_t>(terms_[t].source)] += terms_[t].sign * value;
    }
  }
  if (s.data() != s_label.data()) {
    std::copy(s.begin(), s.begin() + num_labels_, s_label.begin());
  }
}

bool LabelSpace::exact() const {
  return std::all_of(metrics.begin(), metrics.end(),
                     [](const LabelMetric& m) { return m.distortion <= 1.0 + 1e-12; });
}

Matrix<double> CutDistance(const LabelCuts& cuts, std::span<const double> length) {
  const auto labels = static_cast<std::size_t>(cuts.num_labels());
  Matrix<double> distance(labels, labels, 0.0);
  for (int c = 0; c < cuts.num_cuts(); ++c) {
    const double l = length[static_cast<std::size_t>(c)];
    if (l == 0.0) continue;
    const std::vector<char> member = Membership(cuts.set(c), cuts.num_labels());
    for (int i : cuts.set(c)) {
      for (std::size_t j = 0; j < labels; ++j) {
        if (member[j]) continue;
        distance(static_cast<std::size_t>(i), j) += l;
        distance(j, static_cast<std::size_t>(i)) += l;
      }
    }
  }
  return distance;
}

MetricFit FitOf(const LabelCuts& cuts, const LabelMetric& metric) {
  const Matrix<double> below = CutDistance(cuts, metric.length);
  MetricFit fit{0.0, 0.0};
  double pairs = 0.0;
  for (std::size_t i = 0; i < below.rows(); ++i) {
    for (std::size_t j = i + 1; j < below.cols(); ++j) {
      if (metric.distance(i, j) == 0.0) continue;
      const double ratio = metric.distance(i, j) / below(i, j);
      fit.mean += ratio;
      pairs += 1.0;
      if (ratio <= fit.worst) continue;
      fit.worst = ratio;
      fit.i = static_cast<int>(i);
      fit.j = static_cast<int>(j);
    }
  }
  if (pairs == 0.0) return {};
  fit.mean /= pairs;
  return fit;
}

std::string MetricText(const LabelSpace& labels) {
  std::string text = labels.metrics.size() == 1 ? labels.metrics[0].name
                                                : fmt::format("{} metrics", labels.metrics.size());
  if (labels.exact()) return text;
  double worst = 1.0, mean = 0.0;
  for (const LabelMetric& metric : labels.metrics) {
    worst = std::max(worst, metric.distortion);
    mean += FitOf(*labels.cuts, metric).mean / static_cast<double>(labels.metrics.size());
  }
  return text + fmt::format(
                    " (upper and dual bound through cuts d' <= d, worst ratio d/d' {:.4g}, mean "
                    "{:.4g})",
                    worst, mean);
}

void CheckLabelSpace(const LabelSpace& labels) {
  if (labels.cuts == nullptr) throw InvalidInput("the label space has no label cuts");
  const auto num_labels = static_cast<std::size_t>(labels.num_labels());
  const auto num_cuts = static_cast<std::size_t>(labels.cuts->num_cuts());
  for (std::size_t m = 0; m < labels.metrics.size(); ++m) {
    const LabelMetric& metric = labels.metrics[m];
    if (metric.distance.rows() != num_labels || metric.distance.cols() != num_labels) {
      throw InvalidInput(
          fmt::format("label metric {} has a distance matrix of {} x {}, expected {} x {}", m,
                      metric.distance.rows(), metric.distance.cols(), num_labels, num_labels));
    }
    if (metric.length.size() != num_cuts) {
      throw InvalidInput(fmt::format("label metric {} has {} cut lengths, expected {}", m,
                                     metric.length.size(), num_cuts));
    }
    for (std::size_t c = 0; c < num_cuts; ++c) {
      if (!std::isfinite(metric.length[c]) || metric.length[c] < 0.0) {
        throw InvalidInput(
            fmt::format("cut {} of label metric {} has length {}, expected a finite number >= 0", c,
                        m, metric.length[c]));
      }
    }
  }
  if (!labels.names.empty() && labels.names.size() != num_labels) {
    throw InvalidInput(
        fmt::format("the label space has {} names for {} labels", labels.names.size(), num_labels));
  }
  for (std::size_t g = 0; g < labels.groups.size(); ++g) {
    const LabelGroup& group = labels.groups[g];
    const bool inside = !group.labels.empty() && group.labels.front() >= 0 &&
                        group.labels.back() < labels.num_labels();
    if (!inside || !std::is_sorted(group.labels.begin(), group.labels.end()) || group.parent < -1 ||
        group.parent >= static_cast<int>(g)) {
      throw InvalidInput(fmt::format(
          "label group {} is not a sorted list of labels below {} with a parent before it", g,
          num_labels));
    }
  }
}

LabelSpace PottsLabels(int num_labels) {
  CheckLabelCount(num_labels);
  const auto labels = static_cast<std::size_t>(num_labels);
  LabelMetric potts{"potts", Matrix<double>(labels, labels, 1.0), std::vector<double>(labels, 0.5)};
  for (std::size_t i = 0; i < labels; ++i) potts.distance(i, i) = 0.0;
  return {std::make_shared<LabelCuts>(num_labels, std::vector<std::vector<int>>{}),
          {std::move(potts)}};
}

namespace {

struct Interval {
  int first;
  int last;  // inclusive
  double length;
};

// The label space of min(|i-j|, truncation), given intervals of labels whose cuts add up to it.
LabelSpace OrderedLabels(int num_labels, int truncation, const std::vector<Interval>& intervals,
                         std::string name) {
  const auto labels = static_cast<std::size_t>(num_labels);
  std::vector<std::vector<int>> composite;
  std::vector<double> length(labels, 0.0);
  for (const Interval& interval : intervals) {
    if (interval.first == interval.last) {
      length[static_cast<std::size_t>(interval.first)] += interval.length;
      continue;
    }
    composite.emplace_back(static_cast<std::size_t>(interval.last - interval.first + 1));
    std::iota(composite.back().begin(), composite.back().end(), interval.first);
    length.push_back(interval.length);
  }
  LabelMetric metric{std::move(name), Matrix<double>(labels, labels), std::move(length)};
  for (int i = 0; i < num_labels; ++i) {
    for (int j = 0; j < num_labels; ++j) {
      metric.distance(static_cast<std::size_t>(i), static_cast<std::size_t>(j)) =
          std::min(std::abs(i - j), truncation);
    }
  }
  return {std::make_shared<LabelCuts>(num_labels, std::move(composite)), {std::move(metric)}};
}

}  // namespace

// |i-j| counts the prefixes {0..k} that hold exactly one of i and j.
LabelSpace LinearLabels(int num_labels) {
  CheckLabelCount(num_labels);
  std::vector<Interval> prefixes;
  for (int last = 0; last + 1 < num_labels; ++last) prefixes.push_back({0, last, 1.0});
  return OrderedLabels(num_labels, num_labels, prefixes, "linear");
}

// min(|i-j|, t): every window of t consecutive labels, clipped to the label range, with length 1/2.
// A pair at distance k <= t is separated by 2k of the shifts, at distance >= t by 2t.
LabelSpace TruncatedLinearLabels(int num_labels, int truncation) {
  CheckLabelCount(num_labels);
  if (truncation < 1) {
    throw InvalidInput(
        fmt::format("truncation {} of the linear metric is not a positive integer", truncation));
  }
  const std::string name = fmt::format("truncated:{}", truncation);
  if (truncation >= num_labels - 1) {
    LabelSpace linear = LinearLabels(num_labels);
    linear.metrics[0].name = name;
    return linear;
  }
  std::vector<Interval> windows;
  for (int begin = 1 - truncation; begin < num_labels; ++begin) {
    windows.push_back({std::max(begin, 0), std::min(begin + truncation, num_labels) - 1, 0.5});
  }
  return OrderedLabels(num_labels, truncation, windows, name);
}

}  // namespace submarine
