// Our own model files: a small JSON header beside .npy arrays, easy to write from Python.
//
//   {"submarine": "grid", "width": 100, "height": 80, "labels": 20, "connectivity": 4,
//   "weight": 5.0,
//    "metric": "potts", "unary": "unary.npy"}
//   {"submarine": "graph", "variables": 1000, "labels": 20, "edges": "edges.npy",
//    "weights": "weights.npy", "metric": "linear", "unary": "unary.npy"}
//
// unary    grid (height, width, labels), graph (variables, labels): energies
// edges    (number of edges, 2) integers, each unordered pair once
// weight   one number for all edges, default 1; or
// weights  one number per edge, for grids in the order of GridEdges
// metric   as in metric_spec.h; connectivity 4 (default) or 8; constant, default 0, is added to the
// energy
// cliques  a list, or the name of a JSON file with one: {"members": [0, 1, 2], "gamma": 3, "truncation": 1}, and
//          "weights" where they differ
//
// Paths are relative to the header and inside its directory. Any other key is an error.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "submarine/model/clique.h"
#include "submarine/model/sparse_crf.h"

namespace submarine {

struct LoadedModel {
  SparseCrf model;
  int width = 0;  // 0 unless the model is a grid
  int height = 0;
  std::vector<std::string> warnings;  // about the metric, see ParseMetricSpec
  std::vector<Clique> cliques = {};   // beside the pairs of the model
};

// Throws FileError naming file and key; InvalidInput for an invalid metric or one that violates
// `strict_hst`.
LoadedModel ReadBundle(const std::filesystem::path& path, bool strict_hst = false);

// Writes NAME.json with NAME.unary.npy and, where needed, NAME.weights.npy and NAME.edges.npy
// beside it; the header comes last, so an interrupted write leaves no header that points to missing
// arrays. `metric_spec` must describe the model's only metric, otherwise InvalidInput.
void WriteGridBundle(const std::filesystem::path& path, const SparseCrf& model, int width,
                     int height, int connectivity, const std::string& metric_spec,
                     std::span<const Clique> cliques = {});
void WriteGraphBundle(const std::filesystem::path& path, const SparseCrf& model,
                      const std::string& metric_spec, std::span<const Clique> cliques = {});

}  // namespace submarine
