/* graph/ops/gather.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_gather.h"

FAMILY_MAIN(cases_gather)
