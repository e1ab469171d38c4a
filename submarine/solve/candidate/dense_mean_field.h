// Mean field finds one of many maxima, and other starts may lead to a better one: the evidence keeps the best.
#pragma once

#include "submarine/base/matrix.h"
#include "submarine/extension/dense_extension.h"
#include "submarine/solve/candidate/budget.h"
#include "submarine/solve/candidate/dense_flows.h"
#include "submarine/solve/candidate/dense_state.h"

namespace submarine::internal {

struct MeanFieldRestart {
  double temperature = 1.0;
  int max_iterations = DensePolicy::kMeanFieldIterations;
  double tolerance = 1e-6;                  // a relative gain of an iteration that is worth no more
  double share = DensePolicy::kForOneStep;  // of the time left: it takes no more
};
// Where they have less energy than the labels known.
void TakeLabels(const DenseExtension& extension, std::vector<int> labels, DenseEvidence* evidence);
void RestartMeanField(const DenseExtension& extension, const Matrix<float>& start,
                      const MeanFieldRestart& restart, Budget* budget, DenseEvidence* evidence);
// It may have ended with labels too many: goes on from those of them that are worth it, or from one label for all,
// where these are better or about as good.
void RestartFromFewerLabels(const DenseExtension& extension, const MeanFieldRestart& restart,
                            Budget* budget, DenseEvidence* evidence);

}  // namespace submarine::internal
