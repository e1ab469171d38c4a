#include "submarine/filter/lattice/lattice_levels.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/parallel.h"
#include "submarine/filter/lattice/lattice_kernels.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kMaxSample = 16384;
constexpr std::size_t kRangeGrain = 16384;

std::vector<float> SortedSample(const Matrix<float>& v, std::size_t column) {
  const std::size_t step = (v.rows() + kMaxSample - 1) / kMaxSample;
  std::vector<float> sample;
  sample.reserve(v.rows() / step + 1);
  for (std::size_t a = 0; a < v.rows(); a += step) sample.push_back(v(a, column));
  std::sort(sample.begin(), sample.end());
  return sample;
}

// Ends a cell before a unit that would make it heavier than `most`; light units share a cell.
std::vector<std::size_t> CellEnds(const std::vector<double>& heaviness, double most) {
  std::vector<std::size_t> ends;
  double sum = 0.0;
  for (std::size_t i = 0; i < heaviness.size(); ++i) {
    if (i > 0 && sum + heaviness[i] > most) {
      ends.push_back(i);
      sum = 0.0;
    }
    sum += heaviness[i];
  }
  ends.push_back(heaviness.size());
  return ends;
}

std::vector<float> UnitCells(const std::vector<float>& sample, double least, double largest,
                             int levels) {
  constexpr double kMostUnits = 4096.0;
  const double range = largest - least;
  const auto units = static_cast<std::size_t>(std::clamp(std::ceil(range), 1.0, kMostUnits));
  const double width = std::max(1.0, range / static_cast<double>(units));
  std::vector<float> nodes = {static_cast<float>(least)};
  if (static_cast<int>(units) < levels) {
    for (std::size_t k = 1; k <= units; ++k) {
      nodes.push_back(static_cast<float>(least + width * static_cast<double>(k)));
    }
    return nodes;
  }
  // A cell of several units flattens psi between the values inside. The cost grows with their
  // number, so units with many values keep a cell of their own.
  std::vector<double> heaviness(units, 0.0);
  for (const float value : sample) {
    const auto unit = static_cast<std::size_t>(std::max(0.0, (value - least) / width));
    heaviness[std::min(unit, units - 1)] += 1.0;
  }
  double total = 0.0;
  for (double& h : heaviness) total += h = std::sqrt(h) + 1e-3;
  double low = 0.0;
  double high = total;
  for (int i = 0; i < 40; ++i) {
    const double middle = 0.5 * (low + high);
    const bool fits = static_cast<int>(CellEnds(heaviness, middle).size()) < levels;
    (fits ? high : low) = middle;
  }
  for (const std::size_t end : CellEnds(heaviness, high)) {
    nodes.push_back(static_cast<float>(least + width * static_cast<double>(end)));
  }
  return nodes;
}

void AddQuantiles(const std::vector<float>& sample, float least, int count,
                  std::vector<float>* nodes) {
  const auto above = std::upper_bound(sample.begin(), sample.end(), least);
  const auto n = static_cast<std::size_t>(sample.end() - above);
  if (n == 0) return;
  std::vector<float> distinct(above, sample.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (distinct.size() <= static_cast<std::size_t>(count)) {
    nodes->insert(nodes->end(), distinct.begin(), distinct.end());
    return;
  }
  for (int k = 0; k < count; ++k) {
    nodes->push_back(above[static_cast<std::ptrdiff_t>(n * static_cast<std::size_t>(k) /
                                                       static_cast<std::size_t>(count))]);
  }
}

}  // namespace

double PsiOfLevels(double s_a, double s_b) {
  if (s_a < s_b) return -PsiOfLevels(s_b, s_a);  // antisymmetric to the last bit
  const auto split = [](double s) {
    const double floor = std::floor(s);
    return std::pair{floor, s - floor};
  };
  const auto sign = [](double x) { return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : 0.0); };
  const auto [j, upper_j] = split(s_a);
  const auto [k, upper_k] = split(s_b);
  return (1.0 - upper_j) * ((1.0 - upper_k) * sign(j - k) + upper_k * sign(j - k - 1.0)) +
         upper_j * ((1.0 - upper_k) * sign(j + 1.0 - k) + upper_k * sign(j - k));
}

