#include "submarine/c_api/models.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/names.h"
#include "submarine/base/parallel.h"
#include "submarine/c_api/arrays.h"
#include "submarine/c_api/options.h"
#include "submarine/evaluate/evaluate.h"
#include "submarine/io/model/metric_spec.h"
#include "submarine/labels/metric_fit.h"
#include "submarine/model/image_features.h"

namespace submarine::c_api {
namespace {

// A label space as its description and tables say.
LabelSpace LabelsFrom(std::vector<Matrix<double>> tables, const Json& description) {
  const auto malformed = [](const std::string& what) {
    return InvalidInput("the description of the label space has " + what);
  };
  try {
    LabelSpace space;
    space.cuts = std::make_shared<LabelCuts>(
        description.at("num_labels").get<int>(),
        description.at("composite").get<std::vector<std::vector<int>>>());
    const Json& metrics = description.at("metrics");
    if (metrics.size() != tables.size())
      throw malformed(fmt::format("{} metrics for {} tables", metrics.size(), tables.size()));
    for (std::size_t m = 0; m < tables.size(); ++m) {
      Options metric(metrics.at(m));
      LabelMetric made;
      metric.Read("name", &made.name);
      metric.Read("length", &made.length);
      metric.Read("distortion", &made.distortion);
      metric.CheckEmpty();
      made.distance = std::move(tables[m]);
      space.metrics.push_back(std::move(made));
    }
    space.names = description.at("names").get<std::vector<std::string>>();
    for (const Json& group : description.at("groups")) {
      space.groups.push_back({group.at("name").get<std::string>(),
                              group.at("labels").get<std::vector<int>>(),
                              group.at("parent").get<int>()});
    }
    CheckLabelSpace(space);
    return space;
  } catch (const Json::exception&) {
    throw malformed("missing parts, expected num_labels, composite, metrics, names and groups");
  }
}

std::vector<Edge> ToEdges(const sm_array* ends, const sm_array* weights, const sm_array* metrics) {
  const sm_array& checked = Checked(ends, "edges");
  if (checked.ndim != 2 || checked.shape[1] != 2)
    throw InvalidInput("edges has another shape than (edges, 2)");
  const auto end = ToVector<std::int32_t>(ends, "edges");
  const auto weight = ToVector<double>(weights, "weights");
  const auto metric =
      metrics == nullptr ? std::vector<std::int32_t>() : ToVector<std::int32_t>(metrics, "metrics");
  const std::size_t count = end.size() / 2;
  if (weight.size() != count || (metrics != nullptr && metric.size() != count)) {
    throw InvalidInput(fmt::format("there are {} weights and {} metric numbers for {} edges",
                                   weight.size(), metric.size(), count));
  }
  std::vector<Edge> edges(count);
  for (std::size_t e = 0; e < count; ++e)
    edges[e] = {end[2 * e], end[2 * e + 1], weight[e], metric.empty() ? 0 : metric[e]};
  return edges;
}

// Hands out the entries of one array after the other.
template <class T>
class Runs {
 public:
  Runs(const sm_array* array, const char* name) : values_(ToVector<T>(array, name)), name_(name) {}
  std::vector<T> Next(std::int32_t count) {
    if (count < 0 || static_cast<std::size_t>(count) > values_.size() - begin_)
      throw InvalidInput(fmt::format("the sizes of {} and the array do not fit together", name_));
    const auto first = values_.begin() + static_cast<std::ptrdiff_t>(begin_);
    begin_ += static_cast<std::size_t>(count);
    return {first, first + count};
  }
  void CheckEnd() {
    if (begin_ != values_.size()) Next(-1);
  }

 private:
  std::vector<T> values_;
  const char* name_;
  std::size_t begin_ = 0;
};

FactorGraph GraphFrom(const sm_array* cardinality, const sm_array* scope_sizes,
                      const sm_array* scopes, const sm_array* table_sizes, const sm_array* tables) {
  FactorGraph graph;
  graph.cardinality = ToVector<std::int32_t>(cardinality, "cardinality");
  const auto scope_size = ToVector<std::int32_t>(scope_sizes, "scope_sizes");
  const auto table_size = ToVector<std::int32_t>(table_sizes, "table_sizes");
  if (scope_size.size() != table_size.size()) {
    throw InvalidInput(
        fmt::format("there are {} tables for {} scopes", table_size.size(), scope_size.size()));
  }
  Runs<std::int32_t> scope(scopes, "scopes");
  Runs<double> table(tables, "tables");
  for (std::size_t f = 0; f < scope_size.size(); ++f)
    graph.factors.push_back({scope.Next(scope_size[f]), table.Next(table_size[f])});
  scope.CheckEnd();
  table.CheckEnd();
  Validate(graph);
  return graph;
}

struct Kernels {
  std::vector<int> size;  // (width, height) or (width, height, depth)
  std::span<const sm_array> arrays;

