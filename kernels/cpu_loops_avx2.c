/* The loops of the CPU backend for AVX2; CMake compiles this file with -mavx2 if the compiler has
 * it. */
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
