/* graph/ops/conv.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_conv.h"

FAMILY_MAIN(cases_conv)
