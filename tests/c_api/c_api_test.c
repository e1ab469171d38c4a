/* The C interface from C, compiled with the address and undefined behaviour sanitizers: small models against
 * enumeration, views, callbacks, and every misuse that a status can name. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "submarine/c_api.h"

static int failures = 0;

#define EXPECT(condition)                                                   \
  do {                                                                      \
    if (!(condition)) {                                                     \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);       \
      ++failures;                                                           \
    }                                                                       \
  } while (0)
#define OK(call)                                                                             \
  do {                                                                                       \
    if ((call) != SM_OK) {                                                                   \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, sm_error_message());     \
      exit(1);                                                                               \
    }                                                                                        \
  } while (0)
/* The call fails with this status and a message that contains these words. */
#define FAILS(call, status, words)                                                           \
  do {                                                                                       \
    EXPECT((call) == (status));                                                              \
    if (strstr(sm_error_message(), words) == NULL) {                                         \
      fprintf(stderr, "%s:%d: \"%s\" lacks \"%s\"\n", __FILE__, __LINE__, sm_error_message(), words); \
      ++failures;                                                                            \
    }                                                                                        \
  } while (0)

static sm_array array1(const void* data, sm_dtype dtype, int64_t n) {
  sm_array array = {.data = data, .dtype = dtype, .ndim = 1, .shape = {n}};
  return array;
}
static sm_array array2(const void* data, sm_dtype dtype, int64_t n, int64_t m) {
  sm_array array = {.data = data, .dtype = dtype, .ndim = 2, .shape = {n, m}};
  return array;
}

/* The number behind "name": in a description. */
static double number(const sm_object* object, const char* name) {
  const char* json = NULL;
  OK(sm_describe(object, &json));
  char key[64];
  snprintf(key, sizeof key, "\"%s\":", name);
  const char* found = strstr(json, key);
  EXPECT(found != NULL);
  return found == NULL ? NAN : strtod(found + strlen(key), NULL);
}
static int says(const sm_object* object, const char* text) {
  const char* json = NULL;
  OK(sm_describe(object, &json));
  return strstr(json, text) != NULL;
}

enum { kVariables = 4, kLabels = 3, kLabelings = 81 };
static const double kUnary[kVariables * kLabels] = {0.3, -0.2, 1.1, 0.0, 0.7, -0.5, 0.2, 0.1, -0.9, 1.3, 0.4, -0.1};
static const int32_t kEdges[] = {0, 1, 1, 2, 2, 3, 3, 0};
static const double kWeights[] = {0.5, 1.5, 0.25, 0.75};

static double energy_of(const int* labels) {
  double energy = 0.0;
  for (int a = 0; a < kVariables; ++a) energy += kUnary[kLabels * a + labels[a]];
  for (int e = 0; e < 4; ++e) energy += labels[kEdges[2 * e]] != labels[kEdges[2 * e + 1]] ? kWeights[e] : 0.0;
  return energy;
}
static void labeling(int code, int* labels) {
  for (int a = 0; a < kVariables; ++a, code /= kLabels) labels[a] = code % kLabels;
}
static double log_partition(void) {
  double sum = 0.0;
  for (int code = 0; code < kLabelings; ++code) {
    int labels[kVariables];
    labeling(code, labels);
    sum += exp(-energy_of(labels));
  }
  return log(sum);
}

static sm_object* potts(int labels) {
  sm_object* space = NULL;
  OK(sm_labels_from_spec("potts", labels, NULL, &space));
  return space;
}

static sm_object* ring(void) {
  sm_object *labels = potts(kLabels), *model = NULL;
  const sm_array unary = array2(kUnary, SM_FLOAT64, kVariables, kLabels), edges = array2(kEdges, SM_INT32, 4, 2),
                 weights = array1(kWeights, SM_FLOAT64, 4);
  OK(sm_sparse_model(&unary, &edges, &weights, NULL, labels, 0.0, &model));
  sm_free(labels); /* the model keeps what it needs */
  return model;
}

