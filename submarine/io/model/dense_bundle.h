// Fully connected models as files: a JSON header beside arrays and pictures (docs/formats.md).
//
//   {"submarine": "dense", "width": 640, "height": 480, "labels": 21, "unary": "unary.npy",
//    "metric": "potts", "image": "picture.png",
//    "kernels": [{"type": "position", "sigma": 3, "weight": 3},
//                {"type": "bilateral", "sigma": 80, "colour_sigma": 13, "weight": 10}]}
//
// The size is width and height, with a depth for volumes, or "variables" alone if all kernels are
// of type "features". Paths are relative to the header and inside its directory. Any other key is
// an error.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/io/image/image.h"
#include "submarine/model/clique.h"
#include "submarine/model/dense_crf.h"

namespace submarine {

struct LoadedDense {
  // Its kernels are marked for the normalisation that the header specifies, but not normalised yet,
  // which takes sums over all pairs, as Solve does it.
  DenseCrf model;
  int width = 0;  // 0 unless the variables are pixels or voxels
  int height = 0;
  int depth = 0;                           // 0 for pictures
  std::vector<std::string> warnings = {};  // about the metric, see ParseMetricSpec
  std::vector<Clique> cliques = {};        // beside the pairs, as in grid_bundle.h
};

// Throws FileError naming file, kernel and key; InvalidInput for an invalid metric or one that
// violates `strict_hst`, and for numbers that DenseCrf refuses. `picture` is about a picture
// that the header names.
LoadedDense ReadDenseBundle(const std::filesystem::path& path, bool strict_hst = false,
                            const ImageReading& picture = {});

// "grid", "graph" or "dense"; throws FileError for anything else.
std::string ReadBundleKind(const std::filesystem::path& path);

enum class DenseKernelType { kPosition, kBilateral, kFeatures };

struct DenseKernelSpec {
  DenseKernelType type = DenseKernelType::kPosition;
  // One number for all axes (features), or x, y and, in volumes, z (one for each feature).
  std::vector<double> sigma = {};
  std::vector<double> colour_sigma = {};  // kBilateral: one number, or one per channel
  double weight = 1.0;
  KernelNormalisation normalisation = KernelNormalisation::kNone;  // or kSymmetric
  Matrix<double> features = {};                                    // kFeatures
};

// A model before its kernels are built.
struct DenseSpec {
  int width = 0;  // all three 0 if the variables are not pixels
  int height = 0;
  int depth = 0;        // 0 for pictures
  Matrix<float> unary;  // one row per variable
  std::string metric = "potts";
  PairCounting counting = PairCounting::kOrdered;
  double constant = 0.0;
  int channels = 0;               // of the image; 0 if there is none
  std::vector<float> image = {};  // in the order of the variables, channels innermost
  std::vector<DenseKernelSpec> kernels = {};
  std::vector<Clique> cliques = {};
};

// The kernels of `spec`, which do not depend on its unaries. Throws InvalidInput as below.
std::vector<GaussianKernel> BuildKernels(const DenseSpec& spec);

// The model that `spec` describes. Tree files of the metric are relative to `directory`. Throws
// InvalidInput if sizes disagree or a number is out of range.
DenseCrf BuildDenseCrf(const DenseSpec& spec, const std::filesystem::path& directory = {});

// Writes NAME.json with NAME.unary.npy and, where needed, NAME.image.npy and NAME.features0.npy,
// ... (by the number of the kernel) beside it, the header last. Throws as BuildDenseCrf does,
// before anything is written.
void WriteDenseBundle(const std::filesystem::path& path, const DenseSpec& spec);

}  // namespace submarine
