#include "submarine/solver/flow/dense_frank_wolfe.h"

#include <fmt/format.h>

#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stop_check.h"
#include "submarine/solver/common/progress.h"
#include "submarine/solver/flow/frank_wolfe_loop.h"

namespace submarine::internal {
namespace {

void CheckProofMemory(const DenseExtension& extension, const DenseFrankWolfeOptions& options) {
  const double bytes = static_cast<double>(extension.num_variables()) *
                       static_cast<double>(extension.model().num_cuts()) * sizeof(float) *
                       options.max_iterations;
  if (bytes > static_cast<double>(options.max_proof_bytes)) {
    throw TooLarge(fmt::format(
        "the proof of {} Frank-Wolfe iterations would take {:.3g} GB of memory, more than the "
        "limit of {:.3g} GB; use fewer iterations or another method",
        options.max_iterations, bytes / 1e9, static_cast<double>(options.max_proof_bytes) / 1e9));
  }
}

// The bookkeeping that the loop needs, implemented with that of the dense solvers.
class DenseBook {
 public:
  DenseBook(const DenseExtension& extension, const BoundOptions& options, DenseResult* result)
      : progress_(extension, options, result), result_(*result) {}

  bool Record(int k, double upper, double dual, const Matrix<float>& y) {
    result_.upper = upper;
    if (dual > result_.dual) {
      result_.dual = dual;
      result_.dual_point = y;
    }
    if (progress_.IsLast(k)) progress_.OfferMarginals(y);
    if (progress_.Continue(k)) return true;
    if (result_.labels.empty()) progress_.OfferMarginals(y);  // stopped early
    return false;
  }
  const StopCheck& stop() const { return never_; }  // passes over pairs check by themselves
  void Abandon() { progress_.Abandon(); }

 private:
  DenseProgress progress_;
  DenseResult& result_;
  StopCheck never_;
};

}  // namespace

double SoftmaxBound(const Matrix<float>& s, double temperature, Matrix<float>* y) {
  const auto T = static_cast<float>(temperature);
  return ParallelSum(s.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    double sum = 0.0;
    for (std::size_t a = begin; a < end; ++a) {
      SoftmaxRow(s.row(a).data(), T, s.cols(), y->row(a).data());
      sum += LogSumExpRow(s.row(a).data(), T, s.cols());
    }
    return sum;
  });
}

DenseResult SolveFrankWolfe(const DenseExtension& extension,
                            const DenseFrankWolfeOptions& options) {
  RequirePositiveTemperature(options.temperature);
  CheckDenseTemperature(options.temperature);
  CheckProofMemory(extension, options);
  DenseResult result;
  DenseBook book(extension, options, &result);
  Matrix<float> s = extension.model().unary();
  Matrix<float> y(s.rows(), s.cols());
  try {
    FrankWolfeLoop(extension, options.step, options.temperature, &s, &y, &result.proof, &book);
  } catch (const Interrupted&) {  // in a pass over the pairs, which only reads s and y
    book.Abandon();
  }
  result.modular = std::move(s);
  result.state = {y, extension.CutSums(y)};
  result.marginals = std::move(y);
  return result;
}

}  // namespace submarine::internal
