#include "submarine/solver/flow/frank_wolfe.h"

#include <utility>

#include "submarine/extension/sparse_extension.h"
#include "submarine/solver/common/progress.h"
#include "submarine/solver/flow/frank_wolfe_loop.h"

namespace submarine::internal {

double SoftmaxBound(const Matrix<double>& s, double temperature, Matrix<double>* y) {
  return ParallelSum(s.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    double sum = 0.0;
    for (std::size_t a = begin; a < end; ++a)
      sum +=
          temperature * SoftmaxRow(s.row(a).data(), s.cols(), 1.0 / temperature, y->row(a).data());
    return sum;
  });
}

namespace {

// Harmonic steps may make bounds worse for a while; line search only by rounding.
struct SparseBook {
  Progress& progress;
  bool improves;
  Pace pace{progress};

  bool Record(int k, double upper, double dual, const Matrix<double>& y) {
    pace.EndIteration();
    pace.Begin();
    return improves ? progress.RecordUnlessStalled(k, upper, dual, y, pace.SecondsToNext())
                    : progress.Record(k, upper, dual, y, pace.SecondsToNext());
  }
  const StopCheck& stop() const { return progress.stop(); }
  void Abandon() { progress.Abandon(); }
};

// Moves the evidence along with the result's bounds.
template <class Evidence>
Evidence Run(const Extension<double, Evidence>& extension, const FrankWolfeOptions& options,
             BoundResult* result) {
  Evidence evidence = extension.Start();
  Progress progress(options, result);
  Matrix<double> s(extension.num_variables(), extension.num_labels());
  extension.LabelModular(evidence, &s);
  Matrix<double> y(s.rows(), s.cols());
  SparseBook book{progress, options.step == FrankWolfeStep::kLineSearch};
  FrankWolfeLoop(extension, options.step, options.temperature, &s, &y, &evidence, &book);
  return evidence;
}

}  // namespace

BoundResult SolveFrankWolfe(const SparseCrf& model, const FrankWolfeOptions& options) {
  RequirePositiveTemperature(options.temperature);
  BoundResult result;
  result.flow = Run(SparseExtension(model, options.extension), options, &result);
  return result;
}

BoundResult SolveFrankWolfe(const SparseCrf& pairs, const CliqueExtension& cliques,
                            const FrankWolfeOptions& options) {
  RequirePositiveTemperature(options.temperature);
  const SparseExtension of_pairs(pairs, options.extension);
  BoundResult result;
  auto evidence = Run(ExtensionWithCliques<double, Flow>(of_pairs, cliques), options, &result);
  result.flow = std::move(evidence.pairs);
  result.flow.cliques = std::move(evidence.cliques);
  return result;
}

}  // namespace submarine::internal
