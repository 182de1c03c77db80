/* graph/ops/fused.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_fused.h"

FAMILY_MAIN(cases_fused)
