#include "submarine/solver/mean_field/pydensecrf_mean_field.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/freed_memory.h"
#include "submarine/base/parallel.h"
#include "submarine/extension/simplex_kernels.h"
#include "submarine/filter/lattice/lattice.h"
#include "submarine/filter/lattice_stream.h"
#include "submarine/solver/mean_field/streamed_updates.h"

namespace submarine {

using internal::kRowGrain;
using internal::LatticeOperator;
using internal::LatticeStream;
using internal::ParallelFor;
using internal::ParallelSum;
using internal::ReturnFreedMemory;
using internal::RunUpdates;
using internal::SoftmaxRows;
using internal::ThreadLimit;

namespace {

constexpr std::size_t kCheckGrain = 16384;
constexpr std::size_t kTransposedRows = 256;

// Compares exponents, which the compiler vectorises.
bool AllFinite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7F800000;
  std::uint32_t bad = 0;
  for (const float value : values)
    bad |= (std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent ? 1U : 0U;
  return bad == 0;
}

[[noreturn]] void RefuseInfinite(const Matrix<float>& values, const char* what) {
  const float* bad = std::find_if(values.data(), values.data() + values.size(),
                                  [](float value) { return !std::isfinite(value); });
  const auto place = static_cast<std::size_t>(bad - values.data());
  throw InvalidInput(fmt::format("the {} of variable {} at {} is {}, expected a finite number",
                                 what, place / values.cols(), place % values.cols(), *bad));
}

void CheckFinite(const Matrix<float>& values, const char* what) {
  std::atomic<bool> finite = true;
  ParallelFor(values.rows(), kCheckGrain, [&](std::size_t begin, std::size_t end) {
    const std::size_t cols = values.cols();
    if (!AllFinite({values.data() + begin * cols, (end - begin) * cols})) finite = false;
  });
  if (!finite) RefuseInfinite(values, what);
}

// to[a * stride + i] = from[i][a] for kLabels labels i and a < count. The small constant number of
// labels lets the compiler store them together.
template <std::size_t kLabels>
void Interleave(const float* from, std::size_t from_stride, std::size_t count, float* to,
                std::size_t stride) {
  for (std::size_t a = 0; a < count; ++a) {
    std::array<float, kLabels> together;
    for (std::size_t i = 0; i < kLabels; ++i) together[i] = from[i * from_stride + a];
    std::memcpy(to + a * stride, together.data(), sizeof(together));
  }
}

void ScaleRows(const std::vector<float>& scale, const Matrix<float>& from, Matrix<float>* to) {
  ParallelFor(from.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      const std::span<const float> row = from.row(a);
      const std::span<float> out = to->row(a);
      for (std::size_t i = 0; i < row.size(); ++i) out[i] = scale[a] * row[i];
    }
  });
}

// Ranges that threads add, joined where they meet.
class JoinedRanges {
 public:
  // The range together with those that it meets.
  std::pair<std::size_t, std::size_t> Add(std::size_t first, std::size_t last) {
    const std::lock_guard lock(mutex_);
    if (const auto after = end_of_.find(last); after != end_of_.end()) {
      last = after->second;
      end_of_.erase(after);
    }
    auto before = end_of_.lower_bound(first);
    if (before != end_of_.begin() && (--before)->second == first) {
      first = before->first;
      before->second = last;
    } else {
      end_of_[first] = last;
    }
    return {first, last};
  }

 private:
  std::mutex mutex_;
  std::map<std::size_t, std::size_t> end_of_;  // by begin
};

void Shape(const Matrix<float>& like, Matrix<float>* matrix) {
  if (matrix->rows() != like.rows() || matrix->cols() != like.cols())
    *matrix = Matrix<float>(like.rows(), like.cols());
}

}  // namespace

struct PydensecrfMeanField::Term {
  std::unique_ptr<LatticeOperator> lattice;
  std::vector<float>
      before;  // factors of the filter's input, unless the lattice applies them; empty: ones
  std::vector<float> after;  // factors of the result
  std::vector<float> compatibility;

  // Whether the term is just a multiple of the lattice's product.
  bool plain() const { return compatibility.size() == 1 && before.empty() && after.empty(); }
};

PydensecrfMeanField::PydensecrfMeanField(std::size_t num_variables, std::size_t num_labels,
                                         std::size_t max_bytes)
    : num_variables_(num_variables), num_labels_(num_labels), max_bytes_(max_bytes) {
  if (num_variables == 0 || num_labels == 0)
    throw InvalidInput(
        fmt::format("there are {} variables and {} labels, expected at least one of each",
                    num_variables, num_labels));
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max() - 1;
  if (num_variables > kMost)
    throw InvalidInput(
        fmt::format("there are {} variables, expected at most {}", num_variables, kMost));
}

