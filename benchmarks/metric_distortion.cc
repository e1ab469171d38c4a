// The table of docs/metrics.md: how far sums of cuts d' <= d fall short of random metrics d, by random
// trees and by our linear programme. Prints the worst and the mean ratio d/d' over the pairs of
// labels.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "submarine/labels/cut_lp.h"
#include "submarine/labels/metric_fit.h"
#include "submarine/labels/random_tree.h"

namespace submarine {
namespace {

using internal::CutLp;
using internal::CutMask;
using internal::CutValue;

constexpr int kTrees = 100;

Matrix<double> Euclidean(std::size_t labels, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  Matrix<double> point(labels, 3), d(labels, labels);
  for (std::size_t k = 0; k < point.size(); ++k) point.data()[k] = normal(random);
  for (std::size_t i = 0; i < labels; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      double sum = 0.0;
      for (std::size_t x = 0; x < 3; ++x) sum += std::pow(point(i, x) - point(j, x), 2);
      d(i, j) = d(j, i) = std::sqrt(sum);
    }
  }
  return d;
}

Matrix<double> Uniform(std::size_t labels, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(1.0, 2.0);
  Matrix<double> d(labels, labels);
  for (std::size_t i = 0; i < labels; ++i) {
    for (std::size_t j = 0; j < i; ++j) d(i, j) = d(j, i) = uniform(random);
  }
  return d;
}

// A random tree with half as many edges added.
Matrix<double> Graph(std::size_t labels, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0.1, 1.0);
  Matrix<double> d(labels, labels, 1e3);
  for (std::size_t i = 0; i < labels; ++i) d(i, i) = 0.0;
  const auto join = [&](std::size_t i, std::size_t j) {
    if (i != j) d(i, j) = d(j, i) = std::min(d(i, j), uniform(random));
  };
  for (std::size_t i = 1; i < labels; ++i) join(i, random() % i);
  for (std::size_t k = 0; k < labels / 2; ++k) join(random() % labels, random() % labels);
  return LargestMetricBelow(d);
}

struct Ratios {
  double worst = 1.0, mean = 0.0;
};

// After scaling `below` down as far as d' <= d needs.
Ratios RatiosOf(const Matrix<double>& d, const Matrix<double>& below) {
  double scale = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < d.size(); ++k) {
    if (below.data()[k] > 0.0) scale = std::min(scale, d.data()[k] / below.data()[k]);
  }
  Ratios ratios;
  double pairs = 0.0;
  for (std::size_t k = 0; k < d.size(); ++k) {
    if (d.data()[k] == 0.0) continue;
    const double ratio = d.data()[k] / (scale * below.data()[k]);
    ratios.worst = std::max(ratios.worst, ratio);
    ratios.mean += ratio;
    pairs += 1.0;
  }
  ratios.mean /= pairs;
  return ratios;
}

std::string Text(const Ratios& ratios) {
  return fmt::format("{:.2f}, {:.2f}", ratios.worst, ratios.mean);
}

// The same programme as FitMetrics solves, over the cuts of the trees alone.
Ratios OfTreeCuts(const Matrix<double>& d, const std::vector<LabelSpace>& trees) {
  const std::size_t labels = d.rows();
  const double largest = *std::max_element(d.data(), d.data() + d.size());
  Matrix<double> shape = d;
  CutValue value{Matrix<double>(labels, labels), std::vector<double>(labels + 1, 0.0)};
  for (std::size_t i = 0; i < labels; ++i) {
    for (std::size_t j = 0; j < labels; ++j) {
      shape(i, j) /= largest;
      if (i != j) value.pair(i, j) = 1.0 / shape(i, j);
    }
  }
  CutLp lp(value);
  for (const LabelSpace& tree : trees) {
    for (int c = 0; c < tree.cuts->num_cuts(); ++c) {
      CutMask cut = 0;
      for (int i : tree.cuts->set(c)) cut |= CutMask{1} << i;
      lp.AddCut(cut);
    }
  }
  lp.Solve(shape, {});
  const std::vector<double> length = lp.lengths();
  Matrix<double> below(labels, labels);
  for (std::size_t c = 0; c < length.size(); ++c) {
    for (std::size_t i = 0; i < labels; ++i) {
      for (std::size_t j = 0; j < labels; ++j) {
        if (((lp.cuts()[c] >> i) ^ (lp.cuts()[c] >> j)) & 1) below(i, j) += length[c];
      }
    }
  }
  return RatiosOf(d, below);
}

void Row(const std::string& kind, const Matrix<double>& d) {
  std::mt19937_64 random(d.rows());
  std::vector<LabelSpace> trees;
  Ratios best{std::numeric_limits<double>::infinity()};
  Matrix<double> mean(d.rows(), d.cols());
  for (int t = 0; t < kTrees; ++t) {
    trees.push_back(internal::RandomTree(d, random).ToLabels());
    const Matrix<double>& tree = trees.back().metrics[0].distance;
    const Ratios ratios = RatiosOf(d, tree);
    if (ratios.worst < best.worst) best = ratios;
    for (std::size_t k = 0; k < mean.size(); ++k) mean.data()[k] += tree.data()[k];
  }
  const Ratios cuts = OfTreeCuts(d, trees);
  const std::clock_t start = std::clock();
  const LabelSpace fitted = FitMetrics({d});
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const MetricFit fit = FitOf(*fitted.cuts, fitted.metrics[0]);
  fmt::print("| {} | {} | {} | {} | {} | {} | {} | {:.1f} |\n", kind, d.rows(), Text(best),
             Text(RatiosOf(d, mean)), Text(cuts), Text({fit.worst, fit.mean}),
             fitted.cuts->num_cuts(), seconds);
  std::fflush(stdout);
}

}  // namespace
}  // namespace submarine

int main() {
  fmt::print(
      "| metric | L | best of 100 trees | mean of 100 trees | cuts of 100 trees | after column "
      "generation | cuts | CPU s |\n|---|---|---|---|---|---|---|---|\n");
  for (const std::size_t labels : {10, 20, 40, 60}) {
    std::mt19937_64 random(labels);
    submarine::Row("Euclidean, 3-D", submarine::Euclidean(labels, random));
    submarine::Row("graph", submarine::Graph(labels, random));
    submarine::Row("1 to 2", submarine::Uniform(labels, random));
  }
}
