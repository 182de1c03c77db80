/* graph/ops/attention.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_attention.h"

FAMILY_MAIN(cases_attention)
