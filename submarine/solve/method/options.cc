#include "submarine/solve/method/options.h"

#include <array>
#include <string_view>
#include <utility>

namespace submarine {

template <>
NameTable<Certify> Names() {
  static constexpr std::array<std::pair<std::string_view, Certify>, 5> kNames = {
      {{"auto", Certify::kAuto},
       {"exact", Certify::kExact},
       {"operator", Certify::kOperator},
       {"lower", Certify::kLower},
       {"none", Certify::kNone}}};
  return kNames;
}

template <>
NameTable<DenseMarginals> Names() {
  static constexpr std::array<std::pair<std::string_view, DenseMarginals>, 4> kNames = {
      {{"upper-bound", DenseMarginals::kUpperBound},
       {"mean-field", DenseMarginals::kMeanField},
       {"mean", DenseMarginals::kMean},
       {"routed", DenseMarginals::kRouted}}};
  return kNames;
}

SolveOptions MeanFieldPreset(int updates) {
  SolveOptions options{.method = Method::kMeanField};
  options.dense.pairs.kind = OperatorKind::kLattice;
  options.dense.updates = updates;
  options.dense.certify = Certify::kLower;
  options.dense.marginals = DenseMarginals::kMeanField;
  return options;
}

}  // namespace submarine
