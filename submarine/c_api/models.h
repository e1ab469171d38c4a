// Label spaces and models behind their handles: immutable, shared by whoever uses them.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "submarine/c_api/object.h"
#include "submarine/labels/metric_fit.h"
#include "submarine/model/clique.h"
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

// A sparse or dense model with cliques beside its pairs: described and viewed like that of the pairs, but of a class of its
// own, so that nothing made for pairs takes it for one.
template <class Object, class Pairs>
class CliquesObject final : public ModelObject {
 public:
  explicit CliquesObject(const CliqueCrf<Pairs>& model)
      : pairs_(model.pairs()), cliques_(model.cliques()), text_(model.Description()) {
    for (const Clique& clique : cliques_) {
      members_.insert(members_.end(), clique.members.begin(), clique.members.end());
      sizes_.push_back(static_cast<std::int32_t>(clique.members.size()));
      gamma_.push_back(clique.gamma);
      truncation_.push_back(clique.truncation);
      for (std::size_t k = 0; k < clique.members.size(); ++k) weights_.push_back(clique.weight(k));
    }
  }
  const Object& pairs() const { return pairs_; }
  const std::vector<Clique>& cliques() const { return cliques_; }
  CliqueCrf<Pairs> model() const { return {pairs_.model(), cliques_}; }
  sm_array View(std::string_view name, std::size_t index) const override {
    if (index == 0 && name == "clique_members") return ViewOf(members_.data(), {members_.size()});
    if (index == 0 && name == "clique_sizes") return ViewOf(sizes_.data(), {sizes_.size()});
    if (index == 0 && name == "clique_gamma") return ViewOf(gamma_.data(), {gamma_.size()});
    if (index == 0 && name == "clique_truncation")
      return ViewOf(truncation_.data(), {truncation_.size()});
    if (index == 0 && name == "clique_weights") return ViewOf(weights_.data(), {weights_.size()});
    return pairs_.View(name, index);
  }

 private:
  Json Facts() const override {
    Json facts = pairs_.Description();
    facts["num_cliques"] = cliques_.size();
    facts["description"] = text_;
    return facts;
  }
  Object pairs_;
  std::vector<Clique> cliques_;
  std::string text_;
  std::vector<std::int32_t> members_, sizes_;
  std::vector<double> gamma_, truncation_, weights_;
};
using SparseCliquesObject = CliquesObject<SparseObject, SparseCrf>;
using DenseCliquesObject = CliquesObject<DenseObject, DenseCrf>;

// Calls visit(SparseObject, TablesObject, DenseObject, SparseCliquesObject or DenseCliquesObject).
template <class Visit>
void WithModel(const sm_object* object, const Visit& visit) {
  const auto& model = As<ModelObject>(object, "the model");
  if (const auto* sparse = dynamic_cast<const SparseObject*>(&model)) return visit(*sparse);
  if (const auto* tables = dynamic_cast<const TablesObject*>(&model)) return visit(*tables);
  if (const auto* both = dynamic_cast<const SparseCliquesObject*>(&model)) return visit(*both);
  if (const auto* both = dynamic_cast<const DenseCliquesObject*>(&model)) return visit(*both);
  visit(dynamic_cast<const DenseObject&>(model));
}

}  // namespace submarine::c_api
