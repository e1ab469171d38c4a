#include "submarine/solve/registry.h"

#include <algorithm>
#include <array>

namespace submarine::internal {
namespace {

// On sparse models, `auto` has been replaced by another method here, unless there is no time for
// any.
constexpr std::array<MethodSolvers, 10> kSolvers = {{
    {Method::kAuto, SparseByUnaries, TablesByTrw, DenseByAuto},
    {Method::kPdhg, SparseByPdhg, nullptr, DenseByPdhg},
    {Method::kQuadratic, nullptr, nullptr, DenseByQuadratic},
    {Method::kFrankWolfe, SparseByFrankWolfe, nullptr, DenseByFrankWolfe},
    {Method::kBlockFrankWolfe, SparseByBlockFrankWolfe, nullptr, nullptr},
    {Method::kTrw, SparseByTrw, TablesByTrw, nullptr},
    {Method::kHybrid, SparseByHybrid, nullptr, nullptr},
    {Method::kRouted, SparseByHybrid, nullptr, DenseByRouting},
    {Method::kMeanField, SparseByMeanField, nullptr, DenseByMeanField},
    {Method::kExact, SparseExactly, TablesExactly, DenseExactly},
}};

}  // namespace

const MethodSolvers& SolversOf(Method method) {
  return *std::find_if(kSolvers.begin(), kSolvers.end(),
                       [&](const MethodSolvers& solvers) { return solvers.method == method; });
}

}  // namespace submarine::internal
