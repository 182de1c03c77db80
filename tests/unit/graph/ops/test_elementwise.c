/* graph/ops/elementwise.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_elementwise.h"

FAMILY_MAIN(cases_elementwise)
