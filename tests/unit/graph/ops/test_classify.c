/* graph/ops/classify.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_classify.h"

FAMILY_MAIN(cases_classify)
