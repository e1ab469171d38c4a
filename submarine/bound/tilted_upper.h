// Upper bounds of T log Z_T that hold for other unaries, too: what expectations are proven from
// (docs/math.md, "Expectations").
//
// With S(x) = sum_a values(a, x_a), a tilted bound is one on
//
//   T log sum_x exp(-(E(x) - delta S(x)) / T),
//
// the model whose unaries are phi - delta values. Flows and routes never mention unaries, so those
// that were verified once prove it for every sum and every delta; the forests of TRW are all
// shifted by the same amount.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/bound/bound.h"

namespace submarine::internal {

class TiltedUpper {
 public:
  TiltedUpper() = default;
  TiltedUpper(const TiltedUpper&) = delete;
  TiltedUpper& operator=(const TiltedUpper&) = delete;
  virtual ~TiltedUpper() = default;

  // `values` has a row per variable, with at least as many entries as the variable has labels;
  // further ones are ignored. All are finite, as is delta. The result may be infinite.
  virtual Bound LogZ(const Matrix<double>& values, double delta) const = 0;
  // At delta = 0, the bound that was verified.
  virtual Bound untilted() const = 0;
  virtual double temperature() const = 0;  // T > 0
  virtual std::size_t num_variables() const = 0;
  virtual std::size_t num_labels(std::size_t variable) const = 0;
  // Bounds of their own, of which this is the least: each has a best delta.
  virtual std::vector<const TiltedUpper*> parts() const { return {this}; }
};

// Where a verifier puts the tilted bound that it is asked for; null: nobody asked.
using TiltedPlace = std::shared_ptr<const TiltedUpper>*;

// Keeps the one with the lower bound at delta = 0; either may be null.
void KeepTighter(std::shared_ptr<const TiltedUpper> found,
                 std::shared_ptr<const TiltedUpper>* kept);

// Keeps both, about the same model: the lesser for every sum and every delta, as one may grow less with delta than the other.
void KeepBoth(std::shared_ptr<const TiltedUpper> found, std::shared_ptr<const TiltedUpper>* kept);

// For energies that differ from those of the bound by at most `by`.
std::shared_ptr<const TiltedUpper> RaisedBy(double by, std::shared_ptr<const TiltedUpper> tilted);

// Makes the tilted bound of a verifier whose bound is a sum over variables,
//
//   constant + sum_a T log sum_i exp(-c_a(i) / T),
//
// with c its computed costs; its rounding errors, those of the costs included, are part of the
// verified value. With q_a the softmax of -c_a / T, tilting adds sum_a T log sum_i q_a(i)
// exp(delta values(a, i) / T). The q are held in single precision, rounded upwards.
class FactorisedUpperMaker {
 public:
  // Does nothing where `place` is null or T = 0.
  FactorisedUpperMaker(std::size_t variables, std::size_t labels, double temperature,
                       TiltedPlace place);
  ~FactorisedUpperMaker();

  // Different variables may be set at the same time; all must be.
  void Set(std::size_t variable, std::span<const double> costs);
  // Returns the verified bound that is given.
  Bound Finish(const Bound& verified);

 private:
  class Factorised;
  std::shared_ptr<Factorised> made_;
  TiltedPlace place_;
};

}  // namespace submarine::internal