std::vector<float> ChooseNodes(const std::vector<float>& sample, float least, float largest,
                               NodeRule rule, int levels) {
  if (!(least < largest)) return {least};
  std::vector<float> nodes;
  if (rule == NodeRule::kUnitCells) {
    nodes = UnitCells(sample, least, largest, levels);
  } else {
    nodes = {least, largest};
    const int inner = levels - 2;
    const int equal = rule == NodeRule::kMixed ? inner / 2 : 0;
    for (int k = 1; k <= equal; ++k) {
      nodes.push_back(least +
                      (largest - least) * static_cast<float>(k) / static_cast<float>(equal + 1));
    }
    AddQuantiles(sample, least, inner - equal, &nodes);
    std::sort(nodes.begin(), nodes.end());
  }
  nodes.back() = std::max(nodes.back(), largest);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

ColumnRanges FindRanges(const Matrix<float>& v, std::size_t first, std::size_t last) {
  const std::size_t n = last - first;
  const std::size_t chunks = (v.rows() + kRangeGrain - 1) / kRangeGrain;
  Matrix<float> least(chunks, n);
  Matrix<float> largest(chunks, n);
  ParallelFor(v.rows(), kRangeGrain, [&](std::size_t begin, std::size_t end) {
    float* low = least.data() + begin / kRangeGrain * n;
    float* high = largest.data() + begin / kRangeGrain * n;
    std::copy_n(v.data() + begin * v.cols() + first, n, low);
    std::copy_n(v.data() + begin * v.cols() + first, n, high);
    for (std::size_t a = begin + 1; a < end; ++a) {
      const float* row = v.data() + a * v.cols() + first;
      for (std::size_t i = 0; i < n; ++i) {
        low[i] = std::min(low[i], row[i]);
        high[i] = std::max(high[i], row[i]);
      }
    }
  });
  ColumnRanges ranges{{least.data(), least.data() + n}, {largest.data(), largest.data() + n}};
  for (std::size_t chunk = 1; chunk < chunks; ++chunk) {
    for (std::size_t i = 0; i < n; ++i) {
      ranges.least[i] = std::min(ranges.least[i], least(chunk, i));
      ranges.largest[i] = std::max(ranges.largest[i], largest(chunk, i));
    }
  }
  return ranges;
}

ColumnLevels ColumnLevels::Soft(const Matrix<float>& v, NodeRule rule, int levels,
                                std::size_t first, std::size_t last) {
  ColumnLevels result;
  result.columns_ = last - first;
  result.padded_ = PaddedChannels(result.columns_);
  result.nodes_.resize(result.columns_);
  const ColumnRanges ranges = FindRanges(v, first, last);
  ParallelFor(result.columns_, 1, [&](std::size_t i, std::size_t) {
    const bool constant = !(ranges.least[i] < ranges.largest[i]);
    result.nodes_[i] = ChooseNodes(constant ? std::vector<float>() : SortedSample(v, first + i),
                                   ranges.least[i], ranges.largest[i], rule, levels);
  });
  for (const auto& nodes : result.nodes_) {
    result.cells_ = std::max(result.cells_, nodes.size() - 1);
  }
  result.node_.assign(std::max<std::size_t>(1, result.cells_) * result.padded_, 0.0F);
  result.slope_.assign(result.node_.size(), 0.0F);
  for (std::size_t i = 0; i < result.columns_; ++i) {
    const std::vector<float>& nodes = result.nodes_[i];
    for (std::size_t k = 0; k < std::max<std::size_t>(1, result.cells_); ++k) {
      result.node_[k * result.padded_ + i] = nodes[std::min(k, nodes.size() - 1)];
      if (k + 1 < nodes.size()) {
        result.slope_[k * result.padded_ + i] = 1.0F / (nodes[k + 1] - nodes[k]);
      }
    }
  }
  return result;
}

bool ColumnLevels::Row(const float* v, float* s) const {
  return LevelRow(v, columns_, node_.data(), slope_.data(), cells_, padded_, s);
}

}  // namespace submarine::internal
