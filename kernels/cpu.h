/* kernels/cpu.h: the tables of the CPU backend, all of which give the same bits. Private to
 * kernels/ and its tests. */
#ifndef KERNELS_CPU_H
#define KERNELS_CPU_H

#include "kernels/kernels.h"

/* The loops of cpu_loops.inc, compiled for the baseline processor of the build, for AVX2 and for
 * AVX-512, without fused multiply-add. NULL: this build does not contain them. */
const struct kernels *cpu_loops_baseline(void);
const struct kernels *cpu_loops_avx2(void);
const struct kernels *cpu_loops_avx512(void);

#endif
