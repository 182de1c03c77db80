/* graph/ops/retrieval.c: shapes, gradients, backends and repeated runs of its operations. */
#include "tests/unit/graph/ops/cases_retrieval.h"

FAMILY_MAIN(cases_retrieval)
