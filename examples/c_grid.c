/* The C interface: a grid of 3 labels, its certified interval and labels.
 *
 *   cc c_grid.c $(pkg-config --cflags --libs submarine_c) && ./a.out
 */
#include <stdio.h>

#include "submarine/c_api.h"

static int failed(void) {
  fprintf(stderr, "%s\n", sm_error_message());
  return 1;
}

int main(void) {
  /* Costs of every pixel: the left half prefers label 0, the right half label 2. */
  enum { kWidth = 8, kHeight = 4, kLabels = 3 };
  double costs[kHeight][kWidth][kLabels];
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      for (int label = 0; label < kLabels; ++label)
        costs[y][x][label] = label == (2 * x < kWidth ? 0 : 2) ? 0.0 : 1.0;
    }
  }
  sm_object *grid = NULL, *labels = NULL, *model = NULL, *result = NULL;
  sm_array edges;
  if (sm_call("grid_edges", "{\"width\": 8, \"height\": 4}", NULL, 0, NULL, NULL, &grid) != SM_OK ||
      sm_view(grid, "values", 0, &edges) != SM_OK)
    return failed();
  double weight[2 * kWidth * kHeight];
  for (int e = 0; e < edges.shape[0]; ++e) weight[e] = 0.5;

  const sm_array unary = {.data = costs, .dtype = SM_FLOAT64, .ndim = 3, .shape = {kHeight, kWidth, kLabels}};
  const sm_array weights = {.data = weight, .dtype = SM_FLOAT64, .ndim = 1, .shape = {edges.shape[0]}};
  if (sm_labels_from_spec("potts", kLabels, NULL, &labels) != SM_OK ||
      sm_sparse_model(&unary, &edges, &weights, NULL, labels, 0.0, &model) != SM_OK ||
      sm_solve(model, "{\"time_limit\": 10}", NULL, NULL, &result) != SM_OK)
    return failed();

  sm_array found;
  const char* description = NULL;
  if (sm_view(result, "labels", 0, &found) != SM_OK || sm_describe(result, &description) != SM_OK) return failed();
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) printf("%d", ((const int32_t*)found.data)[kWidth * y + x]);
    printf("\n");
  }
  printf("%s\n", description); /* "lower" <= log Z <= "upper" */
  sm_free(result);
  sm_free(model);
  sm_free(labels);
  sm_free(grid);
  return 0;
}