static void test_sparse(void) {
  sm_object *model = ring(), *result = NULL, *again = NULL;
  for (int code = 0; code < kLabelings; ++code) {
    int labels[kVariables];
    labeling(code, labels);
    const sm_array given = array1(labels, SM_INT32, kVariables);
    double energy = NAN;
    OK(sm_energy(model, &given, 0.0, &energy));
    EXPECT(fabs(energy - energy_of(labels)) < 1e-12);
  }
  const double log_z = log_partition();
  OK(sm_solve(model, NULL, NULL, NULL, &result));
  EXPECT(says(result, "\"method\":\"exact\""));
  EXPECT(number(result, "lower") <= log_z && log_z <= number(result, "upper"));
  EXPECT(number(result, "upper") - number(result, "lower") < 1e-6);
  OK(sm_solve(model, "{\"method\": \"pdhg\", \"max_iterations\": 50, \"time_limit\": \"inf\"}", NULL, NULL, &again));
  EXPECT(number(again, "lower") <= log_z && log_z <= number(again, "upper"));
  sm_array records, marginals, labels;
  OK(sm_view(again, "records", 0, &records));
  EXPECT(records.ndim == 2 && records.shape[0] > 0 && records.shape[1] == 6);
  OK(sm_view(result, "marginals", 0, &marginals));
  EXPECT(marginals.dtype == SM_FLOAT64 && marginals.shape[0] == kVariables && marginals.shape[1] == kLabels);
  for (int a = 0; a < kVariables; ++a) {
    const double* row = (const double*)marginals.data + kLabels * a;
    EXPECT(fabs(row[0] + row[1] + row[2] - 1.0) < 1e-12);
  }
  OK(sm_view(result, "labels", 0, &labels));
  EXPECT(labels.dtype == SM_INT32 && labels.shape[0] == kVariables);
  double lower = NAN, loss = NAN;
  OK(sm_lower_bound(model, &marginals, 1.0, 0.0, &lower, &loss));
  EXPECT(lower <= log_z && loss == 0.0);
  sm_free(again);
  sm_free(result);
  sm_free(model);
}

/* Entries of any dtype, at any distance from one another. */
static void test_arrays(void) {
  sm_object* labels = potts(kLabels);
  float spread[kLabels][2 * kVariables]; /* labels first, every second column */
  int64_t ends[8];
  for (int a = 0; a < kVariables; ++a) {
    for (int i = 0; i < kLabels; ++i) spread[i][2 * a] = (float)(i - a);
  }
  for (int e = 0; e < 8; ++e) ends[e] = kEdges[e];
  const sm_array unary = {.data = spread,
                          .dtype = SM_FLOAT32,
                          .ndim = 2,
                          .shape = {kVariables, kLabels},
                          .strides = {2 * sizeof(float), 2 * kVariables * sizeof(float)}};
  const sm_array edges = array2(ends, SM_INT64, 4, 2), weights = array1(kWeights, SM_FLOAT64, 4);
  sm_object* model = NULL;
  OK(sm_sparse_model(&unary, &edges, &weights, NULL, labels, 2.0, &model));
  sm_array view;
  OK(sm_view(model, "unary", 0, &view));
  for (int a = 0; a < kVariables; ++a) {
    for (int i = 0; i < kLabels; ++i) EXPECT(((const double*)view.data)[kLabels * a + i] == i - a);
  }
  OK(sm_view(model, "edges", 0, &view));
  EXPECT(view.shape[0] == 4 && view.shape[1] == 2);
  for (int e = 0; e < 4; ++e) {
    const char* row = (const char*)view.data + e * view.strides[0];
    EXPECT(*(const int32_t*)row == kEdges[2 * e]);
    EXPECT(*(const int32_t*)(row + view.strides[1]) == kEdges[2 * e + 1]);
  }
  OK(sm_view(model, "weights", 0, &view));
  EXPECT(*(const double*)((const char*)view.data + 2 * view.strides[0]) == kWeights[2]);
  EXPECT(number(model, "constant") == 2.0);
  FAILS(sm_view(model, "unary", 1, &view), SM_INVALID_INPUT, "no array \"unary\" 1");
  FAILS(sm_view(model, "marginals", 0, &view), SM_INVALID_INPUT, "no array");
  sm_free(model);

  model = NULL;
  sm_array wrong = unary;
  wrong.dtype = 77;
  FAILS(sm_sparse_model(&wrong, &edges, &weights, NULL, labels, 0.0, &model), SM_INVALID_INPUT, "dtype 77");
  wrong = unary, wrong.ndim = 9;
  FAILS(sm_sparse_model(&wrong, &edges, &weights, NULL, labels, 0.0, &model), SM_INVALID_INPUT, "9 axes");
  wrong = unary, wrong.shape[0] = -1;
  FAILS(sm_sparse_model(&wrong, &edges, &weights, NULL, labels, 0.0, &model), SM_INVALID_INPUT, "-1 entries");
  wrong = unary, wrong.shape[0] = INT64_MAX / 2;
  FAILS(sm_sparse_model(&wrong, &edges, &weights, NULL, labels, 0.0, &model), SM_INVALID_INPUT, "memory");
  wrong = unary, wrong.data = NULL;
  FAILS(sm_sparse_model(&wrong, &edges, &weights, NULL, labels, 0.0, &model), SM_INVALID_INPUT, "no data");
  FAILS(sm_sparse_model(NULL, &edges, &weights, NULL, labels, 0.0, &model), SM_INVALID_INPUT, "unary is null");
  FAILS(sm_sparse_model(&unary, &weights, &weights, NULL, labels, 0.0, &model), SM_INVALID_INPUT, "edges");
  ends[0] = INT64_MAX;
  FAILS(sm_sparse_model(&unary, &edges, &weights, NULL, labels, 0.0, &model), SM_INVALID_INPUT, "32 bits cannot hold");
  wrong = edges, wrong.dtype = SM_FLOAT64;
  FAILS(sm_sparse_model(&unary, &wrong, &weights, NULL, labels, 0.0, &model), SM_INVALID_INPUT, "whole numbers");
  EXPECT(model == NULL);
  sm_free(labels);
}

