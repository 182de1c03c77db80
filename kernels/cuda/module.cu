/*
 * kernels/cuda/module.cu: all kernels as one module, which the program loads at run time
 * (launch.c). Only nvcc compiles it. Each family has a namespace, as their private names are
 * equal; names of kernels are extern "C" and differ.
 */
#include "kernels/cuda/families.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/row.h"
#include "kernels/portable/isa/math.h"
#include "kernels/portable/isa/rules.h"
#include "kernels/portable/power.h"

namespace elementwise
{
#include "kernels/cuda/elementwise.c"
}
#undef GRADIENT

namespace arrange
{
#include "kernels/cuda/arrange.c"
}

namespace update
{
#include "kernels/cuda/update.c"
}

namespace product
{
#include "kernels/cuda/product.c"
}

namespace row
{
#include "kernels/cuda/row.c"
}

namespace pool
{
#include "kernels/cuda/pool.c"
}

namespace normalize
{
#include "kernels/cuda/normalize.c"
}

namespace dropout
{
#include "kernels/cuda/dropout.c"
}

namespace attention
{
#include "kernels/cuda/attention.c"
}

namespace gather
{
#include "kernels/cuda/gather.c"
}

namespace regress
{
#include "kernels/cuda/regress.c"
}
