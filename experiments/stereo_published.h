// Mean field as run by the paper's authors, and mean field on the model that they score
// (docs/experiments.md, "Stereo"). All variables move at once, starting from the softmax of the
// unaries, until |Q_new - Q_old|^2, summed over the whole image, is at most a tolerance.
#pragma once

#include <functional>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/extension/dense_extension.h"
#include "submarine/model/dense_crf.h"

namespace submarine::apps {

struct MeanFieldStop {
  double change = 1e-3;  // |Q_new - Q_old|^2
  int max_iterations = 1000;
  // After every iteration; return false to stop.
  std::function<bool(int iteration, double seconds, double change)> on_iteration = {};
};

struct MeanFieldRun {
  Matrix<float> marginals;
  int iterations = 0;
  bool converged = false;
  double seconds = 0.0;  // including the preparation of the kernels
};

// As published: classic lattice kernels (LatticeOperator::MakeClassic), each normalised
// symmetrically with its self term, pairs counted once in the update, no damping. This is not the
// mean field of `model`. Throws InvalidInput unless its metric is Potts.
MeanFieldRun PublishedMeanField(const DenseCrf& model, const MeanFieldStop& stop);

// The energy as published: un-normalised classic lattice kernels, ordered pairs, no self terms.
double PublishedEnergy(const DenseCrf& model, const std::vector<int>& labels);

// Their update (self terms, no damping) on the model that is scored: it converges, as a Gaussian
// matrix with its diagonal is positive semidefinite, but to a worse point than mean field. Throws
// InvalidInput unless the metric is Potts.
MeanFieldRun SelfTermMeanField(const internal::DenseExtension& extension,
                               const MeanFieldStop& stop);

// Mean field of the model itself, with ordered pairs and no self terms, damped as in
// dense_mean_field.h so that it converges.
MeanFieldRun ModelMeanField(const internal::DenseExtension& extension, const MeanFieldStop& stop);

}  // namespace submarine::apps
