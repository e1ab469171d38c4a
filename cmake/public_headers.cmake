# The headers that are installed (docs/README.md, "API", says what each is for). Everything else is in submarine::internal
# and may change from one version to the next. tools/check_includes.py sees to it that these include and name one another only.
set(PUBLIC_HEADERS
  submarine/submarine.h
  submarine/base/aligned_memory.h
  submarine/base/error.h
  submarine/base/matrix.h
  submarine/base/names.h
  submarine/base/numbers.h
  submarine/base/solve_record.h
  submarine/base/termination.h
  submarine/labels/label_cuts.h
  submarine/labels/label_tree.h
  submarine/labels/metric_fit.h
  submarine/filter/gaussian_filter.h
  submarine/filter/kernel/gaussian_kernel.h
  submarine/filter/kernel/operator_options.h
  submarine/model/clique.h
  submarine/model/dense_crf.h
  submarine/model/factor_graph.h
  submarine/model/image_features.h
  submarine/model/sparse_crf.h
  submarine/extension/kinds.h
  submarine/bound/bound.h
  submarine/bound/certificate.h
  submarine/bound/expectation.h
  submarine/evaluate/evaluate.h
  submarine/segmentation/calibration.h
  submarine/segmentation/segmentation_model.h
  submarine/segmentation/softmax.h
  submarine/segmentation/superpixels.h
  submarine/solve/method/expectations.h
  submarine/solve/method/method.h
  submarine/solve/method/options.h
  submarine/solve/method/result.h
  submarine/solve/solve.h
  submarine/solver/mean_field/pydensecrf_mean_field.h
  submarine/stereo/disparity.h
  submarine/stereo/match/match_stereo.h
  submarine/stereo/matching_cost.h)

# Of the library of files, submarine::io.
set(PUBLIC_IO_HEADERS
  submarine/io/image/colour_map.h
  submarine/io/image/image.h
  submarine/io/image/png.h
  submarine/io/model/dense_bundle.h
  submarine/io/model/fg.h
  submarine/io/model/grid_bundle.h
  submarine/io/model/metric_spec.h
  submarine/io/model/uai.h
  submarine/io/segmentation/segmentation_parameters.h)

# The C interface, libsubmarine_c.
set(PUBLIC_C_HEADERS
  submarine/c_api.h)