PydensecrfMeanField::~PydensecrfMeanField() = default;
PydensecrfMeanField::PydensecrfMeanField(PydensecrfMeanField&&) noexcept = default;

void PydensecrfMeanField::CheckShape(const Matrix<float>& q) const {
  if (q.rows() != num_variables_ || q.cols() != num_labels_)
    throw InvalidInput(fmt::format("there are {} x {} numbers, expected {} variables x {} labels",
                                   q.rows(), q.cols(), num_variables_, num_labels_));
}

void PydensecrfMeanField::SetUnary(Matrix<float> unary) {
  const ThreadLimit limit(threads_);
  CheckShape(unary);
  CheckFinite(unary, "cost");
  unary_ = std::move(unary);
}

void PydensecrfMeanField::SetUnaryByLabel(std::span<const float> costs) {
  const ThreadLimit limit(threads_);
  if (costs.size() != num_variables_ * num_labels_)
    throw InvalidInput(fmt::format("there are {} costs, expected {} labels x {} variables",
                                   costs.size(), num_labels_, num_variables_));
  Matrix<float> unary = Matrix<float>::Unset(num_variables_, num_labels_);
  std::atomic<bool> finite = true;
  // A block of output rows stays in the cache while the labels are processed.
  ParallelFor(num_variables_, kTransposedRows, [&](std::size_t begin, std::size_t end) {
    constexpr std::size_t kTogether = 4;
    const std::size_t count = end - begin;
    const float* from = costs.data() + begin;
    float* to = unary.data() + begin * num_labels_;
    std::size_t i = 0;
    for (; i + kTogether <= num_labels_; i += kTogether)
      Interleave<kTogether>(from + i * num_variables_, num_variables_, count, to + i, num_labels_);
    for (; i < num_labels_; ++i)
      Interleave<1>(from + i * num_variables_, num_variables_, count, to + i, num_labels_);
    if (!AllFinite({to, count * num_labels_})) finite = false;
  });
  if (!finite) RefuseInfinite(unary, "cost");
  unary_ = std::move(unary);
}

void PydensecrfMeanField::AddTerm(const Matrix<float>& features, KernelNormalisation normalisation,
                                  std::vector<float> compatibility) {
  if (features.rows() != num_variables_)
    throw InvalidInput(fmt::format("there are features of {} variables, expected {}",
                                   features.rows(), num_variables_));
  if (features.cols() == 0 || features.cols() > kMaxFeatureDimension)
    throw InvalidInput(fmt::format("there are {} features, expected 1 to {}", features.cols(),
                                   kMaxFeatureDimension));
  const ThreadLimit limit(threads_);
  CheckFinite(features, "feature");
  const std::size_t numbers = compatibility.size();
  if (numbers != 1 && numbers != num_labels_ && numbers != num_labels_ * num_labels_)
    throw InvalidInput(fmt::format("the compatibility has {} numbers, expected 1, {} or {}",
                                   numbers, num_labels_, num_labels_ * num_labels_));
  if (!std::all_of(compatibility.begin(), compatibility.end(),
                   [](float m) { return std::isfinite(m); }))
    throw InvalidInput("the compatibility has numbers that are not finite");
  auto term = std::make_unique<Term>();
  const bool symmetric = normalisation == KernelNormalisation::kSymmetric;
  term->lattice = LatticeOperator::MakeClassic(features, symmetric, max_bytes_);
  if (!symmetric && normalisation != KernelNormalisation::kNone) {
    std::vector<float> scale = term->lattice->RowSums();
    for (float& n : scale) n = 1.0F / (n + 1e-20F);
    (normalisation == KernelNormalisation::kBefore ? term->before : term->after) = std::move(scale);
  }
  term->compatibility = std::move(compatibility);
  terms_.push_back(std::move(term));
}

Matrix<float> PydensecrfMeanField::Start() const {
  const ThreadLimit limit(threads_);
  Matrix<float> q(num_variables_, num_labels_, 1.0F / static_cast<float>(num_labels_));
  if (unary_.size() == 0) return q;
  ParallelFor(num_variables_, kRowGrain, [&](std::size_t begin, std::size_t end) {
    SoftmaxRows(unary_.row(begin).data(), 1.0F, end - begin, num_labels_, q.row(begin).data());
  });
  return q;
}

