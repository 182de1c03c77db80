/* graph/ops/lookup.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_lookup.h"

FAMILY_MAIN(cases_lookup)
