/* graph/ops/reduce.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_reduce.h"

FAMILY_MAIN(cases_reduce)
