// Models as files.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "submarine/c_api/arrays.h"
#include "submarine/c_api/models.h"
#include "submarine/c_api/options.h"
#include "submarine/io/model/bundle_header.h"
#include "submarine/io/model/dense_bundle.h"
#include "submarine/io/model/fg.h"
#include "submarine/io/model/grid_bundle.h"
#include "submarine/io/model/uai.h"

namespace submarine::c_api {
namespace {

template <class Object, class Both, class Pairs>
std::unique_ptr<ModelObject> WithCliques(Pairs pairs, std::vector<Clique> cliques) {
  if (cliques.empty()) return std::make_unique<Object>(std::move(pairs));
  return std::make_unique<Both>(CliqueCrf<Pairs>(std::move(pairs), std::move(cliques)));
}

std::unique_ptr<ModelObject> ReadBundleModel(const std::string& path) {
  if (ReadBundleKind(path) == "dense") {
    LoadedDense loaded = ReadDenseBundle(path);
    auto object = WithCliques<DenseObject, DenseCliquesObject>(std::move(loaded.model),
                                                               std::move(loaded.cliques));
    object->set_file({loaded.width, loaded.height, loaded.depth, std::move(loaded.warnings)});
    return object;
  }
  LoadedModel loaded = ReadBundle(path);
  auto object = WithCliques<SparseObject, SparseCliquesObject>(std::move(loaded.model),
                                                               std::move(loaded.cliques));
  object->set_file({loaded.width, loaded.height, 0, std::move(loaded.warnings)});
  return object;
}

std::unique_ptr<ModelObject> ReadTables(const std::string& path, const std::string& evidence) {
  FactorGraph graph = path.ends_with(".fg") ? ReadFg(path) : ReadUai(path);
  if (!evidence.empty()) ApplyEvidence(graph, ReadUaiEvidence(evidence));
  auto object = std::make_unique<TablesObject>(std::move(graph));
  object->set_file({});
  return object;
}

DenseKernelSpec KernelSpecFrom(Options* options, std::span<const sm_array> arrays) {
  DenseKernelSpec spec;
  std::string type;
  options->Read("type", &type);
  spec.type = type == "position"    ? DenseKernelType::kPosition
              : type == "bilateral" ? DenseKernelType::kBilateral
                                    : DenseKernelType::kFeatures;
  options->Read("sigma", &spec.sigma);
  options->Read("colour_sigma", &spec.colour_sigma);
  options->Read("weight", &spec.weight);
  bool normalised = false;
  options->Read("normalised", &normalised);
  if (normalised) spec.normalisation = KernelNormalisation::kSymmetric;
  if (spec.type == DenseKernelType::kFeatures) {
    int values = -1;
    options->Read("values", &values);
    spec.features =
        ToMatrix<double>(ArrayAt(arrays, static_cast<std::size_t>(values)), "the features");
  }
  options->CheckEmpty();
  return spec;
}

class Writer {
 public:
  Writer(std::string path, const char* options, std::span<const sm_array> arrays)
      : path_(std::move(path)), options_(options), arrays_(arrays) {
    options_.Read("metric", &metric_);
  }

  void operator()(const TablesObject& object) {
    options_.CheckEmpty();
    WriteUai(path_, object.graph());
  }

  void operator()(const SparseObject& object) { WriteSparse(object.model(), {}); }
  void operator()(const SparseCliquesObject& object) {
    WriteSparse(object.pairs().model(), object.cliques());
  }
  void operator()(const DenseObject& object) { WriteDense(object.model(), {}); }
  void operator()(const DenseCliquesObject& object) {
    WriteDense(object.pairs().model(), object.cliques());
  }

 private:
  void WriteSparse(const SparseCrf& model, const std::vector<Clique>& cliques) {
    if (path_.ends_with(".uai")) {
      double rounding = 0.0;
      return WriteUai(path_, ToFactorGraph(CliqueCrf<SparseCrf>(model, cliques), &rounding));
    }
    int width = 0, height = 0, connectivity = 4;
    options_.Read("width", &width);
    options_.Read("height", &height);
    options_.Read("connectivity", &connectivity);
    options_.CheckEmpty();
    Beside(model.labels());
    if (width > 0) {
      WriteGridBundle(path_, model, width, height, connectivity, metric_, cliques);
    } else {
      WriteGraphBundle(path_, model, metric_, cliques);
    }
  }

  void WriteDense(const DenseCrf& model, const std::vector<Clique>& cliques) {
    DenseSpec spec;
    spec.cliques = cliques;
    std::vector<int> size;
    options_.Read("size", &size);
    if (size.size() >= 2) {
      spec.width = size[0];
      spec.height = size[1];
      spec.depth = size.size() > 2 ? size[2] : 0;
    }
    spec.unary = model.unary();
    spec.counting = model.counting();
    spec.constant = model.constant();
    options_.Read("channels", &spec.channels);
    std::optional<int> image;
    options_.Read("image", &image);
    if (image)
      spec.image = ToVector<float>(ArrayAt(arrays_, static_cast<std::size_t>(*image)), "the image");
    for (Options& kernel : options_.ReadList("kernels"))
      spec.kernels.push_back(KernelSpecFrom(&kernel, arrays_));
    options_.CheckEmpty();
    Beside(model.labels());
    spec.metric = metric_;
    WriteDenseBundle(path_, spec);
  }

  void Beside(const LabelSpace& labels) {
    if (labels.metrics.size() == 1)
      metric_ = internal::MetricBesideHeader(path_, metric_, labels.metrics.front());
  }

  std::string path_;
  Options options_;
  std::span<const sm_array> arrays_;
  std::string metric_ = "potts";
};

}  // namespace
}  // namespace submarine::c_api

using namespace submarine::c_api;  // NOLINT(google-build-using-namespace)

sm_status sm_read_model(const char* path, const char* evidence, sm_object** model) {
  return Made(model, [&]() -> std::unique_ptr<sm_object> {
    const std::string file = Text(path, "the path");
    const std::string observed = evidence == nullptr ? "" : evidence;
    if (!file.ends_with(".json")) return ReadTables(file, observed);
    if (!observed.empty())
      throw submarine::InvalidInput("\"" + file +
                                    "\" is a bundle, and evidence goes with .uai and .fg files");
    return ReadBundleModel(file);
  });
}

sm_status sm_write_model(const sm_object* model, const char* path, const char* options,
                         const sm_array* arrays, size_t num_arrays) {
  return Guarded([&] {
    Writer write(Text(path, "the path"), options, {arrays, num_arrays});
    WithModel(model, [&](const auto& object) { write(object); });
  });
}
