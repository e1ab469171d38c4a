/* The C interface of submarine: models, solves, and functions on arrays, for any language that can call C.
 *
 * The Python package is built on it. A program needs this header and libsubmarine_c, which exports these
 * functions and nothing else.
 *
 *   sm_object *labels = NULL, *model = NULL, *result = NULL;
 *   sm_array unary = {.data = costs, .dtype = SM_FLOAT64, .ndim = 2, .shape = {variables, 3}};
 *   sm_array edges = {.data = ends, .dtype = SM_INT32, .ndim = 2, .shape = {num_edges, 2}};
 *   sm_array weights = {.data = weight, .dtype = SM_FLOAT64, .ndim = 1, .shape = {num_edges}};
 *   if (sm_labels_from_spec("potts", 3, "", &labels) != SM_OK ||
 *       sm_sparse_model(&unary, &edges, &weights, NULL, labels, 0.0, &model) != SM_OK ||
 *       sm_solve(model, "{\"gap\": 0.01, \"time_limit\": 10}", NULL, NULL, &result) != SM_OK)
 *     fprintf(stderr, "%s\n", sm_error_message());
 *
 * Errors. A function that can fail returns a status; where it is not SM_OK, sm_error_message() is one
 * sentence, and nothing was written to the arguments for results. Null is refused where no word says that
 * it may be given, and no exception leaves the library.
 *
 * Objects. What functions hand out is an sm_object, which the caller frees with sm_free(). Models and
 * label spaces never change, so that threads may share them; an object keeps what it was made from, so
 * that its parts may be freed before it. sm_describe() says in JSON what an object is, sm_view() shows its
 * arrays without copying them.
 *
 * Text. Options and descriptions are JSON in UTF-8, whose keys are the command's options in snake case
 * (docs/formats.md): new ones appear there without a change of this interface. Numbers that JSON cannot
 * express are the texts "inf", "-inf" and "nan", and where an option wants a number, such a text will do.
 *
 * Versions. SM_API_VERSION counts incompatible changes of this header.
 */
#ifndef SUBMARINE_C_API_H_
#define SUBMARINE_C_API_H_

/* C, with names of its own. NOLINTBEGIN(readability-identifier-naming,modernize-*) */

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SM_API __attribute__((visibility("default")))
#else
#define SM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define SM_API_VERSION 1
#define SM_MAX_AXES 8

typedef enum sm_status {
  SM_OK = 0,
  SM_INVALID_INPUT = 1,   /* it contradicts the definition of a model, or of this interface */
  SM_NOT_EXPRESSIBLE = 2, /* a legitimate model that this method or file format cannot express */
  SM_FILE_ERROR = 3,      /* a file that cannot be read, is malformed, or cannot be written */
  SM_TOO_LARGE = 4,       /* refused, for it would need more memory or time than allowed */
  SM_INTERRUPTED = 5,     /* the watch asked for the end of work that has nothing to show yet */
  SM_TIME_LIMIT = 6,      /* such work was not done when its time limit passed */
  SM_OUT_OF_MEMORY = 7,
  SM_OTHER_ERROR = 8
} sm_status;

/* Of the last failure in this thread; valid until the next one. */
SM_API const char* sm_error_message(void);
/* The same in parts, as JSON. {} but for SM_TOO_LARGE: "refusal", the message without a remedy, and what
 * would do, each on its own, where known: "variables" instead of "given_variables", "fewer_labels",
 * "methods", "more_seconds", "bytes". */
SM_API const char* sm_error_details(void);

SM_API int sm_api_version(void);     /* SM_API_VERSION of the library that was loaded */
SM_API const char* sm_version(void); /* of submarine: "0.1.0" */
/* JSON: "version", "methods" (of each "name", "help", and whether it takes "sparse" models, "tables" and
 * "dense" models), "functions" of sm_call, "max_bytes", the default limit of memory. Valid until the thread's next call. */
SM_API sm_status sm_about(const char** json);

/* ---- Arrays --------------------------------------------------------------------------------------- */

