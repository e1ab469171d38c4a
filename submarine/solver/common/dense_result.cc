#include "submarine/solver/common/dense_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "submarine/base/argmax.h"
#include "submarine/base/error.h"
#include "submarine/base/parallel.h"

namespace submarine::internal {

void DenseProgress::OfferUpper(const Matrix<float>& s, const Matrix<float>& v, FlowShape shape) {
  const double upper = extension_.Upper(s, options_.temperature);
  if (!(upper < result_.upper)) return;
  result_.upper = upper;
  if (!keeps_evidence_) return;
  result_.proof.resize(1);
  extension_.StoreEvidence(v, shape, 1.0, &result_.proof.front());
  CopyMatrix(s, &result_.modular);
}

void DenseProgress::OfferMarginals(const Matrix<float>& y) {
  const double soft = extension_.Dual(y, options_.temperature);
  if (soft > result_.dual) {
    result_.dual = soft;
    if (keeps_evidence_) CopyMatrix(y, &result_.dual_point);
  }
  std::vector<int> labels = ArgmaxLabels(y);
  const double energy = extension_.Energy(labels);
  if (energy < result_.energy) {
    result_.energy = energy;
    if (-energy > result_.dual) {
      result_.dual = -energy;
      if (keeps_evidence_) result_.dual_point = Indicator(labels, y.cols());
    }
    result_.labels = std::move(labels);
  }
}

bool DenseProgress::Continue(int k) {
  const SolveRecord record{k, Seconds(), IfFinite(result_.upper), IfFinite(result_.dual)};
  // Iterations that evaluate the dual value take longer than the others.
  iteration_seconds_ = std::max(record.seconds - last_seconds_, 0.8 * iteration_seconds_);
  last_seconds_ = record.seconds;
  result_.iterations = k;
  result_.records.push_back(record);
  const bool go_on = !options_.on_iteration || options_.on_iteration(record);
  result_.termination = go_on ? CheckTermination(options_, record) : Termination::kInterrupted;
  if (result_.termination == Termination::kNotRun &&
      record.seconds + iteration_seconds_ >= options_.time_limit_seconds) {
    result_.termination = Termination::kTimeLimit;
  }
  return result_.termination == Termination::kNotRun;
}

void DenseProgress::Abandon() {
  result_.termination = Seconds() >= options_.time_limit_seconds ? Termination::kTimeLimit
                                                                 : Termination::kInterrupted;
}

bool DenseProgress::IsLast(int k) const {
  return k >= options_.max_iterations ||
         Seconds() + 2.0 * iteration_seconds_ >= options_.time_limit_seconds;
}

void CheckStart(const Matrix<float>& start, std::size_t rows, std::size_t cols,
                std::string_view what) {
  if (start.size() == 0) return;
  if (start.rows() != rows || start.cols() != cols) {
    throw InvalidInput(fmt::format("the {} to start from are {} x {}, expected {} x {}", what,
                                   start.rows(), start.cols(), rows, cols));
  }
  for (std::size_t a = 0; a < rows; ++a) {
    for (const float value : start.row(a)) {
      if (!std::isfinite(value)) {
        throw InvalidInput(
            fmt::format("the {} to start from have {} at variable {}, expected finite numbers",
                        what, value, a));
      }
    }
  }
}

void CheckStart(const DenseExtension& extension, const DenseStart& start) {
  CheckStart(start.marginals, extension.num_variables(), extension.num_labels(), "marginals");
  CheckStart(start.potentials, extension.num_variables(), extension.num_active(), "potentials");
}

void CheckDenseTemperature(double temperature) {
  if (temperature == 0.0 || (temperature >= 1e-30 && temperature <= 1e30)) return;
  throw InvalidInput(
      fmt::format("the temperature is {}, expected 0 or a number from 1e-30 to 1e30", temperature));
}

}  // namespace submarine::internal