static void test_dense(void) {
  sm_object *labels = potts(2), *model = NULL, *stored = NULL, *result = NULL;
  float unary[6][2];
  uint8_t picture[6];
  for (int a = 0; a < 6; ++a) {
    unary[a][0] = (float)(0.3 * a - 0.8), unary[a][1] = 0.2F;
    picture[a] = (uint8_t)(40 * a);
  }
  const sm_array costs = {.data = unary, .dtype = SM_FLOAT32, .ndim = 3, .shape = {2, 3, 2}};
  const sm_array colours = {.data = picture, .dtype = SM_UINT8, .ndim = 3, .shape = {2, 3, 1}};
  const char* options =
      "{\"size\": [3, 2], \"kernels\": [{\"type\": \"position\", \"sigma\": [2, 2], \"weight\": 0.4},"
      "{\"type\": \"bilateral\", \"sigma\": [3, 3], \"colour_sigma\": [50], \"weight\": 0.3, \"values\": 0}]}";
  OK(sm_dense_model(&costs, options, &colours, 1, labels, &model));
  double sum = 0.0;
  for (int code = 0; code < 64; ++code) {
    int32_t x[6];
    double energy = 0.0;
    for (int a = 0; a < 6; ++a) x[a] = code >> a & 1, energy += unary[a][x[a]];
    for (int a = 0; a < 6; ++a) {
      for (int b = 0; b < a; ++b) {
        const double dx = a % 3 - b % 3, dy = a / 3 - b / 3, dc = 40.0 * (a - b), d2 = dx * dx + dy * dy;
        const double w = 0.4 * exp(-d2 / 8) + 0.3 * exp(-d2 / 18 - dc * dc / 5000);
        energy += x[a] != x[b] ? w : 0.0;
      }
    }
    sum += exp(-energy);
    const sm_array given = array1(x, SM_INT32, 6);
    double found = NAN;
    OK(sm_energy(model, &given, 0.0, &found));
    EXPECT(fabs(found - energy) < 1e-9);
  }
  OK(sm_solve(model, "{\"certify\": \"exact\"}", NULL, NULL, &result));
  EXPECT(number(result, "lower") <= log(sum) + 1e-9 && log(sum) - 1e-9 <= number(result, "upper"));
  sm_free(result);

  /* Shares of two sets of pixels sum to the bound; factors that are given multiply the kernel. */
  double y[6][2], whole = NAN, shares = 0.0, cut[2] = {0.0, 0.0};
  for (int a = 0; a < 6; ++a) y[a][0] = 0.1 + 0.1 * a, y[a][1] = 1.0 - y[a][0];
  const sm_array marginals = array2(y, SM_FLOAT64, 6, 2);
  OK(sm_lower_bound(model, &marginals, 1.0, 0.0, &whole, NULL));
  for (int side = 0; side < 2; ++side) {
    uint8_t own[6];
    double share = NAN;
    for (int a = 0; a < 6; ++a) own[a] = (a % 3 == 1) == side;
    const sm_array marked = array1(own, SM_UINT8, 6);
    OK(sm_lower_share(model, &marginals, &marked, 1.0, 0.0, 1, &share, NULL));
    shares += share;
    /* The pairs that leave one set are those that leave the other. */
    const double cutoff[] = {0.01, 0.1};
    const sm_array cutoffs = array1(cutoff, SM_FLOAT64, 2);
    sm_array sums;
    OK(sm_cut_pairs(model, &marginals, &marked, &cutoffs, 1, &result));
    OK(sm_view(result, "values", 0, &sums));
    EXPECT(sums.ndim == 2 && sums.shape[0] == 6 && sums.shape[1] == 4);
    for (int a = 0; a < 6; ++a) {
      const double* row = (const double*)sums.data + 4 * a;
      cut[side] += row[2];
      EXPECT(fabs(row[0] + row[1]) <= 2.0 * row[3] + 1e-6 && (own[a] || row[2] == 0.0));
    }
    sm_free(result);
  }
  EXPECT(cut[0] > 0.0 && fabs(cut[0] - cut[1]) < 1e-9);
  EXPECT(fabs(shares - whole) < 1e-9);
  const double factors[] = {2.0, 0.5, 1.0, 1.0, 1.0, 1.0};
  const sm_array scale = array1(factors, SM_FLOAT64, 6);
  const int32_t apart[] = {0, 0, 0, 0, 0, 1};
  const sm_array labeling = array1(apart, SM_INT32, 6);
  double energy = NAN, plain = NAN;
  const char* scaled = "{\"size\": [3, 2], \"kernels\": [{\"type\": \"position\", \"sigma\": [2, 2], \"weight\": 1, \"scale\": 0}]}";
  OK(sm_dense_model(&costs, scaled, &scale, 1, labels, &stored));
  OK(sm_energy(stored, &labeling, 0.0, &energy));
  sm_free(stored);
  OK(sm_dense_model(&costs, "{\"size\": [3, 2], \"kernels\": [{\"type\": \"position\", \"sigma\": [2, 2], \"weight\": 1}]}", NULL, 0,
                    labels, &stored));
  OK(sm_energy(stored, &labeling, 0.0, &plain));
  sm_free(stored);
  stored = NULL;
  /* Pixel 5 is (2, 1): (2, 1) from pixel 0, (1, 1) from pixel 1. */
  EXPECT(fabs(energy - plain - exp(-5.0 / 8) + 0.5 * exp(-2.0 / 8)) < 1e-9);

  sm_array features;
  OK(sm_view(model, "features", 1, &features));
  EXPECT(features.shape[0] == 6 && features.shape[1] == 3);
  OK(sm_dense_model(&costs, "{\"kernels\": [{\"type\": \"stored\", \"weight\": 0.3, \"values\": 0}]}", &features, 1,
                    labels, &stored));
  sm_free(stored);
  stored = NULL;
  FAILS(sm_dense_model(&costs, "{\"kernels\": [{\"type\": \"square\"}]}", NULL, 0, labels, &stored), SM_INVALID_INPUT,
        "position, bilateral");
  FAILS(sm_dense_model(&costs, "{\"kernels\": [{\"type\": \"features\", \"sigma\": [1], \"values\": 2}]}", NULL, 0, labels,
                       &stored),
        SM_INVALID_INPUT, "array 2");
  FAILS(sm_dense_model(&costs, "{\"kernels\": [3]}", NULL, 0, labels, &stored), SM_INVALID_INPUT, "JSON object");
  FAILS(sm_dense_model(&costs, "{\"kernel\": []}", NULL, 0, labels, &stored), SM_INVALID_INPUT, "did you mean kernels?");
  sm_free(model);
  sm_free(labels);
}

