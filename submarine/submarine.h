// submarine: marginals of conditional random fields, with certified bounds on log Z.
//
//   #include "submarine/submarine.h"
//
//   submarine::SparseCrf model(unary, submarine::GridEdges(width, height, 4, 2.0), submarine::PottsLabels(20));
//   const submarine::SolveResult result = submarine::Solve(model, {.limits = {.gap = 1e-4}});
//
// Which header has what: docs/README.md, "API". Example programs are in examples/; file formats
// (images, UAI models, bundles) are in submarine/io, a separate library.
#pragma once

#include "submarine/base/error.h"
#include "submarine/base/matrix.h"
#include "submarine/base/termination.h"
#include "submarine/base/version.h"
#include "submarine/bound/bound.h"
#include "submarine/bound/certificate.h"
#include "submarine/bound/expectation.h"
#include "submarine/evaluate/evaluate.h"
#include "submarine/extension/kinds.h"
#include "submarine/filter/gaussian_filter.h"
#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/filter/kernel/operator_options.h"
#include "submarine/labels/label_cuts.h"
#include "submarine/labels/label_tree.h"
#include "submarine/labels/metric_fit.h"
#include "submarine/model/clique.h"
#include "submarine/model/dense_crf.h"
#include "submarine/model/factor_graph.h"
#include "submarine/model/image_features.h"
#include "submarine/model/sparse_crf.h"
#include "submarine/segmentation/calibration.h"
#include "submarine/segmentation/segmentation_model.h"
#include "submarine/segmentation/softmax.h"
#include "submarine/solve/method/expectations.h"
#include "submarine/solve/method/method.h"
#include "submarine/solve/solve.h"
#include "submarine/solver/mean_field/pydensecrf_mean_field.h"
#include "submarine/stereo/disparity.h"
#include "submarine/stereo/match/match_stereo.h"
#include "submarine/stereo/matching_cost.h"
