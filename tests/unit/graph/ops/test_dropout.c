/* graph/ops/dropout.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_dropout.h"

FAMILY_MAIN(cases_dropout)
