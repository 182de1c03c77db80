/* graph/ops/unary.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_unary.h"

FAMILY_MAIN(cases_unary)
