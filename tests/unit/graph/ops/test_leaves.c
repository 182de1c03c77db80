/* graph/ops/leaves.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_leaves.h"

FAMILY_MAIN(cases_leaves)
