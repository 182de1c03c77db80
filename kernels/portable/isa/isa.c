#include "kernels/portable/isa/isa.h"

#include "kernels/portable/isa/families.h"

const struct portable ISA(portable) = {
    .name = ISA_NAME,
    .product = &ISA(product_kernels),
    .elementwise = &ISA(elementwise_kernels),
    .reduce = &ISA(reduce_kernels),
    .softmax = &ISA(softmax_kernels),
    .normalize = &ISA(normalize_kernels),
    .dropout = &ISA(dropout_kernels),
    .pool = &ISA(pool_kernels),
    .depthwise = &ISA(depthwise_kernels),
};