static void test_tables(void) {
  const int32_t cardinality[] = {2, 3}, sizes[] = {1, 2}, scopes[] = {0, 0, 1}, lengths[] = {2, 6};
  const double tables[] = {0.0, 1.0, 0.5, 0.1, 0.2, 0.3, INFINITY, 0.7};
  sm_array a = array1(cardinality, SM_INT32, 2), b = array1(sizes, SM_INT32, 2), c = array1(scopes, SM_INT32, 3),
           d = array1(lengths, SM_INT32, 2), e = array1(tables, SM_FLOAT64, 8), view;
  sm_object *model = NULL, *result = NULL;
  OK(sm_factor_graph(&a, &b, &c, &d, &e, &model));
  double sum = 0.0;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) sum += exp(-tables[i] - tables[2 + 3 * i + j]);
  }
  OK(sm_solve(model, "{}", NULL, NULL, &result));
  EXPECT(number(result, "lower") <= log(sum) + 1e-12 && log(sum) - 1e-12 <= number(result, "upper"));
  EXPECT(says(result, "\"ragged\":true"));
  OK(sm_view(result, "marginals", 1, &view));
  EXPECT(view.ndim == 1 && view.shape[0] == 3);
  FAILS(sm_view(result, "marginals", 2, &view), SM_INVALID_INPUT, "no array");
  OK(sm_view(model, "table", 1, &view));
  EXPECT(view.shape[0] == 6 && isinf(((const double*)view.data)[4]));
  sm_free(result);
  sm_free(model);
  model = NULL;
  e = array1(tables, SM_FLOAT64, 7);
  FAILS(sm_factor_graph(&a, &b, &c, &d, &e, &model), SM_INVALID_INPUT, "do not fit together");
  c = array1(scopes, SM_INT32, 2);
  FAILS(sm_factor_graph(&a, &b, &c, &d, &e, &model), SM_INVALID_INPUT, "do not fit together");
}

