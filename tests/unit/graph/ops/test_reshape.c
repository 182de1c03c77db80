/* graph/ops/reshape.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_reshape.h"

FAMILY_MAIN(cases_reshape)
