#include "submarine/solver/frank_wolfe.h"

#include <algorithm>
#include <cmath>

#include "submarine/base/parallel.h"
#include "submarine/base/row_kernels.h"
#include "submarine/solver/line_search.h"
#include "submarine/solver/progress.h"

namespace submarine {
namespace {

double Dot(const Matrix<double>& x, const Matrix<double>& y) {
  return ParallelSum(x.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    return DotRow(x.row(begin).data(), y.row(begin).data(), (end - begin) * x.cols());
  });
}

// x += rate * d.
void AddScaled(double rate, const Matrix<double>& d, Matrix<double>* x) {
  ParallelFor(x->rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    double* out = x->row(begin).data();
    const double* step = d.row(begin).data();
    for (std::size_t i = 0; i < (end - begin) * x->cols(); ++i) out[i] += rate * step[i];
  });
}

// d = vertex - s, in place of the vertex.
void SubtractFrom(const Matrix<double>& s, Matrix<double>* vertex) { AddScaled(-1.0, s, vertex); }

}  // namespace

double ExactLineSearch(const Matrix<double>& s, const Matrix<double>& direction, double temperature,
                       const StopCheck& stop) {
  const auto derivatives = [&](double t) {
    // No slope left: the search ends.
    if (t > 0.0 && stop.Stopped()) return std::pair(0.0, 1.0);
    std::vector<double> curvature((s.rows() + kRowGrain - 1) / kRowGrain, 0.0);
    const double slope = ParallelSum(s.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
      double sum = 0.0;
      for (std::size_t a = begin; a < end; ++a) {
        double first = 0.0;
        double second = 0.0;
        LogSumExpDerivativesRow(s.row(a).data(), direction.row(a).data(), t, s.cols(),
                                1.0 / temperature, &first, &second);
        sum += first;
        curvature[begin / kRowGrain] += second;
      }
      return sum;
    });
    double total = 0.0;
    for (double c : curvature) total += c;
    return std::pair(slope, total);
  };
  return MinimiseOnUnitInterval(derivatives);
}

BoundResult SolveFrankWolfe(const SparseCrf& model, const FrankWolfeOptions& options) {
  RequirePositiveTemperature(options.temperature);
  const Extension extension(model, options.extension);
  BoundResult result;
  result.flow = extension.NeutralFlow();
  Progress progress(options, &result);

  Matrix<double> s(model.unary().rows(), model.unary().cols());
  extension.LabelModular(result.flow, &s);
  Matrix<double> y = s;
  Matrix<double> direction = s;
  Matrix<double> cut_storage;
  StallCheck stall;
  for (int k = 0;; ++k) {
    const double upper = BoundValue(extension, s, options.temperature, &y);
    const Matrix<double>& z = CutSums(model, y, &cut_storage);
    extension.GreedyLabelModular(z, &direction);
    SubtractFrom(s, &direction);
    const double gap = Dot(direction, y);
    if (!progress.Record(k, upper, upper - gap, y)) break;
    if (options.step == FrankWolfeStep::kLineSearch && stall.Stalled(upper, upper - gap)) {
      result.termination = Termination::kStalled;
      break;
    }
    const double gamma = options.step == FrankWolfeStep::kHarmonic
                             ? 2.0 / (k + 2)
                             : ExactLineSearch(s, direction, options.temperature, progress.stop());
    if (progress.stop().Stopped()) {
      progress.Abandon();
      break;
    }
    AddScaled(gamma, direction, &s);
    extension.BlendTowardsGreedy(z, gamma, &result.flow);
  }
  return result;
}

}  // namespace submarine