static int stop_after_three(const char* phase, const sm_record* record, void* context) {
  EXPECT(strlen(phase) > 0 && record->k >= -1 && record->seconds >= 0.0);
  return ++*(int*)context >= 3;
}

static void test_watch(void) {
  sm_object *model = ring(), *result = NULL;
  int calls = 0;
  OK(sm_solve(model, "{\"method\": \"pdhg\", \"gap\": 1e-15, \"max_iterations\": 100000}", stop_after_three, &calls, &result));
  EXPECT(calls >= 3 && calls < 100);
  EXPECT(says(result, "\"termination\":\"interrupted\""));
  EXPECT(number(result, "lower") <= log_partition() && log_partition() <= number(result, "upper"));
  sm_free(result);
  sm_free(model);
}

static void test_proofs(void) {
  sm_object *model = ring(), *result = NULL, *found = NULL;
  OK(sm_solve(model, "{\"expectations\": true}", NULL, NULL, &result));
  double ones[kVariables][kLabels];
  for (int a = 0; a < kVariables; ++a) {
    for (int i = 0; i < kLabels; ++i) ones[a][i] = 1.0;
  }
  const sm_array values = array2(ones, SM_FLOAT64, kVariables, kLabels);
  sm_array view;
  OK(sm_prove(result, "expectation", &values, &found));
  OK(sm_view(found, "values", 0, &view));
  EXPECT(view.shape[0] == 1 && view.shape[1] == 5);
  EXPECT(((const double*)view.data)[0] <= 4.0 + 1e-9 && 4.0 - 1e-9 <= ((const double*)view.data)[1]);
  sm_free(found);
  OK(sm_prove(result, "areas", NULL, &found));
  OK(sm_view(found, "values", 0, &view));
  EXPECT(view.shape[0] == kLabels);
  sm_free(found);
  const int64_t where[] = {1, 2}, nowhere[] = {9, 2};
  sm_array place = array1(where, SM_INT64, 2);
  OK(sm_prove(result, "probability", &place, &found));
  sm_free(found);
  found = NULL;
  place.data = nowhere;
  FAILS(sm_prove(result, "probability", &place, &found), SM_INVALID_INPUT, "variable");
  FAILS(sm_prove(result, "area", NULL, &found), SM_INVALID_INPUT, "did you mean areas?");
  FAILS(sm_prove(model, "areas", NULL, &found), SM_INVALID_INPUT, "another kind");
  EXPECT(found == NULL);
  sm_free(result);
  sm_free(model);
}

