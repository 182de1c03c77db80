/* graph/ops/regress.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_regress.h"

FAMILY_MAIN(cases_regress)
