// The table of methods by name, which the command line, error messages and documentation use.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace submarine {

enum class Method {
  kAuto,
  kPdhg,
  kQuadratic,
  kFrankWolfe,
  kBlockFrankWolfe,
  kTrw,
  kHybrid,
  kRouted,
  kMeanField,
  kExact
};

enum class ModelKind { kSparse, kTables, kDense };  // SparseCrf, FactorGraph, DenseCrf

struct MethodInfo {
  Method method;
  std::string_view name;
  bool sparse;
  bool tables;  // of at most two variables, with or without a submodular extension
  bool dense;
  std::string_view help;  // one line

  bool Accepts(ModelKind kind) const;
};

std::span<const MethodInfo> Methods();
const MethodInfo& InfoOf(Method method);
std::string_view ToString(Method method);

// Throws InvalidInput, naming the methods that do, unless the method accepts models of this kind.
void RequireAccepted(Method method, ModelKind kind);

// "auto: ...; pdhg: ..." for the methods that accept models of the kind, or any of them.
std::string MethodHelp();
std::string MethodHelp(ModelKind kind);

}  // namespace submarine
