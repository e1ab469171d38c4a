// The loop of Frank-Wolfe over any extension, as described in frank_wolfe.h.
#pragma once

#include <type_traits>

#include "submarine/base/matrix.h"
#include "submarine/base/parallel.h"
#include "submarine/base/simd/row_kernels.h"
#include "submarine/extension/extension.h"
#include "submarine/extension/simplex_kernels.h"
#include "submarine/solver/common/line_search.h"
#include "submarine/solver/flow/frank_wolfe.h"

namespace submarine::internal {

// y = softmax(-s / T); returns sum_a T log sum_i exp(-s_ai / T).
double SoftmaxBound(const Matrix<double>& s, double temperature, Matrix<double>* y);
double SoftmaxBound(const Matrix<float>& s, double temperature, Matrix<float>* y);

// Replaces the vertex by direction = vertex - s; returns <vertex - s, y>.
template <class Real>
double TurnIntoDirection(const Matrix<Real>& s, const Matrix<Real>& y, Matrix<Real>* vertex) {
  return ParallelSum(s.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    double sum = 0.0;
    for (std::size_t k = begin * s.cols(); k < end * s.cols(); ++k) {
      vertex->data()[k] -= s.data()[k];
      sum += static_cast<double>(vertex->data()[k]) * y.data()[k];
    }
    return sum;
  });
}

// s += rate direction.
template <class Real>
void Move(double rate, const Matrix<Real>& direction, Matrix<Real>* s) {
  ParallelFor(s->rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin * s->cols(); k < end * s->cols(); ++k)
      s->data()[k] += static_cast<Real>(rate) * direction.data()[k];
  });
}

// Starts from the point s and its evidence. Leaves the last s and y = softmax(-s / T). `book` keeps
// what is proven and decides when to stop:
//   bool Record(int k, double upper, double dual, const Matrix<Real>& y);  false: stop
//   const StopCheck& stop();  void Abandon();                              for work between records
template <class Real, class Evidence, class Book>
void FrankWolfeLoop(const Extension<Real, Evidence>& extension, FrankWolfeStep step,
                    double temperature, Matrix<Real>* s, Matrix<Real>* y, Evidence* evidence,
                    Book* book) {
  Matrix<Real> direction(s->rows(), s->cols());
  for (int k = 0;; ++k) {
    const double upper = SoftmaxBound(*s, temperature, y) - extension.offset();
    extension.VertexAt(*y, &direction);
    // upper - D(y) = <vertex - s, y> (the paper prints this stop test with the sign reversed).
    const double gap = TurnIntoDirection(*s, *y, &direction);
    if (!book->Record(k, upper, upper - gap, *y)) return;
    const double gamma = step == FrankWolfeStep::kHarmonic
                             ? 2.0 / (k + 2)
                             : ExactLineSearch(*s, direction, temperature, book->stop());
    if (book->stop().Stopped()) return book->Abandon();
    Move(gamma, direction, s);
    if (gamma > 0.0) extension.MoveTowardsVertex(*y, gamma, evidence);
  }
}

}  // namespace submarine::internal