  GaussianKernel Make(Options* options) const {
    std::string type;
    options->Read("type", &type);
    GaussianKernel kernel = type == "stored" ? Stored(options) : Built(type, options);
    options->CheckEmpty();
    return kernel;
  }

 private:
  const sm_array* Values(Options* options, const char* name) const {
    int number = -1;
    options->Read(name, &number);
    return ArrayAt(arrays, static_cast<std::size_t>(number));
  }

  bool ReadScale(Options* options, GaussianKernel* kernel) const {
    std::optional<int> scale;
    options->Read("scale", &scale);
    if (!scale) return false;
    kernel->scale = ToVector<double>(ArrayAt(arrays, static_cast<std::size_t>(*scale)), "scale");
    return true;
  }

  GaussianKernel Built(const std::string& type, Options* options) const {
    std::vector<double> sigma;
    options->Read("sigma", &sigma);
    double weight = 1.0;
    options->Read("weight", &weight);
    bool normalised = false;
    options->Read("normalised", &normalised);
    GaussianKernel kernel;
    if (type == "features") {
      std::string name = "features";
      options->Read("name", &name);
      kernel = FeatureKernel(ToMatrix<double>(Values(options, "values"), "the features"), sigma,
                             weight, name);
    } else if (type == "position" || type == "bilateral") {
      kernel = type == "position" ? PositionKernel(size, sigma, weight)
                                  : Bilateral(options, sigma, weight);
    } else {
      throw InvalidInput(fmt::format(
          "the type of a kernel is \"{}\", expected position, bilateral, features or stored",
          type));
    }
    if (normalised) kernel.normalisation = KernelNormalisation::kSymmetric;
    if (ReadScale(options, &kernel)) kernel.scale_source = "factors that were given";
    CheckKernel(kernel);
    return kernel;
  }

  // Read as floats where single precision holds the values without rounding.
  GaussianKernel Bilateral(Options* options, const std::vector<double>& sigma,
                           double weight) const {
    std::vector<double> colour;
    options->Read("colour_sigma", &colour);
    const sm_array& picture = Checked(Values(options, "values"), "the picture");
    const bool narrow = picture.dtype == SM_FLOAT32 || picture.dtype == SM_INT8 ||
                        picture.dtype == SM_INT16 || picture.dtype == SM_UINT8 ||
                        picture.dtype == SM_UINT16;
    return narrow ? Bilateral<float>(picture, sigma, colour, weight)
                  : Bilateral<double>(picture, sigma, colour, weight);
  }
  template <class T>
  GaussianKernel Bilateral(const sm_array& picture, const std::vector<double>& sigma,
                           const std::vector<double>& colour, double weight) const {
    const auto values = ToVector<T>(&picture, "the picture");
    const int channels = picture.ndim == 0 ? 1 : static_cast<int>(picture.shape[picture.ndim - 1]);
    return BilateralKernel(size, channels, std::span<const T>(values), sigma, colour, weight);
  }

