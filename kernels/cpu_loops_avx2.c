/* The CPU backend's loops for AVX2; CMake gives this file -mavx2 where the compiler knows it. */
#if defined(__AVX2__)
#define CPU_LOOPS cpu_loops_avx2
#include "kernels/cpu_loops.inc"
#else
#include "kernels/cpu.h"

const struct kernels *cpu_loops_avx2(void)
{
    return NULL;
}
#endif
