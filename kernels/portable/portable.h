/*
 * kernels/portable/portable.h: kernels with the same bits on every processor, as a table of
 * families per class of processors: scalar (plain C, any processor), avx2 (AVX2 and FMA), avx512
 * (AVX-512 F, BW, DQ, VL) and neon (AArch64).
 *
 * Equal bits: for equal inputs and sizes, every function of every class returns the same bits,
 * whatever compiler built it. Only the sign and payload of a NaN may differ. Each family's header
 * defines the order of its sums; nothing depends on alignment, threads or time.
 *
 * Threads: any, each on its own memory. Nothing blocks, fails or allocates after portable_open().
 * Arrays that start on a 64-byte boundary are faster; results do not depend on it.
 */
#ifndef KERNELS_PORTABLE_PORTABLE_H
#define KERNELS_PORTABLE_PORTABLE_H

#include "common/base/error.h"
#include "kernels/portable/depthwise.h"
#include "kernels/portable/dropout.h"
#include "kernels/portable/elementwise.h"
#include "kernels/portable/normalize.h"
#include "kernels/portable/pool.h"
#include "kernels/portable/product.h"
#include "kernels/portable/reduce.h"
#include "kernels/portable/softmax.h"

/* The environment variable that names a class; "auto" or unset: the fastest. */
#define PORTABLE_VARIABLE "TANIST_ISA"

/* Part of the fingerprint of a run: raised by every change of any kernel's bits. */
enum { PORTABLE_VERSION = 2 };

struct portable {
    const char *name;
    const struct product_kernels *product;
    const struct elementwise_kernels *elementwise;
    const struct reduce_kernels *reduce;
    const struct softmax_kernels *softmax;
    const struct normalize_kernels *normalize;
    const struct dropout_kernels *dropout;
    const struct pool_kernels *pool;
    const struct depthwise_kernels *depthwise;
};

/*
 * The kernels of class `name`, in static storage. NULL: the class that PORTABLE_VARIABLE names, or
 * the fastest that this processor has.
 *
 *   TN_EINVAL   no class has this name
 *   TN_ENOTSUP  this processor does not have it, or this build does not contain it
 */
MUST_CHECK enum tn_status portable_open(const char *name, const struct portable **out,
                                        struct error *error);

/* The classes, for tables of them; avx2 and avx512 exist on x86-64 only, neon on AArch64. A program
 * chooses one by portable_open(). */
extern const struct portable portable_scalar, portable_avx2, portable_avx512, portable_neon;

/* The fastest class that this processor has: never NULL. */
const struct portable *portable_fastest(void);

#endif
