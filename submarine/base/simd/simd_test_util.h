// Runs SIMD kernels once for every instruction set that this CPU has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>
#include <functional>

namespace submarine::internal::testing {

inline void ForTarget(std::int64_t target, const std::function<void()>& body) {
  SCOPED_TRACE(hwy::TargetName(target));
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  body();
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

// Once for every instruction set that the CPU has and the kernels are compiled for.
inline void ForEachTarget(const std::function<void()>& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) ForTarget(target, body);
}

}  // namespace submarine::internal::testing
