// The methods, and which models each of them accepts (Methods() of solve/solve.h).
#pragma once

#include <string_view>

namespace submarine {

enum class Method {
  kAuto,
  kPdhg,
  kFrankWolfe,
  kTrw,
  kRouted,
  kMeanField,
  kExact  // stays the last one: kNumMethods counts them
};
inline constexpr int kNumMethods = static_cast<int>(Method::kExact) + 1;

enum class ModelKind { kSparse, kTables, kDense };  // SparseCrf, FactorGraph, DenseCrf

std::string_view ToString(Method method);

struct MethodInfo {
  Method method;
  std::string_view name;
  std::string_view help;  // one line
  bool sparse;
  bool tables;  // of at most two variables, with or without a submodular extension
  bool dense;

  bool Accepts(ModelKind kind) const;
};

}  // namespace submarine
