/* graph/ops/pool.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_pool.h"

FAMILY_MAIN(cases_pool)