static void test_errors(void) {
  sm_object *model = ring(), *labels = NULL, *result = NULL, *large = NULL;
  FAILS(sm_labels_from_spec("pots", 3, "", &labels), SM_INVALID_INPUT, "pots");
  FAILS(sm_labels_from_spec(NULL, 3, "", &labels), SM_INVALID_INPUT, "null");
  FAILS(sm_labels_from_spec("potts", 3, "", NULL), SM_INVALID_INPUT, "null");
  FAILS(sm_solve(NULL, "{}", NULL, NULL, &result), SM_INVALID_INPUT, "model is null");
  FAILS(sm_solve(model, "{\"gap\": ", NULL, NULL, &result), SM_INVALID_INPUT, "JSON");
  FAILS(sm_solve(model, "[]", NULL, NULL, &result), SM_INVALID_INPUT, "JSON object");
  FAILS(sm_solve(model, "{\"gap\": \"wide\"}", NULL, NULL, &result), SM_INVALID_INPUT, "gap is \"wide\", expected a number");
  FAILS(sm_solve(model, "{\"max_iterations\": 2.5}", NULL, NULL, &result), SM_INVALID_INPUT, "whole number");
  FAILS(sm_solve(model, "{\"max_iterations\": 1e300}", NULL, NULL, &result), SM_INVALID_INPUT, "whole number");
  FAILS(sm_solve(model, "{\"seed\": -1}", NULL, NULL, &result), SM_INVALID_INPUT, "seed");
  FAILS(sm_solve(model, "{\"max_memory\": \"nan\"}", NULL, NULL, &result), SM_INVALID_INPUT, "max_memory");
  FAILS(sm_solve(model, "{\"time_limt\": 3}", NULL, NULL, &result), SM_INVALID_INPUT, "did you mean time_limit?");
  FAILS(sm_solve(model, "{\"method\": \"routd\"}", NULL, NULL, &result), SM_INVALID_INPUT, "did you mean routed?");
  FAILS(sm_solve(model, "{\"temperature\": 0, \"expectations\": true}", NULL, NULL, &result), SM_INVALID_INPUT, "temperature");
  FAILS(sm_read_model("/nonexistent/model.json", NULL, &result), SM_FILE_ERROR, "/nonexistent/model.json");
  FAILS(sm_write_model(model, "/nonexistent/model.json", "{}", NULL, 0), SM_FILE_ERROR, "/nonexistent");
  FAILS(sm_describe(NULL, NULL), SM_INVALID_INPUT, "null");
  FAILS(sm_updates_set_threads(model, 1), SM_INVALID_INPUT, "another kind");
  FAILS(sm_call("colour_mop", NULL, NULL, 0, NULL, NULL, &result), SM_INVALID_INPUT, "did you mean colour_map?");
  FAILS(sm_call("colour_map", NULL, NULL, 0, NULL, NULL, &result), SM_INVALID_INPUT, "array 0");
  EXPECT(strcmp(sm_error_details(), "{}") == 0);

  const double unary[1600 * 4] = {0.0};
  int32_t ends[2 * 1560];
  int64_t edges = 0;
  for (int a = 0; a + 40 < 1600; ++a) ends[2 * edges] = a, ends[2 * edges + 1] = a + 40, ++edges;
  const sm_array costs = array2(unary, SM_FLOAT64, 1600, 4), links = array2(ends, SM_INT32, edges, 2);
  double* weight = malloc((size_t)edges * sizeof(double));
  for (int64_t e = 0; e < edges; ++e) weight[e] = 1.0;
  const sm_array weights = array1(weight, SM_FLOAT64, edges);
  labels = potts(4);
  OK(sm_sparse_model(&costs, &links, &weights, NULL, labels, 0.0, &large));
  FAILS(sm_solve(large, "{\"method\": \"pdhg\", \"max_memory\": 1e-5}", NULL, NULL, &result), SM_TOO_LARGE, "");
  EXPECT(strstr(sm_error_details(), "\"refusal\"") != NULL);
  free(weight);
  EXPECT(result == NULL);
  sm_free(large);
  sm_free(labels);
  sm_free(model);
  sm_free(NULL);
}

