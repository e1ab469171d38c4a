// Included before Highway: leaves out the instruction sets whose vectors have no size at compile time (SVE, RISC-V),
// because kernels hold vectors in arrays and as members. On such machines NEON, or the scalar form, is used.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
