// The candidates of a dense solve: each finds evidence for a bound, or certifies what was found. When each is worth its time
// is decided by solve/method/policy.h; solve/dense_portfolio.cc has the table of them.
#pragma once

#include "submarine/solve/candidate/dense_state.h"

namespace submarine::internal {

// --- dense_mean_field.cc
void FindMeanField(DenseState* state);
void FindFewerLabels(DenseState* state);  // mean field from merged labels

// --- dense_flows.cc: the plain bound
void FindFlows(DenseState* state);

// --- dense_routes.cc
void RouteListedPairs(DenseState* state);
void RouteAllPairs(DenseState* state);

// --- dense_certify.cc
void BoundFluctuations(DenseState* state);  // about the operator, before the pairs are freed
void CertifyOperator(DenseState* state);
void CertifyExactGaussians(DenseState* state);
// --- dense_result.cc
// What there is before all pairs were looked at once: the unaries.
void TakeUnaries(const DenseCrf& model, const SolveOptions& options, SolveResult* solved);
// The result: certificates of the better model, labels, marginals and notes.
SolveResult TakeResult(DenseState* state);

}  // namespace submarine::internal
