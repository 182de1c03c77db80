#include "kernels/portable/isa/isa.h"

#include "kernels/portable/isa/families.h"

const struct portable ISA(portable) = {
    .name = ISA_NAME,
    .product = &ISA(product_kernels),
};
