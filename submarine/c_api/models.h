// Label spaces and models behind their handles: immutable, shared by whoever uses them.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "submarine/c_api/object.h"
#include "submarine/labels/metric_fit.h"
#include "submarine/model/dense_crf.h"
#include "submarine/model/factor_graph.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::c_api {

// "refuse", "repair" or "compatibility".
NoMetric NoMetricNamed(const std::string& name);

class LabelsObject final : public sm_object {
 public:
  explicit LabelsObject(LabelSpace space, std::vector<std::string> warnings = {})
      : space_(std::move(space)), warnings_(std::move(warnings)) {}

  const LabelSpace& space() const { return space_; }
  Json Description() const override;
  sm_array View(std::string_view name, std::size_t index) const override;

 private:
  LabelSpace space_;
  std::vector<std::string> warnings_;
};

// Where a model of a file comes from.
struct FileFacts {
  int width = 0;
  int height = 0;
  int depth = 0;
  std::vector<std::string> warnings = {};
};

class ModelObject : public sm_object {
 public:
  void set_file(FileFacts facts) { file_ = std::move(facts); }
  Json Description() const override;

 protected:
  virtual Json Facts() const = 0;

 private:
  std::optional<FileFacts> file_;
};

class SparseObject final : public ModelObject {
 public:
  explicit SparseObject(SparseCrf model) : model_(std::move(model)) {}
  const SparseCrf& model() const { return model_; }
  sm_array View(std::string_view name, std::size_t index) const override;

 private:
  Json Facts() const override;
  SparseCrf model_;
};

class TablesObject final : public ModelObject {
 public:
  explicit TablesObject(FactorGraph graph) : graph_(std::move(graph)) {}
  const FactorGraph& graph() const { return graph_; }
  sm_array View(std::string_view name, std::size_t index) const override;

 private:
  Json Facts() const override;
  FactorGraph graph_;
};

class DenseObject final : public ModelObject {
 public:
  explicit DenseObject(DenseCrf model) : model_(std::move(model)) {}
  const DenseCrf& model() const { return model_; }
  // With kernels normalised by the row sums of the exact Gaussians, when first needed.
  const DenseCrf& Normalised() const;
  sm_array View(std::string_view name, std::size_t index) const override;

 private:
  Json Facts() const override;
  DenseCrf model_;
  mutable std::once_flag once_;
  mutable std::optional<DenseCrf> normalised_;
};

// Calls visit(SparseObject, TablesObject or DenseObject).
template <class Visit>
void WithModel(const sm_object* object, const Visit& visit) {
  const auto& model = As<ModelObject>(object, "the model");
  if (const auto* sparse = dynamic_cast<const SparseObject*>(&model)) return visit(*sparse);
  if (const auto* tables = dynamic_cast<const TablesObject*>(&model)) return visit(*tables);
  visit(dynamic_cast<const DenseObject&>(model));
}

}  // namespace submarine::c_api
