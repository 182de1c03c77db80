/* kernels/portable/isa/families.h: the tables of this folder, for the class of processors that is
 * compiled. isa.c collects them. */
#ifndef KERNELS_PORTABLE_ISA_FAMILIES_H
#define KERNELS_PORTABLE_ISA_FAMILIES_H

#include "kernels/portable/isa/isa.h"
#include "kernels/portable/portable.h"

extern const struct portable ISA(portable);
extern const struct product_kernels ISA(product_kernels);
extern const struct elementwise_kernels ISA(elementwise_kernels);
extern const struct reduce_kernels ISA(reduce_kernels);
extern const struct softmax_kernels ISA(softmax_kernels);
extern const struct normalize_kernels ISA(normalize_kernels);
extern const struct dropout_kernels ISA(dropout_kernels);
extern const struct pool_kernels ISA(pool_kernels);
extern const struct depthwise_kernels ISA(depthwise_kernels);

#endif