static void test_functions(void) {
  sm_object *found = NULL, *updates = NULL, *filter = NULL;
  sm_array view;
  OK(sm_call("grid_edges", "{\"width\": 3, \"height\": 2}", NULL, 0, NULL, NULL, &found));
  OK(sm_view(found, "values", 0, &view));
  EXPECT(view.dtype == SM_INT32 && view.shape[0] == 7 && view.shape[1] == 2);
  sm_free(found);
  const double half = 0.5;
  const sm_array point = {.data = &half, .dtype = SM_FLOAT64};
  OK(sm_call("colour_map", "", &point, 1, NULL, NULL, &found));
  OK(sm_view(found, "values", 0, &view));
  EXPECT(view.dtype == SM_UINT8 && view.ndim == 1 && view.shape[0] == 3);
  sm_free(found);

  const float costs[] = {0.0F, 1.0F, 2.0F, 1.0F, 0.5F, 0.0F}, sigmas[] = {2.0F, 2.0F, 30.0F}, potts = -1.0F;
  const uint8_t picture[] = {10, 20, 200};
  const sm_array by_label = array2(costs, SM_FLOAT32, 2, 3), widths = array1(sigmas, SM_FLOAT32, 3),
                 compatibility = array1(&potts, SM_FLOAT32, 1);
  const sm_array pixels = {.data = picture, .dtype = SM_UINT8, .ndim = 3, .shape = {1, 3, 1}};
  OK(sm_updates(3, 2, (size_t)1 << 30, &updates));
  OK(sm_updates_set_unary(updates, &by_label));
  OK(sm_updates_add_picture(updates, &pixels, &widths, 3, &compatibility));
  EXPECT(number(updates, "num_terms") == 1);
  FAILS(sm_updates_add_picture(updates, &pixels, &compatibility, 3, &compatibility), SM_INVALID_INPUT, "sigmas");
  FAILS(sm_updates_add_picture(updates, &pixels, &widths, 4, &compatibility), SM_INVALID_INPUT, "normalisation");
  OK(sm_updates_start(updates, &found));
  OK(sm_view(found, "values", 0, &view));
  EXPECT(fabs(((const float*)view.data)[0] - 1.0 / (1.0 + exp(-1.0))) < 1e-6);
  sm_object* stepped = NULL;
  OK(sm_updates_step(updates, &view, &stepped));
  double divergence = NAN;
  OK(sm_updates_divergence(updates, &view, &divergence));
  EXPECT(isfinite(divergence));
  sm_free(stepped);
  sm_free(found);
  OK(sm_updates_infer(updates, 5, 1, &found));
  OK(sm_view(found, "values", 0, &view));
  for (int a = 0; a < 3; ++a) {
    const float* row = (const float*)view.data + 2 * a;
    EXPECT(fabs(row[0] + row[1] - 1.0) < 1e-6);
  }
  sm_free(found);
  sm_free(updates);

  const double place[] = {0.0, 0.0, 50.0};
  const sm_array features = array2(place, SM_FLOAT64, 3, 1), x = array2(costs, SM_FLOAT32, 3, 2);
  OK(sm_filter(&features, (size_t)1 << 30, &filter));
  OK(sm_filter_apply(filter, &x, &found));
  OK(sm_view(found, "values", 0, &view));
  EXPECT(view.shape[0] == 3 && view.shape[1] == 2);
  sm_free(found);
  sm_free(filter);
}

static void test_labels(void) {
  sm_object *labels = NULL, *same = NULL;
  OK(sm_labels_from_spec("truncated:2", 4, "", &labels));
  sm_array table;
  OK(sm_view(labels, "distance", 0, &table));
  EXPECT(((const double*)table.data)[3] == 2.0);
  const char* json = NULL;
  OK(sm_describe(labels, &json));
  char* description = malloc(strlen(json) + 1);
  strcpy(description, json);
  OK(sm_labels_from_tables(&table, 1, description, &same));
  OK(sm_describe(same, &json));
  EXPECT(strcmp(description, json) == 0);
  sm_free(same);
  same = NULL;
  FAILS(sm_labels_from_tables(&table, 1, "{\"num_labels\": 4}", &same), SM_INVALID_INPUT, "missing parts");
  FAILS(sm_labels_from_tables(&table, 1, "{\"no_metric\": \"repare\"}", &same), SM_INVALID_INPUT,
        "did you mean repair?");
  FAILS(sm_labels_from_tables(&table, 1, "?", &same), SM_INVALID_INPUT, "missing parts");
  FAILS(sm_labels_from_tables(NULL, 1, NULL, &same), SM_INVALID_INPUT, "null");
  free(description);
  sm_free(labels);
}

int main(void) {
  EXPECT(sm_api_version() == SM_API_VERSION);
  EXPECT(strlen(sm_version()) > 0);
  const char* about = NULL;
  OK(sm_about(&about));
  EXPECT(strstr(about, "\"functions\"") != NULL && strstr(about, "\"pdhg\"") != NULL);
  test_labels();
  test_sparse();
  test_arrays();
  test_dense();
  test_tables();
  test_watch();
  test_proofs();
  test_errors();
  test_functions();
  if (failures == 0) puts("The C interface does what its header says.");
  return failures == 0 ? 0 : 1;
}