typedef enum sm_dtype {
  SM_INT8 = 1,
  SM_INT16 = 2,
  SM_INT32 = 3,
  SM_INT64 = 4,
  SM_UINT8 = 5,
  SM_UINT16 = 6,
  SM_UINT32 = 7,
  SM_UINT64 = 8,
  SM_FLOAT32 = 9,
  SM_FLOAT64 = 10
} sm_dtype;

/* Memory of the caller, which is read during the call only, or a view of an object's. Functions take any
 * dtype, from which values are converted once, but no fractions for whole numbers. */
typedef struct sm_array {
  const void* data; /* of the entry with all indices 0 */
  int32_t dtype;    /* an sm_dtype */
  int32_t ndim;     /* 0 to SM_MAX_AXES */
  int64_t shape[SM_MAX_AXES];
  int64_t strides[SM_MAX_AXES]; /* in bytes; all 0: the last axis varies fastest, without gaps */
} sm_array;

/* ---- Objects -------------------------------------------------------------------------------------- */

typedef struct sm_object sm_object;

/* Null is allowed. Views of the object end with it. */
SM_API void sm_free(sm_object* object);

/* What it is, as JSON: "kind" and the keys named below. Valid until the thread's next call of this function. */
SM_API sm_status sm_describe(const sm_object* object, const char** json);

/* An array of the object; `index` where there are several of that name, else 0. */
SM_API sm_status sm_view(const sm_object* object, const char* name, size_t index, sm_array* view);

/* ---- Label spaces: kind "labels" -----------------------------------------------------------------
 * Described by "num_labels", "exact", "warnings", "composite" (the sets of labels that are cuts beside
 * the single labels) and "metrics" (of each "name", "length", one per cut, and "distortion").
 * Views: "distance" of each metric, (labels, labels). */

/* "potts", "linear", "truncated:3", "tree:5x4:1,0.5" or "tree:FILE" (docs/formats.md); files are looked for
 * in `directory`. */
SM_API sm_status sm_labels_from_spec(const char* spec, int num_labels, const char* directory,
                                     sm_object** labels);
/* Tables of distances (labels, labels), one per metric. `description` is null, or that of a label space with these
 * tables, which is made again without a search for its cuts; or, for one table that violates the triangle inequality,
 * {"no_metric": "repair"} or "compatibility" (docs/metrics.md). */
SM_API sm_status sm_labels_from_tables(const sm_array* tables, size_t num_tables,
                                       const char* description, sm_object** labels);
/* Those of a sparse or dense model. */
SM_API sm_status sm_labels_of(const sm_object* model, sm_object** labels);

/* ---- Models: kinds "sparse", "dense" and "tables" --------------------------------------------------
 * Described by "num_variables", "description" and, but for tables, "num_labels" and "constant"; models of
 * files also by "width", "height" and "depth" (0 where there are none) and "warnings". */

/* E(x) = constant + sum_a unary(a, x_a) + sum_e weight_e d_(metric_e)(ends of e), docs/conventions.md.
 * unary: (variables, labels), or more axes of variables; edges: (edges, 2); weights: (edges);
 * metrics: (edges), the number of the metric, or null for 0.
 * Views: "unary", "edges", "weights", "metrics". */
SM_API sm_status sm_sparse_model(const sm_array* unary, const sm_array* edges,
                                 const sm_array* weights, const sm_array* metrics,
                                 const sm_object* labels, double constant, sm_object** model);

/* Tables of energies over any variables; inf forbids. cardinality: (variables); the scopes and tables of
 * all factors one after the other, and the sizes of each. The last variable of a scope varies fastest.
 * Described by "num_factors", too. Views: "cardinality", and of each factor "scope" and "table" (flat). */
SM_API sm_status sm_factor_graph(const sm_array* cardinality, const sm_array* scope_sizes,
                                 const sm_array* scopes, const sm_array* table_sizes,
                                 const sm_array* tables, sm_object** model);

