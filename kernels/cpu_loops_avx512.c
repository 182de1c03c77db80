/* The loops of the CPU backend for AVX-512; CMake compiles this file with -mavx512f for x86-64. */
#if defined(__AVX512F__)
#define CPU_LOOPS cpu_loops_avx512
#include "kernels/cpu_loops.inc"
#else
#include "kernels/cpu.h"

const struct kernels *cpu_loops_avx512(void)
{
    return NULL;
}
#endif
