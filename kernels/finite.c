#include "kernels/finite.h"

#include "kernels/kernels.h"

bool all_finite(const float *values, size_t count)
{
    return kernels_cpu()->all_finite(count, values);
}