/* All pairs of variables by Gaussian kernels. unary as above, in single precision; options:
 *   "size": [width, height] or [width, height, depth], for kernels of positions
 *   "ordered": true counts every pair twice; "constant": a number
 *   "kernels": [{"type": "position", "sigma": [3, 3], "weight": 3, "normalised": true},
 *               {"type": "bilateral", "sigma": [80, 80], "colour_sigma": [13], "weight": 10, "values": 0},
 *               {"type": "features", "sigma": [1], "weight": 2, "values": 1, "name": "features"}]
 * "values" is the number of an array: the picture, channels last, or (variables, features). One sigma
 * stands for all channels or features. Type "stored" is a kernel as another model describes it, whose
 * "values" are that model's view "features" and whose "scale", where it has one, is the number of another array.
 * Described by "ordered" and "kernels", too. Views: "unary", and of each kernel "features" and "scale". */
SM_API sm_status sm_dense_model(const sm_array* unary, const char* options, const sm_array* arrays,
                                size_t num_arrays, const sm_object* labels, sm_object** model);

/* The same model with robust P^n Potts terms beside its pairs, and those it had: min(gamma, gamma / truncation times the
 * weight that deviates from the label of most) of every clique. members: the variables of all cliques one after the other;
 * sizes: of each; gamma, truncation: (cliques), a truncation at most half the weight; weights: as members, or null for 1.
 * Of the kind of the model; described by "num_cliques", too. Further views: "clique_members", "clique_sizes",
 * "clique_gamma", "clique_truncation", "clique_weights". */
SM_API sm_status sm_add_cliques(const sm_object* model, const sm_array* members,
                                const sm_array* sizes, const sm_array* gamma,
                                const sm_array* truncation, const sm_array* weights,
                                sm_object** with);

/* A bundle (.json), a UAI file or one of libDAI (.fg). `evidence` is a file, or null or "" for none. */
SM_API sm_status sm_read_model(const char* path, const char* evidence, sm_object** model);
/* Tables as they are for a path that ends in .uai, else a bundle, for which options say: "metric"; "width",
 * "height" and "connectivity" of grids; for dense models "size" and "kernels" as above, but with one "image",
 * the number of an array, "channels" of it, and no "values" but those of features. */
SM_API sm_status sm_write_model(const sm_object* model, const char* path, const char* options,
                                const sm_array* arrays, size_t num_arrays);

/* E(labeling), of dense models or slightly more: tolerance is the share of it by which. */
SM_API sm_status sm_energy(const sm_object* model, const sm_array* labeling, double tolerance,
                           double* energy);
/* T H(y) - <E>_y <= T log Z_T, rounded down; dense models: `loss` is how much of it grouping far pairs may
 * have cost, a share of `tolerance` at most. `loss` may be null. */
SM_API sm_status sm_lower_bound(const sm_object* model, const sm_array* marginals,
                                double temperature, double tolerance, double* lower, double* loss);
/* Dense models: the share of that bound, without the constant, of the variables a with own[a] != 0: their entropies and
 * costs, and their pairs, halved where the other variable is not among them. Shares of sets that partition the variables
 * sum to the bound. */
SM_API sm_status sm_lower_share(const sm_object* model, const sm_array* marginals,
                                const sm_array* own, double temperature, double tolerance,
                                int threads, double* lower, double* loss);
/* Dense models: what the variables with own[a] != 0 take over from pairs that leave this block, in exchange for which it can
 * be bounded by itself: sums over the others b of w'_ab (u_a(i) - u_b(i)), where w' are the weights with kernels less a
 * cutoff each (from 1e-6 to 1). An object of values (variables x (labels + 2)): the sums, the sum of w', and what no sum is
 * off by more. For potentials with u_a(i) - u_a(j) <= d(i, j) / 2 the sum of the blocks' upper bounds, their unaries
 * increased by the sums, and of the errors, is one of the whole. */
SM_API sm_status sm_cut_pairs(const sm_object* model, const sm_array* potentials,
                              const sm_array* own, const sm_array* cutoffs, int threads,
                              sm_object** sums);

/* ---- Solving: kind "result" -------------------------------------------------------------------- */

/* How far a solver is. NaN: not known. Further fields may be appended. */
typedef struct sm_record {
  int64_t k; /* iterations made; -1 in phases without any */
  double seconds;
  double upper;
  double dual;
  double lower;
  double done; /* share of a phase without iterations */
} sm_record;

