/* kernels/cpu.h: what the files of the CPU backend share. Private to kernels/. */
#ifndef KERNELS_CPU_H
#define KERNELS_CPU_H

#include "kernels/kernels.h"

void cpu_fingerprint(char *text, size_t size);
void cpu_multiply(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, const float *a,
                  const float *b, float *out);

/* The same loops (cpu_loops.inc) compiled for the build's baseline processor and for AVX2, without
 * fused multiply-add: the bits are the same. Linked always; NULL where the compiler has no AVX2. */
const struct kernels *cpu_loops_baseline(void);
const struct kernels *cpu_loops_avx2(void);

#endif
