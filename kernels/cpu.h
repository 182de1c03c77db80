/* kernels/cpu.h: the tables of the CPU backend, all with the same bits. Private to kernels/ and its
 * tests. */
#ifndef KERNELS_CPU_H
#define KERNELS_CPU_H

#include "kernels/kernels.h"

/* The same loops (cpu_loops.inc) compiled for the build's baseline processor and for AVX2, without
 * fused multiply-add. NULL where the compiler has no AVX2. */
const struct kernels *cpu_loops_baseline(void);
const struct kernels *cpu_loops_avx2(void);

#endif