/* Is told of every iteration; a value other than 0 asks for the end. May be null. It is called by the thread that
 * called the library. */
typedef int (*sm_watch)(const char* phase, const sm_record* record, void* context);

/* Bounds T log Z_T from both sides and finds marginals and a labeling. `options` is null or a JSON object of the
 * options of `submarine solve`, in snake case ("max_iterations"; "max_memory" in gigabytes), and "expectations".
 * Described by "method", "termination", "model", "temperature", "lower", "upper", "dual" and "energy" (null where
 * nothing is known) and their "..._provenance", "defect", "metric_loss" (null, or "worst_ratio", "mean_ratio" and "pairs"), "extension", "notes", "pairs", "seconds",
 * "estimated_bytes", "expectations" (whether there are any), "ragged" (whether variables differ in their numbers of labels).
 * Views: "labels", "marginals" (of each variable where ragged), "records" (k, seconds, upper, dual, lower, done). */
SM_API sm_status sm_solve(const sm_object* model, const char* options, sm_watch watch,
                          void* context, sm_object** result);

/* What a result with expectations proves of sums over the variables of a labeling. `what` is
 *   "expectation"  argument (variables, labels), a value for each
 *   "areas"        argument (variables), 0 where a variable does not count, or null; one row per label
 *   "agreement"    argument (variables), labels, negative where a variable does not count
 *   "probability"  argument (2), a variable and a label
 * View "values": rows of lower, upper, credible lower, credible upper, and what marginals claim (NaN: nothing). */
SM_API sm_status sm_prove(const sm_object* result, const char* what, const sm_array* argument,
                          sm_object** found);

/* ---- Functions on arrays: kind "values" ---------------------------------------------------------- */

/* `function` is one of those that sm_about() lists; docs/c_api.md has their arguments. What is found is the view
 * "values", or keys of the description. `options` may be null. */
SM_API sm_status sm_call(const char* function, const char* options, const sm_array* arrays,
                         size_t num_arrays, sm_watch watch, void* context, sm_object** found);

/* A Gaussian filter of features (variables, features), by the lattice; and its product with x (variables, columns). */
SM_API sm_status sm_filter(const sm_array* features, size_t max_bytes, sm_object** filter);
SM_API sm_status sm_filter_apply(const sm_object* filter, const sm_array* x, sm_object** product);

/* ---- Updates of mean field as pydensecrf makes them: kind "updates" ------------------------------
 * These objects change: calls with the same one must not overlap. Described by "num_terms". View: "unary". */
SM_API sm_status sm_updates(size_t variables, size_t labels, size_t max_bytes, sm_object** updates);
SM_API sm_status sm_updates_set_threads(sm_object* updates, int threads); /* 0: all cores */
/* Costs (labels, variables). */
SM_API sm_status sm_updates_set_unary(sm_object* updates, const sm_array* costs);
/* features (variables, features), divided by their sigmas. normalisation: 0 none, 1 before, 2 after, 3 symmetric.
 * compatibility: 1 number, one per label, or (labels, labels). */
SM_API sm_status sm_updates_add_term(sm_object* updates, const sm_array* features,
                                     int normalisation, const sm_array* compatibility);
/* The same with positions and the picture (height, width, channels), each divided by its sigma: x, y, channels. */
SM_API sm_status sm_updates_add_picture(sm_object* updates, const sm_array* picture,
                                        const sm_array* sigmas, int normalisation,
                                        const sm_array* compatibility);
/* Marginals (variables, labels) of the unaries, or after this number of updates; `last` frees the terms on the way. */
SM_API sm_status sm_updates_start(const sm_object* updates, sm_object** marginals);
SM_API sm_status sm_updates_infer(sm_object* updates, int iterations, int last,
                                  sm_object** marginals);
SM_API sm_status sm_updates_step(const sm_object* updates, const sm_array* marginals,
                                 sm_object** stepped);
SM_API sm_status sm_updates_divergence(const sm_object* updates, const sm_array* marginals,
                                       double* divergence);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming,modernize-*) */

#endif /* SUBMARINE_C_API_H_ */
