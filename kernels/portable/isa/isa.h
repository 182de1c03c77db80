/*
 * kernels/portable/isa/isa.h: the class of processors for which this folder is compiled. CMake
 * compiles every file of the folder once per class and defines PORTABLE_ISA: scalar, avx2, avx512
 * or neon (and then PORTABLE_NEON, because every compiler for AArch64 has NEON). Kernels of GPUs
 * include math.h with PORTABLE_ONE instead: vectors of one lane. ISA(name) is `name` with the class
 * as its suffix, so that all objects link together.
 */
#ifndef KERNELS_PORTABLE_ISA_ISA_H
#define KERNELS_PORTABLE_ISA_ISA_H

#define ISA_JOIN(name, isa)   name##_##isa
#define ISA_EXPAND(name, isa) ISA_JOIN(name, isa)
#define ISA(name)             ISA_EXPAND(name, PORTABLE_ISA)

#define ISA_TEXT_OF(text) #text
#define ISA_TEXT(text)    ISA_TEXT_OF(text)
#if defined(__CUDACC__)
#define ISA_INLINE static __device__ __forceinline__
#else
#define ISA_INLINE static inline __attribute__((always_inline, unused))
#endif
/* A longer function: inlined only where a vector is a register, else it is compiled once. */
#if defined(__AVX2__) || defined(PORTABLE_NEON) || defined(PORTABLE_ONE)
#define ISA_FUNCTION ISA_INLINE
#else
#define ISA_FUNCTION static __attribute__((noinline, unused))
#endif
#define ISA_NAME ISA_TEXT(PORTABLE_ISA)

/* Unroll a loop with a constant number of iterations, at most 16. */
#if defined(__CUDACC__)
#define ISA_UNROLL _Pragma("unroll")
#elif defined(__clang__)
#define ISA_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ISA_UNROLL _Pragma("GCC unroll 16")
#endif

#endif
