#pragma once

// For plain loops over doubles: compiles them again for wider registers, chosen at run time, where
// the compiler supports that. No fused operations, so that the results are the same; processors
// with the widest registers have them, and files with such loops are compiled with
// -ffp-contract=off.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SUBMARINE_FOR_WIDE_REGISTERS __attribute__((target_clones("avx2", "default")))
#define SUBMARINE_FOR_WIDEST_REGISTERS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SUBMARINE_FOR_WIDE_REGISTERS
#define SUBMARINE_FOR_WIDEST_REGISTERS
#endif
