// Include before Highway. Excludes instruction sets whose vector size is unknown at compile time
// (SVE, RISC-V), because kernels hold vectors in arrays and as members. Such machines use NEON or
// scalar code.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
