#include "submarine/solve/method/method.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "submarine/base/error.h"

namespace submarine {
namespace {

constexpr std::array<MethodInfo, 10> kMethods = {{
    {Method::kAuto, "auto", true, true, true,
     "chosen by the model: exact where that is cheap, otherwise the tightest bound within the "
     "limits"},
    {Method::kPdhg, "pdhg", true, false, true,
     "the submodular bound, to a certified optimality gap"},
    {Method::kQuadratic, "quadratic", false, false, true,
     "a cheaper and looser submodular bound (dense models)"},
    {Method::kFrankWolfe, "fw", true, false, true, "Frank-Wolfe, the published algorithm"},
    {Method::kBlockFrankWolfe, "bcfw", true, false, false,
     "block-coordinate Frank-Wolfe (sparse models)"},
    {Method::kTrw, "trw", true, true, false,
     "tree-reweighted bound (sparse models and any tables of pairs)"},
    {Method::kHybrid, "hybrid", true, false, false,
     "exact along a forest, submodular elsewhere (sparse models)"},
    {Method::kRouted, "routed", true, false, true,
     "exact along a forest that pairs are routed to, submodular elsewhere (dense models with weak "
     "unaries; sparse ones with triangles)"},
    {Method::kMeanField, "mf", true, false, true, "mean field: a lower bound only"},
    {Method::kExact, "exact", true, true, true, "variable elimination (small or tree-like models)"},
}};

std::string_view KindName(ModelKind kind) {
  switch (kind) {
    case ModelKind::kSparse:
      return "sparse models";
    case ModelKind::kTables:
      return "tables without a submodular extension";
    case ModelKind::kDense:
      return "dense models";
  }
  return "unknown";
}

template <class Accepts>
std::string HelpOf(const Accepts& accepts) {
  std::string text;
  for (const MethodInfo& info : kMethods) {
    if (accepts(info))
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", info.name, info.help);
  }
  return text;
}

}  // namespace

bool MethodInfo::Accepts(ModelKind kind) const {
  return kind == ModelKind::kSparse ? sparse : kind == ModelKind::kTables ? tables : dense;
}

std::span<const MethodInfo> Methods() { return kMethods; }

const MethodInfo& InfoOf(Method method) {
  return *std::find_if(kMethods.begin(), kMethods.end(),
                       [&](const MethodInfo& info) { return info.method == method; });
}

std::string_view ToString(Method method) { return InfoOf(method).name; }

void RequireAccepted(Method method, ModelKind kind) {
  if (InfoOf(method).Accepts(kind)) return;
  std::vector<std::string_view> names;
  for (const MethodInfo& info : kMethods) {
    if (info.Accepts(kind)) names.push_back(info.name);
  }
  throw InvalidInput(fmt::format("the method {} is not for {}; use {}", ToString(method),
                                 KindName(kind), fmt::join(names, ", ")));
}

std::string MethodHelp() {
  return HelpOf([](const MethodInfo&) { return true; });
}

std::string MethodHelp(ModelKind kind) {
  return HelpOf([&](const MethodInfo& info) { return info.Accepts(kind); });
}

}  // namespace submarine