void PydensecrfMeanField::AddCosts(const Term& term, const Matrix<float>& q, Workspace* workspace,
                                   Matrix<float>* out) const {
  const std::vector<float>& m = term.compatibility;
  const Matrix<float>* x = &q;
  if (!term.before.empty()) {
    Shape(q, &workspace->scaled);
    ScaleRows(term.before, q, &workspace->scaled);
    x = &workspace->scaled;
  }
  if (m.size() == 1 && term.after.empty()) {
    term.lattice->AddProductWithSelf(*x, m.front(), out);
    return;
  }
  workspace->filtered = Matrix<float>(num_variables_, num_labels_);
  term.lattice->AddProductWithSelf(*x, 1.0F, &workspace->filtered);
  ParallelFor(num_variables_, kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      const float scale = term.after.empty() ? 1.0F : term.after[a];
      const std::span<const float> f = workspace->filtered.row(a);
      const std::span<float> s = out->row(a);
      for (std::size_t i = 0; i < s.size(); ++i) {
        if (m.size() <= num_labels_) {
          s[i] += scale * m[m.size() == 1 ? 0 : i] * f[i];
        } else {
          float sum = 0.0F;
          for (std::size_t j = 0; j < s.size(); ++j) sum += m[i * num_labels_ + j] * f[j];
          s[i] += scale * sum;
        }
      }
    }
  });
}

void PydensecrfMeanField::Step(Workspace* workspace, Matrix<float>* q) const {
  const ThreadLimit limit(threads_);
  CheckShape(*q);
  if (unary_.size() > 0) {
    workspace->costs = unary_;
  } else {
    workspace->costs = Matrix<float>(num_variables_, num_labels_);
  }
  for (const auto& term : terms_) AddCosts(*term, *q, workspace, &workspace->costs);
  ParallelFor(num_variables_, kRowGrain, [&](std::size_t begin, std::size_t end) {
    SoftmaxRows(workspace->costs.row(begin).data(), 1.0F, end - begin, num_labels_,
                q->row(begin).data());
  });
}

std::unique_ptr<LatticeStream> PydensecrfMeanField::MakeStream() const {
  std::vector<LatticeStream::WeightedLattice> lattices;
  for (const auto& term : terms_) {
    if (!term->plain()) return nullptr;
    lattices.push_back({term->compatibility.front(), term->lattice.get()});
  }
  if (lattices.empty()) return nullptr;
  std::unique_ptr<LatticeStream> stream = LatticeStream::Make(lattices, num_labels_);
  // Terms of many vertices are stepped, as they always were: the last bits of results depend on it.
  return stream == nullptr || stream->gathers() ? nullptr : std::move(stream);
}

Matrix<float> PydensecrfMeanField::InferWith(
    int iterations, std::function<void()> after_blur,
    std::function<void(std::size_t first, std::size_t last)> after_rows) const {
  if (iterations > 0 && unary_.size() > 0) {
    if (const auto stream = MakeStream()) {
      return RunUpdates({.unary = unary_,
                         .iterations = iterations,
                         .after_blur = std::move(after_blur),
                         .after_rows = std::move(after_rows)},
                        stream.get())
          .marginals;
    }
  }
  Matrix<float> q = Start();
  Workspace workspace;
  for (int k = 0; k < iterations; ++k) Step(&workspace, &q);
  return q;
}

Matrix<float> PydensecrfMeanField::Infer(int iterations) const {
  const ThreadLimit limit(threads_);
  return InferWith(iterations, {}, {});
}

Matrix<float> PydensecrfMeanField::InferLast(int iterations) {
  const ThreadLimit limit(threads_);
  const auto discard_vertices = [&] {
    for (const auto& term : terms_) term->lattice->DiscardVertices();
    ReturnFreedMemory();
  };
  // With those before and after that are done, so that no page stays where they meet.
  JoinedRanges done;
  const auto discard_pixels = [&](std::size_t first, std::size_t last) {
    const auto [begin, end] = done.Add(first, last);
    for (const auto& term : terms_) term->lattice->DiscardPixels(begin, end);
  };
  ReturnFreedMemory();  // of building the terms
  struct ClearAtEnd {
    ~ClearAtEnd() { terms.clear(); }
    std::vector<std::unique_ptr<Term>>& terms;
  } const clear_also_after_errors{terms_};
  return InferWith(iterations, discard_vertices, discard_pixels);
}

double PydensecrfMeanField::Divergence(const Matrix<float>& q) const {
  const ThreadLimit limit(threads_);
  CheckShape(q);
  Workspace workspace;
  Matrix<float> costs(num_variables_, num_labels_);
  for (const auto& term : terms_) AddCosts(*term, q, &workspace, &costs);
  return ParallelSum(num_variables_, kRowGrain, [&](std::size_t begin, std::size_t end) {
    double sum = 0.0;
    for (std::size_t a = begin; a < end; ++a) {
      for (std::size_t i = 0; i < num_labels_; ++i) {
        const double p = q(a, i);
        const double phi = unary_.size() > 0 ? unary_(a, i) : 0.0;
        sum += p * (std::log(std::max(p, 1e-20)) + phi + static_cast<double>(costs(a, i)));
      }
    }
    return sum;
  });
}

}  // namespace submarine
