/* graph/ops/softmax.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_softmax.h"

FAMILY_MAIN(cases_softmax)
