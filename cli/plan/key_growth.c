#include "cli/plan/key_growth.h"

#include <assert.h>
#include <math.h>

#include "common/base/minmax.h"

/* The factor of keys that are all used equally often; no keys fall short faster. */
static const double FACTOR_MOST = 2;

/* The exponent of the growth between two marks. */
static double exponent(uint64_t before, uint64_t after)
{
    assert(after >= before);
    return before > 0 ? log2((double)after / (double)before) : 0;
}

/* The sum of the exponents of `doublings` after one whose exponent falls short of 1 by `shortfall`,
 * which grows by `factor` with each. */
static double sum_of(double shortfall, double factor, double doublings)
{
    double sum = 0;
    for (; doublings > 0 && shortfall < 1; doublings--) {
        shortfall = double_min(shortfall * factor, 1);
        sum += (1 - shortfall) * double_min(doublings, 1);
    }
    return sum;
}

uint64_t key_growth_at(const struct key_growth *growth, uint64_t examples)
{
    const uint64_t all = growth->distinct[2];
    if (all == 0 || examples == 0) { return 0; }
    assert(growth->examples > 0);
    const double doublings = log2((double)examples / (double)growth->examples);
    const double former = exponent(growth->distinct[0], growth->distinct[1]);
    const double last = exponent(growth->distinct[1], all);
    const double factor =
        former > last && former < 1 ? double_min((1 - last) / (1 - former), FACTOR_MOST) : 1;
    const double sum = doublings > 0 ? sum_of(1 - last, factor, doublings) : last * doublings;
    return (uint64_t)double_min(ceil((double)all * exp2(sum)), (double)(UINT64_MAX / 4));
}
