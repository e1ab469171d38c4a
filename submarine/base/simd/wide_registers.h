#pragma once

// For plain loops over doubles: compiles them a second time for wider registers, chosen at run
// time, where the compiler supports that. No fused operations, so that the results are the same.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SUBMARINE_FOR_WIDE_REGISTERS __attribute__((target_clones("avx2", "default")))
#else
#define SUBMARINE_FOR_WIDE_REGISTERS
#endif
