/* graph/ops/activation.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_activation.h"

FAMILY_MAIN(cases_activation)
