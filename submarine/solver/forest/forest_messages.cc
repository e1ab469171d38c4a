#include "submarine/solver/forest/forest_messages.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "submarine/base/simd/row_kernels.h"
#include "submarine/solver/forest/trw_kernels.h"

namespace submarine::internal {
namespace {

// Distances that differ by less than rounding count as equal.
bool Same(double x, double y) { return std::abs(x - y) <= 1e-12 * (std::abs(x) + std::abs(y)); }

template <class Distance>
bool Matches(const Matrix<double>& distance, const Distance& expected) {
  for (std::size_t i = 0; i < distance.rows(); ++i) {
    for (std::size_t j = 0; j < distance.cols(); ++j) {
      if (!Same(distance(i, j), expected(i, j))) return false;
    }
  }
  return true;
}

double Steps(std::size_t i, std::size_t j) { return static_cast<double>(i < j ? j - i : i - j); }

// The tree of the cuts with positive length, assuming that these are nested; the caller checks.
void GuessTree(const LabelCuts& cuts, const std::vector<double>& length, MetricShape* shape) {
  std::vector<int> order(static_cast<std::size_t>(cuts.num_labels()));
  std::iota(order.begin(), order.end(), 0);
  for (int c = cuts.num_labels(); c < cuts.num_cuts(); ++c) {
    if (length[static_cast<std::size_t>(c)] > 0.0) order.push_back(c);
  }
  std::stable_sort(order.begin() + cuts.num_labels(), order.end(),
                   [&](int c, int d) { return cuts.set(c).size() < cuts.set(d).size(); });
  shape->parent.assign(order.size() + 1, -1);
  shape->length.assign(order.size() + 1, 0.0);
  for (std::size_t k = 0; k < order.size(); ++k) {
    shape->length[k] = length[static_cast<std::size_t>(order[k])];
    std::size_t p = std::max(k + 1, static_cast<std::size_t>(cuts.num_labels()));
    while (p < order.size() && !cuts.contains(order[p], cuts.set(order[k]).front())) ++p;
    shape->parent[k] = static_cast<int>(p);
  }
}

double TreeDistance(const MetricShape& shape, std::size_t i, std::size_t j) {
  double distance = 0.0;
  while (i != j) {  // children come before parents
    std::size_t& lower = i < j ? i : j;
    distance += shape.length[lower];
    lower = static_cast<std::size_t>(shape.parent[lower]);
  }
  return distance;
}

// Scratch space of the recursions, one per thread, as they run hundreds of thousands of times.
double* Scratch(std::size_t size) {
  thread_local std::vector<double> scratch;
  if (scratch.size() < size) scratch.resize(size);
  return scratch.data();
}

double LogAddExp(double x, double y) {
  const double larger = std::max(x, y);
  return larger + std::log1p(std::exp(std::min(x, y) - larger));
}

}  // namespace

MetricShape ShapeOf(const LabelCuts& cuts, const LabelMetric& metric) {
  using Kind = MetricShape::Kind;
  MetricShape shape;
  shape.distance = metric.distance;
  const Matrix<double>& d = shape.distance;
  shape.diameter = *std::max_element(d.data(), d.data() + d.size());
  shape.unit = d(0, 1);
  if (Matches(d, [&](auto i, auto j) { return i == j ? 0.0 : shape.unit; })) {
    shape.kind = Kind::kPotts;
    return shape;
  }
  if (Matches(d, [&](auto i, auto j) { return shape.unit * Steps(i, j); })) {
    shape.kind = Kind::kLinear;
    return shape;
  }
  if (shape.unit > 0.0) {
    shape.truncation = static_cast<int>(std::lround(shape.diameter / shape.unit));
    const double steps = shape.truncation;
    if (Matches(d, [&](auto i, auto j) { return shape.unit * std::min(Steps(i, j), steps); })) {
      shape.kind = Kind::kTruncated;
      return shape;
    }
  }
  GuessTree(cuts, metric.length, &shape);
  if (Matches(d, [&](auto i, auto j) { return TreeDistance(shape, i, j); })) {
    shape.kind = Kind::kTree;
  }
  return shape;
}

PairKernel PairKernel::Metric(std::shared_ptr<const MetricShape> shape, double scale) {
  PairKernel kernel;
  if (shape->kind == MetricShape::Kind::kTable) {
    kernel = Table(shape->distance, scale);
  } else {
    kernel.rows_ = kernel.columns_ = shape->distance.rows();
    kernel.range_ = scale * shape->diameter;
    kernel.leave_ = std::exp(-scale * shape->unit);
    kernel.stay_ = -std::expm1(-scale * shape->unit);
  }
  kernel.scale_ = scale;
  if (shape->kind == MetricShape::Kind::kTree) {
    std::vector<double> decay;
    for (double length : shape->length) decay.push_back(std::exp(-scale * length));
    kernel.decay_ = std::make_shared<std::vector<double>>(std::move(decay));
  }
  if (shape->kind != MetricShape::Kind::kTable) kernel.shape_ = std::move(shape);
  return kernel;
}

PairKernel PairKernel::Table(const Matrix<double>& energy, double scale) {
  PairKernel kernel;
  kernel.rows_ = energy.rows();
  kernel.columns_ = energy.cols();
  kernel.scale_ = scale;
  const auto [least, largest] = std::minmax_element(energy.data(), energy.data() + energy.size());
  kernel.log_scale_ = -scale * *least;
  kernel.range_ = scale * (*largest - *least);
  auto log_table = std::make_shared<Matrix<double>>(energy);
  auto table = std::make_shared<Matrix<double>>(energy);
  auto transposed = std::make_shared<Matrix<double>>(energy.cols(), energy.rows());
  for (std::size_t i = 0; i < energy.rows(); ++i) {
    for (std::size_t j = 0; j < energy.cols(); ++j) {
      const double log_entry = -scale * (energy(i, j) - *least);
      (*log_table)(i, j) = log_entry;
      (*table)(i, j) = (*transposed)(j, i) = std::exp(log_entry);
    }
  }
  kernel.log_table_ = std::move(log_table);
  kernel.table_ = std::move(table);
  kernel.transposed_ = std::move(transposed);
  return kernel;
}

double PairKernel::LogEntry(std::size_t i, std::size_t j) const {
  return shape_ == nullptr ? (*log_table_)(i, j) : -scale_ * shape_->distance(i, j);
}

void PairKernel::ApplyTree(const double* q, double* out) const {
  const std::vector<int>& parent = shape_->parent;
  const std::vector<double>& decay = *decay_;
  const std::size_t nodes = parent.size();
  double* up = Scratch(2 * nodes);
  double* down = up + nodes;
  std::copy(q, q + rows_, up);
  std::fill(up + rows_, up + nodes, 0.0);
  for (std::size_t v = 0; v + 1 < nodes; ++v) up[parent[v]] += decay[v] * up[v];
  down[nodes - 1] = 0.0;
  for (std::size_t v = nodes - 1; v-- > 0;) {
    down[v] = decay[v] * (up[parent[v]] + down[parent[v]] - decay[v] * up[v]);
  }
  for (std::size_t i = 0; i < rows_; ++i) out[i] = up[i] + down[i];
}

void PairKernel::ApplyLinear(const double* q, double* out) const {
  double from_left = 0.0;
  for (std::size_t i = 0; i < rows_; ++i) out[i] = from_left = q[i] + leave_ * from_left;
  double from_right = 0.0;
  for (std::size_t i = rows_; i-- > 0;) {
    out[i] += leave_ * from_right;
    from_right = q[i] + leave_ * from_right;
  }
}

// K = floor + (exp(-c |i-j|) - floor) within |i-j| < t.
void PairKernel::ApplyTruncated(const double* q, double* out) const {
  const auto t = static_cast<std::size_t>(shape_->truncation);
  const double floor = std::exp(-range_);
  double* prefix = Scratch(rows_ + 1);
  prefix[0] = 0.0;
  for (std::size_t i = 0; i < rows_; ++i) prefix[i + 1] = prefix[i] + q[i];
  double near = 0.0;  // sum over 0 <= k < t of exp(-c k) q[i-k]
  for (std::size_t i = 0; i < rows_; ++i) {
    near = q[i] + leave_ * near - (i >= t ? floor * q[i - t] : 0.0);
    const std::size_t begin = i + 1 >= t ? i + 1 - t : 0;
    const std::size_t end = std::min(i + t, rows_);
    out[i] = near + floor * (prefix[begin] + (prefix[rows_] - prefix[end]));
  }
  near = 0.0;  // sum over 0 < k < t of exp(-c k) q[i+k]
  for (std::size_t i = rows_; i-- > 0;) {
    near = q[i] + leave_ * near - (i + t < rows_ ? floor * q[i + t] : 0.0);
    out[i] += near - q[i];
  }
}

void PairKernel::ApplyTable(bool forward, const double* q, double* out) const {
  const Matrix<double>& rows = forward ? *transposed_ : *table_;
  for (std::size_t j = 0; j < rows.rows(); ++j) out[j] = DotRow(rows.row(j).data(), q, rows.cols());
}

void PairKernel::Apply(bool forward, const double* q, double* out) const {
  if (shape_ == nullptr) return ApplyTable(forward, q, out);
  switch (shape_->kind) {
    case MetricShape::Kind::kTree:
      return ApplyTree(q, out);
    case MetricShape::Kind::kLinear:
      return ApplyLinear(q, out);
    case MetricShape::Kind::kTruncated:
      return ApplyTruncated(q, out);
    default: {
      double sum = 0.0;
      for (std::size_t i = 0; i < rows_; ++i) sum += q[i];
      for (std::size_t i = 0; i < rows_; ++i) out[i] = stay_ * q[i] + leave_ * sum;
    }
  }
}

// log(exp(-c) sum + (1 - exp(-c)) exp(q_i)) with exp(-c) possibly 0.
void PairKernel::ApplyLogPotts(const double* q, double* out) const {
  const double largest = MaxRow(q, rows_);
  const double log_sum = largest + std::log(ExpRow(q, largest, rows_, out));
  const double elsewhere = log_sum - scale_ * shape_->unit;
  const double log_stay = std::log(stay_);
  for (std::size_t i = 0; i < rows_; ++i) out[i] = LogAddExp(elsewhere, log_stay + q[i]);
}

void PairKernel::ApplyLog(bool forward, const double* q, double* out) const {
  const std::size_t from = labels_from(forward);
  const std::size_t to = labels_to(forward);
  if (range_ <= kLargestRange) {
    // The largest q alone contributes at least exp(-range) to every entry: any underflow is
    // negligible.
    thread_local std::vector<double> p;
    if (p.size() < from) p.resize(from);
    const double largest = MaxRow(q, from);
    ExpRow(q, largest, from, p.data());
    Apply(forward, p.data(), out);
    LogRow(out, largest, to, out);
    return;
  }
  if (is_potts()) return ApplyLogPotts(q, out);
  double* term = Scratch(from);
  for (std::size_t j = 0; j < to; ++j) {
    for (std::size_t i = 0; i < from; ++i)
      term[i] = q[i] + (forward ? LogEntry(i, j) : LogEntry(j, i));
    const double largest = MaxRow(term, from);
    out[j] = largest + std::log(ExpRow(term, largest, from, term));
  }
}

}  // namespace submarine::internal
