/* graph/ops/arrange.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_arrange.h"

FAMILY_MAIN(cases_arrange)