  GaussianKernel Stored(Options* options) const {
    GaussianKernel kernel;
    options->Read("name", &kernel.name);
    options->Read("weight", &kernel.weight);
    kernel.features = ToMatrix<double>(Values(options, "values"), "the features");
    ReadScale(options, &kernel);
    int normalisation = 0;
    options->Read("normalisation", &normalisation);
    if (normalisation < 0 || normalisation > static_cast<int>(KernelNormalisation::kAfter))
      throw InvalidInput(
          fmt::format("the normalisation of a kernel is {}, expected 0 to 3", normalisation));
    kernel.normalisation = static_cast<KernelNormalisation>(normalisation);
    options->Read("scale_error", &kernel.scale_error);
    options->Read("scale_source", &kernel.scale_source);
    options->Read("feature_error", &kernel.feature_error);
    CheckKernel(kernel);
    return kernel;
  }
};

DenseCrf DenseFrom(const sm_array* unary, const char* text, std::span<const sm_array> arrays,
                   const LabelSpace& labels) {
  Options options(text);
  Kernels kernels = {.size = {}, .arrays = arrays};
  options.Read("size", &kernels.size);
  bool ordered = false;
  options.Read("ordered", &ordered);
  double constant = 0.0;
  options.Read("constant", &constant);
  std::vector<GaussianKernel> made;
  for (Options& kernel : options.ReadList("kernels")) made.push_back(kernels.Make(&kernel));
  options.CheckEmpty();
  return {ToMatrix<float>(unary, "unary"), std::move(made), labels,
          ordered ? PairCounting::kOrdered : PairCounting::kOnce, constant};
}

// The plain sum, once the verifier has checked that it is a labeling.
double EnergyOf(const SparseObject& object, const std::vector<int>& labels, double /*tolerance*/) {
  EnergyBound(object.model(), labels);
  return object.model().Energy(labels);
}
double EnergyOf(const TablesObject& object, const std::vector<int>& labels, double /*tolerance*/) {
  EnergyBound(object.graph(), labels);
  return Energy(object.graph(), labels);
}
double EnergyOf(const DenseObject& object, const std::vector<int>& labels, double tolerance) {
  return EnergyBound(object.Normalised(), labels, tolerance).value();
}

template <class Object, class Pairs>
double EnergyOf(const CliquesObject<Object, Pairs>& object, const std::vector<int>& labels,
                double tolerance) {
  double energy = EnergyOf(object.pairs(), labels, tolerance);
  for (const Clique& clique : object.cliques())
    energy += clique.Energy(labels, static_cast<std::size_t>(object.pairs().model().num_labels()));
  return energy;
}

struct Lower {
  double bound;
  double loss;
};
// Of SparseCrf, with cliques or without, and of DenseCrf.
template <class Model>
Lower LowerOfSparse(const Model& model, const sm_array* marginals, double temperature) {
  const auto y = ToMatrix<double>(marginals, "the marginals");
  return {LowerBoundAt(model, y, temperature).value(), 0.0};
}
template <class Model>
Lower LowerOfDense(const Model& model, const sm_array* marginals, double temperature,
                   double tolerance) {
  const auto y = ToMatrix<float>(marginals, "the marginals");
  const DenseLowerBound found = LowerBoundAt(model, y, temperature, tolerance);
  return {found.lower.value(), found.loss};
}
Lower LowerOf(const SparseObject& object, const sm_array* marginals, double temperature,
              double /*tolerance*/) {
  return LowerOfSparse(object.model(), marginals, temperature);
}
Lower LowerOf(const SparseCliquesObject& object, const sm_array* marginals, double temperature,
              double /*tolerance*/) {
  return LowerOfSparse(object.model(), marginals, temperature);
}
Lower LowerOf(const TablesObject&, const sm_array*, double, double) {
  throw NotExpressible("bounds of given marginals are for sparse and dense models, not for tables");
}
Lower LowerOf(const DenseObject& object, const sm_array* marginals, double temperature,
              double tolerance) {
  return LowerOfDense(object.Normalised(), marginals, temperature, tolerance);
}
Lower LowerOf(const DenseCliquesObject& object, const sm_array* marginals, double temperature,
              double tolerance) {
  return LowerOfDense(CliqueCrf<DenseCrf>(object.pairs().Normalised(), object.cliques()), marginals,
                      temperature, tolerance);
}

const LabelSpace& LabelsOf(const SparseObject& object) { return object.model().labels(); }
const LabelSpace& LabelsOf(const DenseObject& object) { return object.model().labels(); }
template <class Object, class Pairs>
const LabelSpace& LabelsOf(const CliquesObject<Object, Pairs>& object) {
  return LabelsOf(object.pairs());
}
const LabelSpace& LabelsOf(const TablesObject&) {
  throw NotExpressible("a model of tables has no label space");
}

// Beside those that the model has.
template <class Made, class Pairs>
std::unique_ptr<sm_object> WithCliques(const Pairs& pairs, std::vector<Clique> before,
                                       std::vector<Clique> more) {
  CheckCliques(more, pairs.num_variables());  // numbered as they were given
  before.insert(before.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
  return std::make_unique<Made>(CliqueCrf<Pairs>(pairs, std::move(before)));
}
std::unique_ptr<sm_object> Added(const SparseObject& object, std::vector<Clique> cliques) {
  return WithCliques<SparseCliquesObject>(object.model(), {}, std::move(cliques));
}
std::unique_ptr<sm_object> Added(const DenseObject& object, std::vector<Clique> cliques) {
  return WithCliques<DenseCliquesObject>(object.model(), {}, std::move(cliques));
}
template <class Object, class Pairs>
std::unique_ptr<sm_object> Added(const CliquesObject<Object, Pairs>& object,
                                 std::vector<Clique> cliques) {
  return WithCliques<CliquesObject<Object, Pairs>>(object.pairs().model(), object.cliques(),
                                                   std::move(cliques));
}
std::unique_ptr<sm_object> Added(const TablesObject&, const std::vector<Clique>&) {
  throw NotExpressible("cliques are for sparse and dense models; tables may have any factors");
}

std::vector<Clique> CliquesFrom(const sm_array* members, const sm_array* sizes,
                                const sm_array* gamma, const sm_array* truncation,
                                const sm_array* weights) {
  Runs<std::int32_t> member(members, "members");
  std::optional<Runs<double>> weight;
  if (weights != nullptr) weight.emplace(weights, "weights");
  const auto size = ToVector<std::int32_t>(sizes, "sizes");
  const auto most = ToVector<double>(gamma, "gamma");
  const auto share = ToVector<double>(truncation, "truncation");
  if (most.size() != size.size() || share.size() != size.size()) {
    throw InvalidInput(fmt::format("there are {} gammas and {} truncations for {} cliques",
                                   most.size(), share.size(), size.size()));
  }
  std::vector<Clique> cliques;
  for (std::size_t c = 0; c < size.size(); ++c) {
    cliques.push_back({member.Next(size[c]), weight ? weight->Next(size[c]) : std::vector<double>(),
                       most[c], share[c]});
  }
  member.CheckEnd();
  if (weight) weight->CheckEnd();
  return cliques;
}

// One field of every edge.
template <class T>
sm_array FieldOf(std::span<const Edge> edges, const T Edge::*field) {
  static const Edge kNone;
  const Edge& first = edges.empty() ? kNone : edges.front();
  return ViewOf(&(first.*field), {edges.size()}, {sizeof(Edge)});
}

}  // namespace

NoMetric NoMetricNamed(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, NoMetric>, 3> kWays = {
      {{"refuse", NoMetric::kRefuse},
       {"repair", NoMetric::kRepair},
       {"compatibility", NoMetric::kKeep}}};
  std::vector<std::string_view> names;
  for (const auto& [known, way] : kWays) {
    if (known == name) return way;
    names.push_back(known);
  }
  RefuseName(name, names, "no_metric");
}

Json LabelsObject::Description() const {
  Json composite = Json::array();
  for (int c = space_.num_labels(); c < space_.cuts->num_cuts(); ++c)
    composite.push_back(space_.cuts->set(c));
  Json metrics = Json::array();
  for (const LabelMetric& metric : space_.metrics) {
    metrics.push_back({{"name", metric.name},
                       {"length", metric.length},
                       {"distortion", NumberJson(metric.distortion)}});
  }
  Json groups = Json::array();
  for (const LabelGroup& group : space_.groups)
    groups.push_back({{"name", group.name}, {"labels", group.labels}, {"parent", group.parent}});
  return {{"kind", "labels"},        {"num_labels", space_.num_labels()},
          {"exact", space_.exact()}, {"warnings", warnings_},
          {"composite", composite},  {"metrics", metrics},
          {"names", space_.names},   {"groups", groups}};
}

sm_array LabelsObject::View(std::string_view name, std::size_t index) const {
  if (name == "distance" && index < space_.metrics.size())
    return ViewOf(space_.metrics[index].distance);
  return sm_object::View(name, index);
}

Json ModelObject::Description() const {
  Json description = Facts();
  if (file_) {
    description["width"] = file_->width;
    description["height"] = file_->height;
    description["depth"] = file_->depth;
    description["warnings"] = file_->warnings;
  }
  return description;
}

Json SparseObject::Facts() const {
  return {{"kind", "sparse"},
          {"num_variables", model_.num_variables()},
          {"num_labels", model_.num_labels()},
          {"constant", NumberJson(model_.constant())},
          {"description", model_.Description()}};
}

sm_array SparseObject::View(std::string_view name, std::size_t index) const {
  if (index == 0 && name == "unary") return ViewOf(model_.unary());
  const std::span<const Edge> edges(model_.edges());
  if (index == 0 && name == "weights") return FieldOf(edges, &Edge::weight);
  if (index == 0 && name == "metrics") return FieldOf(edges, &Edge::metric);
  if (index == 0 && name == "edges") {
    static_assert(offsetof(Edge, b) == offsetof(Edge, a) + sizeof(int));
    sm_array view = FieldOf(edges, &Edge::a);
    view.ndim = 2;
    view.shape[1] = 2;
    view.strides[1] = sizeof(int);
    return view;
  }
  return sm_object::View(name, index);
}

Json TablesObject::Facts() const {
  return {{"kind", "tables"},
          {"num_variables", graph_.cardinality.size()},
          {"num_factors", graph_.factors.size()},
          {"description", fmt::format("factor graph, {} variables, {} factors",
                                      graph_.cardinality.size(), graph_.factors.size())}};
}

sm_array TablesObject::View(std::string_view name, std::size_t index) const {
  if (name == "cardinality" && index == 0)
    return ViewOf(graph_.cardinality.data(), {graph_.cardinality.size()});
  if (index < graph_.factors.size()) {
    const Factor& factor = graph_.factors[index];
    if (name == "scope") return ViewOf(factor.scope.data(), {factor.scope.size()});
    if (name == "table") return ViewOf(factor.energy.data(), {factor.energy.size()});
  }
  return sm_object::View(name, index);
}

const DenseCrf& DenseObject::Normalised() const {
  std::call_once(once_, [&] { normalised_.emplace(WithExactNormalisation(model_)); });
  return *normalised_;
}

Json DenseObject::Facts() const {
  Json kernels = Json::array();
  for (const GaussianKernel& kernel : model_.kernels()) {
    kernels.push_back({{"name", kernel.name},
                       {"weight", NumberJson(kernel.weight)},
                       {"normalisation", static_cast<int>(kernel.normalisation)},
                       {"scaled", !kernel.scale.empty()},
                       {"scale_error", NumberJson(kernel.scale_error)},
                       {"scale_source", kernel.scale_source},
                       {"feature_error", NumberJson(kernel.feature_error)}});
  }
  return {{"kind", "dense"},
          {"num_variables", model_.num_variables()},
          {"num_labels", model_.num_labels()},
          {"constant", NumberJson(model_.constant())},
          {"ordered", model_.counting() == PairCounting::kOrdered},
          {"kernels", kernels},
          {"description", model_.Description()}};
}

sm_array DenseObject::View(std::string_view name, std::size_t index) const {
  if (index == 0 && name == "unary") return ViewOf(model_.unary());
  if (index < model_.kernels().size()) {
    const GaussianKernel& kernel = model_.kernels()[index];
    if (name == "features") return ViewOf(kernel.features);
    if (name == "scale") return ViewOf(kernel.scale.data(), {kernel.scale.size()});
  }
  return sm_object::View(name, index);
}

}  // namespace submarine::c_api

using namespace submarine;         // NOLINT(google-build-using-namespace)
using namespace submarine::c_api;  // NOLINT(google-build-using-namespace)

sm_status sm_labels_from_spec(const char* spec, int num_labels, const char* directory,
                              sm_object** labels) {
  return Made(labels, [&] {
    std::vector<std::string> warnings;
    LabelSpace space = ParseMetricSpec(Text(spec, "the metric"), num_labels, false, &warnings,
                                       directory == nullptr ? "" : directory);
    return std::make_unique<LabelsObject>(std::move(space), std::move(warnings));
  });
}

sm_status sm_labels_from_tables(const sm_array* tables, size_t num_tables, const char* description,
                                sm_object** labels) {
  return Made(labels, [&] {
    std::vector<Matrix<double>> distances;
    for (std::size_t m = 0; m < num_tables; ++m)
      distances.push_back(ToMatrix<double>(&Given(tables, "the tables") + m, "a table"));
    const Json facts =
        description == nullptr ? Json::object() : Json::parse(description, nullptr, false);
    if (!facts.is_object() || (!facts.empty() && !facts.contains("no_metric")))
      return std::make_unique<LabelsObject>(LabelsFrom(std::move(distances), facts));
    if (num_tables != 1) return std::make_unique<LabelsObject>(FitMetrics(distances));
    Options options(facts);
    std::string no_metric = "refuse";
    options.Read("no_metric", &no_metric);
    options.CheckEmpty();
    return std::make_unique<LabelsObject>(MetricLabels(distances[0], NoMetricNamed(no_metric)));
  });
}

sm_status sm_labels_of(const sm_object* model, sm_object** labels) {
  return Made(labels, [&] {
    std::unique_ptr<LabelsObject> found;
    WithModel(model, [&](const auto& object) {
      found = std::make_unique<LabelsObject>(LabelsOf(object));
    });
    return found;
  });
}

sm_status sm_sparse_model(const sm_array* unary, const sm_array* edges, const sm_array* weights,
                          const sm_array* metrics, const sm_object* labels, double constant,
                          sm_object** model) {
  return Made(model, [&] {
    return std::make_unique<SparseObject>(
        SparseCrf(ToMatrix<double>(unary, "unary"), ToEdges(edges, weights, metrics),
                  As<LabelsObject>(labels, "the label space").space(), constant));
  });
}

sm_status sm_factor_graph(const sm_array* cardinality, const sm_array* scope_sizes,
                          const sm_array* scopes, const sm_array* table_sizes,
                          const sm_array* tables, sm_object** model) {
  return Made(model, [&] {
    return std::make_unique<TablesObject>(
        GraphFrom(cardinality, scope_sizes, scopes, table_sizes, tables));
  });
}

sm_status sm_dense_model(const sm_array* unary, const char* options, const sm_array* arrays,
                         size_t num_arrays, const sm_object* labels, sm_object** model) {
  return Made(model, [&] {
    return std::make_unique<DenseObject>(DenseFrom(
        unary, options, {arrays, num_arrays}, As<LabelsObject>(labels, "the label space").space()));
  });
}

sm_status sm_add_cliques(const sm_object* model, const sm_array* members, const sm_array* sizes,
                         const sm_array* gamma, const sm_array* truncation, const sm_array* weights,
                         sm_object** with) {
  return Made(with, [&] {
    std::unique_ptr<sm_object> made;
    WithModel(model, [&](const auto& object) {
      made = Added(object, CliquesFrom(members, sizes, gamma, truncation, weights));
    });
    return made;
  });
}

sm_status sm_energy(const sm_object* model, const sm_array* labeling, double tolerance,
                    double* energy) {
  return Guarded([&] {
    Given(energy, "the place for the energy");
    const std::vector<int> labels = ToVector<std::int32_t>(labeling, "the labeling");
    WithModel(model, [&](const auto& object) { *energy = EnergyOf(object, labels, tolerance); });
  });
}

sm_status sm_lower_share(const sm_object* model, const sm_array* marginals, const sm_array* own,
                         double temperature, double tolerance, int threads, double* lower,
                         double* loss) {
  return Guarded([&] {
    Given(lower, "the place for the share");
    const internal::ThreadLimit limit(threads);
    const DenseObject& object = As<DenseObject>(model, "the dense model");
    const auto y = ToMatrix<float>(marginals, "the marginals");
    const auto marked = ToVector<std::uint8_t>(own, "own");
    const DenseLowerShare found =
        LowerShareAt(object.Normalised(), y, marked, temperature, tolerance);
    *lower = found.lower;
    if (loss != nullptr) *loss = found.loss;
  });
}

sm_status sm_cut_pairs(const sm_object* model, const sm_array* potentials, const sm_array* own,
                       const sm_array* cutoffs, int threads, sm_object** sums) {
  return Made(sums, [&] {
    const internal::ThreadLimit limit(threads);
    const DenseObject& object = As<DenseObject>(model, "the dense model");
    const DenseCutPairs found =
        CutPairsAt(object.Normalised(), ToMatrix<float>(potentials, "the potentials"),
                   ToVector<std::uint8_t>(own, "own"), ToVector<double>(cutoffs, "the cutoffs"));
    const std::size_t labels = found.sums.cols();
    Matrix<double> rows(found.sums.rows(), labels + 2);
    for (std::size_t a = 0; a < rows.rows(); ++a) {
      std::copy_n(found.sums.row(a).data(), labels, rows.row(a).data());
      rows(a, labels) = found.weights[a];
      rows(a, labels + 1) = found.errors[a];
    }
    return ValuesOf(std::move(rows));
  });
}

sm_status sm_lower_bound(const sm_object* model, const sm_array* marginals, double temperature,
                         double tolerance, double* lower, double* loss) {
  return Guarded([&] {
    Given(lower, "the place for the bound");
    WithModel(model, [&](const auto& object) {
      const Lower found = LowerOf(object, marginals, temperature, tolerance);
      *lower = found.bound;
      if (loss != nullptr) *loss = found.loss;
    });
  });
}
