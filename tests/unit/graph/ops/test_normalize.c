/* graph/ops/normalize.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_normalize.h"

FAMILY_MAIN(cases_normalize)
